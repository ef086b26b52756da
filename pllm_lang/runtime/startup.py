"""Which kernels this process uses, decided once: a compiled library, else just in time, else numpy.

PLLM_KERNELS forces one of `library`, `jit` and `reference`; without it, going down a step is never silent:
what runs and why is in `Loaded`, and numpy comes with a warning, because it is slow.
"""

import importlib
import os
import subprocess
import sys
import warnings
from pathlib import Path
from threading import Lock

from pllm_lang.runtime import build, cache, cpu, probe
from pllm_lang.runtime.errors import KernelWarning, NativeKernelError
from pllm_lang.runtime.fallback import NumpyKernels
from pllm_lang.runtime.interface import Kernels
from pllm_lang.runtime.record import InstructionSet

CHOICE = "PLLM_KERNELS"
BACKGROUND = "PLLM_KERNEL_BUILD"
_CHOICES = ("library", "jit", "reference")

_lock = Lock()
_kernels: list[Kernels] = []
_builds: list[subprocess.Popen[bytes]] = []


def kernels() -> Kernels:
    """The kernels of this process; raises `NativeKernelError` when those that the environment forces cannot
    be had."""
    with _lock:
        if not _kernels:
            _kernels.append(_start())
        return _kernels[0]


def _start() -> Kernels:
    choice = os.environ.get(CHOICE, "")
    if choice not in {"", *_CHOICES}:
        raise NativeKernelError(f"{CHOICE}={choice}: it must be one of {', '.join(_CHOICES)}")
    if choice == "reference":
        return NumpyKernels(f"{CHOICE}=reference")
    level = cpu.chosen()
    if reason := probe.problem():
        if choice:
            raise NativeKernelError(f"{CHOICE}={choice}: {reason}")
        warnings.warn(
            f"the slow numpy reference runs instead of the C++ kernels: {reason}", KernelWarning, stacklevel=4
        )
        return NumpyKernels(reason)
    library, reason = (None, f"{CHOICE}=jit") if choice == "jit" else _library(level)
    if library is None and choice == "library":
        raise NativeKernelError(f"{CHOICE}=library: {reason}; build it: python -m pllm_lang.runtime.build")
    return _load(level, library, reason, build_later=not choice)


def _load(level: InstructionSet, library: Path | None, reason: str, *, build_later: bool) -> Kernels:
    binding = importlib.import_module("pllm_lang.runtime.binding")  # imports cppyy: only now, after the probe
    made: Kernels = binding.CppKernels(level, library, reason)
    if library is None and build_later and os.environ.get(BACKGROUND) != "off":
        _build_later(level)
    return made


def _library(level: InstructionSet) -> tuple[Path | None, str]:
    try:
        return build.find(level), ""
    except cache.Unusable as error:
        return None, str(error)


def _build_later(level: InstructionSet) -> None:
    """Compiles the library for the next start in a process of its own, at the lowest priority."""
    try:
        cache.folder(create=True)
    except cache.Unusable:
        return
    if build.compiler() is None:
        return
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    build_process = subprocess.Popen(
        ["nice", "-n", "19", sys.executable, "-m", "pllm_lang.runtime.build", level.name],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=environment,
    )
    _builds.append(build_process)  # not waited for
