"""The native matrix interface: `MaskedGEMM`, `CompiledMatrix`, `capabilities` and what they raise."""

from pllm_lang.runtime.engine import MaskedGEMM
from pllm_lang.runtime.errors import KernelWarning, NativeKernelError
from pllm_lang.runtime.matrix import CompiledMatrix
from pllm_lang.runtime.report import capabilities

__all__ = ["CompiledMatrix", "KernelWarning", "MaskedGEMM", "NativeKernelError", "capabilities"]
