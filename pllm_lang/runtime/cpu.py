"""Which instruction set this machine has, and which one is to be used.

Comes in: /proc/cpuinfo and the environment variable PLLM_ISA. Goes out: one `InstructionSet` of
`record.py`. The kernel of the system says in /proc/cpuinfo only what it lets programs use, so no register
needs to be read here.
"""

import ctypes
import os
import platform
from collections.abc import Iterable
from pathlib import Path

from pllm_lang.runtime.errors import NativeKernelError
from pllm_lang.runtime.record import INSTRUCTION_SETS, InstructionSet

_CPUINFO = Path("/proc/cpuinfo")
_FIRST_CPU = 8192  # bytes that surely hold the flags of one CPU
FORCE = "PLLM_ISA"
_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA = (
    ctypes.c_long(n) for n in (158, 0x1023, 18)
)  # of x86-64 Linux


def chosen(machine: str | None = None, flags: Iterable[str] | None = None) -> InstructionSet:
    """The fastest instruction set of this machine, or the one that PLLM_ISA names; raises
    `NativeKernelError`."""
    available = tuple(level for level in supported(machine, flags) if permitted(level))
    wanted = os.environ.get(FORCE)
    if not wanted:
        return available[0]
    for level in available:
        if level.name == wanted:
            return level
    names = ", ".join(level.name for level in available)
    known = any(level.name == wanted for level in INSTRUCTION_SETS)
    why = "this CPU or its system does not offer it" if known else "there is no such instruction set"
    raise NativeKernelError(f"{FORCE}={wanted}: {why}; this machine can run: {names}")


def supported(machine: str | None = None, flags: Iterable[str] | None = None) -> tuple[InstructionSet, ...]:
    """Every instruction set that the machine can run, the fastest first; `scalar` is always the last."""
    machine = platform.machine() if machine is None else machine
    there = cpu_flags() if flags is None else frozenset(flags)
    return tuple(
        level
        for level in INSTRUCTION_SETS
        if level.machine in (machine, "any") and there.issuperset(level.cpu_flags)
    )


def permitted(level: InstructionSet) -> bool:
    """Asks Linux for what a process must ask for before it uses the instruction set: the tile registers of
    AMX."""
    if "amx_tile" not in level.cpu_flags:
        return True
    return ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA) == 0


def cpu_flags() -> frozenset[str]:
    """Words of the first CPU's `flags` (x86) or `Features` (ARM) line; none where the system has no such
    file."""
    try:
        with _CPUINFO.open("rb") as file:
            text = file.read(_FIRST_CPU).decode("ascii", "replace")
    except OSError:
        return frozenset()
    for line in text.splitlines():
        name, _, words = line.partition(":")
        if name.strip().lower() in {"flags", "features"}:
            return frozenset(words.split())
    return frozenset()


def usable_cpus() -> int:
    """CPUs that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
