"""What the engine asks of whatever runs its kernels: C++ through cppyy, or numpy.

Both give the same functions under the same names with the same arguments; `cpp_kernels/pllm/api.hpp`
describes them.
"""

from collections.abc import Callable
from typing import Any, Protocol

import msgspec


class Loaded(msgspec.Struct, frozen=True):
    """What runs, and why it is that and nothing faster. Every report states it."""

    implementation: str  # "cpp-cppyy" or "python-reference"
    instruction_set: str  # of record.INSTRUCTION_SETS; "numpy" for the reference
    origin: str  # "library" (compiled before), "jit" (compiled now) or "numpy"
    reason: str = ""  # why not the origin before it


class Kernels(Protocol):
    @property
    def loaded(self) -> Loaded: ...

    def function(self, name: str) -> Callable[..., Any]:
        """The function `pllm_<name>`."""
        ...

    def make(self, missing: int) -> None:
        """Compiles the kernel that a product answered was missing."""
        ...
