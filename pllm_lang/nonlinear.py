"""Protected nonlinear methods: see `pllm_lang.sdk.nonlinear`."""

from pllm_lang.sdk.nonlinear import (
    ArithmeticGarblingSiluQ7,
    BinaryTableGatedMultiplyQ7,
    NonlinearProtocol,
    R03CrtGatedMultiplyQ7,
)

__all__ = [
    "ArithmeticGarblingSiluQ7",
    "BinaryTableGatedMultiplyQ7",
    "NonlinearProtocol",
    "R03CrtGatedMultiplyQ7",
]
