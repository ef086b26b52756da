"""Kernel backends as components of a pipeline; `pllm_lang.native` runs kernels directly."""

from __future__ import annotations

from typing import ClassVar

from pllm_lang.sdk.component import Component


class KernelBackend(Component):
    """A backend named by its id."""

    __slots__ = ()
    category: ClassVar[str] = "kernel-backend"


class Cpu(KernelBackend):
    """Integer matrix kernels on the processor, with `threads` worker threads (at least 1)."""

    __slots__ = ()
    id: ClassVar[str] = "pllm/cpu"

    def __init__(self, *, threads: int = 1) -> None:
        super().__init__(self.id, {"threads": threads})
