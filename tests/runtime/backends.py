"""The kernels that a test runs on: numpy always, C++ where the machine has what it needs (`system`)."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache

import pytest

from pllm_lang.runtime import startup
from pllm_lang.runtime.fallback import NumpyKernels
from pllm_lang.runtime.interface import Kernels

BACKENDS = ["numpy", pytest.param("cpp", marks=pytest.mark.system)]


@contextmanager
def using(kernels: Kernels) -> Generator[None]:
    """Makes them the kernels of this process for a while."""
    before = list(startup._kernels)
    startup._kernels[:] = [kernels]
    try:
        yield
    finally:
        startup._kernels[:] = before


@cache
def cpp_kernels() -> Kernels:
    """Compiled just in time, once for all tests."""
    os.environ[startup.CHOICE] = "jit"
    try:
        return startup._start()
    finally:
        del os.environ[startup.CHOICE]


def kernels_of(backend: str) -> Kernels:
    return NumpyKernels("test") if backend == "numpy" else cpp_kernels()
