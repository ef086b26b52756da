"""The native matrix interface: see `pllm_lang.sdk.native`."""

from pllm_lang.sdk.native import CompiledMatrix, KernelWarning, MaskedGEMM, NativeKernelError, capabilities

__all__ = ["CompiledMatrix", "KernelWarning", "MaskedGEMM", "NativeKernelError", "capabilities"]
