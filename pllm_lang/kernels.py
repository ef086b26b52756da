"""Kernel backends of pipelines: see `pllm_lang.sdk.kernels`."""

from pllm_lang.sdk.kernels import Cpu, KernelBackend

__all__ = ["Cpu", "KernelBackend"]
