"""Protected methods for nonlinear regions; each is a candidate to be named in a plan.

All work on Q7 values, -128/128 to 128/128; `record` states the domain and the error of each.
"""

from __future__ import annotations

from typing import ClassVar

from pllm_lang.sdk.component import Component


class NonlinearProtocol(Component):
    """A protected nonlinear method named by its id."""

    __slots__ = ()
    category: ClassVar[str] = "nonlinear-protocol"


class BinaryTableGatedMultiplyQ7(NonlinearProtocol):
    """`SiLU(gate) * up` by a garbled binary lookup table."""

    __slots__ = ()
    id: ClassVar[str] = "pllm/binary-table/v1"

    def __init__(self) -> None:
        super().__init__(self.id)


class R03CrtGatedMultiplyQ7(NonlinearProtocol):
    """`SiLU(gate) * up` by projections in mixed moduli."""

    __slots__ = ()
    id: ClassVar[str] = "pllm/r03-crt/v1"

    def __init__(self) -> None:
        super().__init__(self.id)


class ArithmeticGarblingSiluQ7(NonlinearProtocol):
    """`SiLU(x)` by arithmetic garbling."""

    __slots__ = ()
    id: ClassVar[str] = "pllm/arithmetic-garbling-silu-q7/v1"

    def __init__(self) -> None:
        super().__init__(self.id)
