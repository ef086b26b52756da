"""`MaskedGEMM`: an engine with its threads, which compiles weights into matrices.

The arguments, ranges and texts of the errors are those that users of the pllm.run SDK know.
"""

import os
import weakref
from typing import Any

from pllm_lang.runtime import cpu
from pllm_lang.runtime.arguments import Array
from pllm_lang.runtime.errors import NativeKernelError
from pllm_lang.runtime.interface import Kernels, Loaded
from pllm_lang.runtime.matrix import CompiledMatrix
from pllm_lang.runtime.record import MAX_THREADS, WEIGHT_BITS
from pllm_lang.runtime.startup import kernels

THREADS = "PLLM_NATIVE_THREADS"


class MaskedGEMM:
    """Products of int8 or int4 weights, bit-exact in the integers, modulo 2^k and modulo q.

    `threads` is 1 to 32; 0 and None mean PLLM_NATIVE_THREADS, or all CPUs up to 32. No more threads work
    than there are CPUs. `library` is refused; `build` and `simd` are accepted for compatibility and change
    nothing: PLLM_ISA chooses the instruction set. Raises `NativeKernelError`.
    """

    def __init__(
        self, library: object = None, *, threads: Any = 0, build: bool = True, simd: bool = True
    ) -> None:
        del build, simd
        if library is not None:
            raise NativeKernelError(
                "External C++ libraries are not accepted: the kernels come from the headers of this package"
            )
        self._threads = _thread_count(threads)
        self._kernels = kernels()
        self.pool: Any = None
        self.open_pool()
        _engines.add(self)

    @property
    def threads(self) -> int:
        return self._threads

    @property
    def native(self) -> bool:
        """Whether C++ runs; if not, the numpy reference does."""
        return self.loaded.implementation == "cpp-cppyy"

    @property
    def available(self) -> bool:
        return self.native

    @property
    def backend(self) -> str:
        return self.loaded.implementation

    @property
    def loaded(self) -> Loaded:
        """What runs, on which instruction set, and why."""
        return self._kernels.loaded

    @property
    def kernels(self) -> Kernels:
        return self._kernels

    def compile(self, weights: object, *, bits: int = 8) -> CompiledMatrix:
        """A snapshot of weights [out, in], integers that fit `bits` (8 or 4)."""
        if bits not in WEIGHT_BITS:
            raise NativeKernelError("weights have 8 or 4 bits")
        return CompiledMatrix(self, weights, bits)

    def clear(self, weights: object, inputs: object) -> Array:
        return self.compile(weights).clear(inputs)

    def modular(self, weights: object, inputs: object, modulus: Any) -> Array:
        return self.compile(weights).modular(inputs, modulus)

    def modular_limb12(self, weights: object, inputs: object, modulus: Any) -> Array:
        """The same as `modular`: how inputs are split is not the caller's concern here."""
        return self.compile(weights).modular(inputs, modulus)

    def coefficients(self, weights: object, inputs: object, modulus: Any) -> Array:
        return self.compile(weights).coefficients(inputs, modulus)

    def wrap32(self, weights: object, inputs: object) -> Array:
        return self.compile(weights).wrap32(inputs)

    def wrap64(self, weights: object, inputs: object) -> Array:
        return self.compile(weights).wrap64(inputs)

    def open_pool(self) -> None:
        """A new pool in place of the old one, whose threads a forked child does not have."""
        self.pool = self._kernels.function("pool")(min(self._threads, cpu.usable_cpus()))
        if self.pool == 0:
            raise MemoryError("no memory for a pool of threads")
        if self.pool is not None:
            release = self._kernels.function("pool_release")
            weakref.finalize(self, _release_in_owner, release, self.pool, os.getpid()).atexit = False


def _release_in_owner(release: Any, pool: int, owner: int) -> None:
    if os.getpid() == owner:
        release(pool)


_engines: weakref.WeakSet[MaskedGEMM] = weakref.WeakSet()


def _after_fork() -> None:
    for engine in tuple(_engines):
        engine.open_pool()


os.register_at_fork(after_in_child=_after_fork)


def _thread_count(threads: Any) -> int:
    named = threads or os.environ.get(THREADS) or min(MAX_THREADS, os.cpu_count() or 1)
    count = int(named)
    if not 1 <= count <= MAX_THREADS:
        raise NativeKernelError(f"threads must be in [1,{MAX_THREADS}]")
    return count
