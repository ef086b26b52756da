"""The kernels compiled once by the compiler of the system, so that later starts need no just-in-time
compiler.

Comes in: an instruction set. Goes out: a shared library in the cache, named by what it was made of: the
headers, the flags and the compiler. `python -m pllm_lang.runtime.build [instruction set]` does it by hand;
`startup.py` starts the same program in the background when it had to compile just in time.
"""

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pllm_lang.resources import kernels_dir
from pllm_lang.runtime import cache, cpu
from pllm_lang.runtime.errors import NativeKernelError
from pllm_lang.runtime.record import INSTRUCTION_SETS, InstructionSet

COMPILER = "CXX"
FLAGS = (
    "-std=c++17",
    "-O3",
    "-shared",
    "-fPIC",
    "-fno-semantic-interposition",
    "-pthread",
    "-Wno-psabi",
    "-falign-loops=32",
)
_LIMIT_SECONDS = 600


def compiler() -> tuple[str, ...] | None:
    """The command that compiles C++ here, or None."""
    words = shlex.split(os.environ.get(COMPILER, "c++"))
    found = shutil.which(words[0]) if words else None
    return (found, *words[1:]) if found else None


def find(level: InstructionSet) -> Path:
    """A verified library for this instruction set from the cache; raises `cache.Unusable`."""
    folder, command = cache.folder(create=False), compiler()
    if command is not None:
        names = [folder / _name(level, command)]
    else:  # made here while there was a compiler
        names = sorted(folder.glob(f"{level.name}-{_content_key(level)}-*.so"))
    if not names:
        raise cache.Unusable(f"{folder} has no library for {level.name}")
    cache.read(names[0])
    return names[0]


def build(level: InstructionSet) -> Path:
    """Compiles the library into the cache; raises `cache.Unusable`, or `NativeKernelError` with the
    compiler's words."""
    command = compiler()
    if command is None:
        raise NativeKernelError(f"no C++ compiler: install g++ or set {COMPILER}")
    target = cache.folder(create=True) / _name(level, command)
    with tempfile.TemporaryDirectory() as work:
        made = Path(work) / target.name
        source = kernels_dir() / "pllm" / "library.cpp"
        line = [*command, *FLAGS, *level.compiler_flags, f'-DPLLM_ISA_HEADER="isa/{level.name}.hpp"']
        done = subprocess.run(
            [*line, str(source), "-o", str(made)],
            capture_output=True,
            text=True,
            timeout=_LIMIT_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise NativeKernelError(
                f"{shlex.join(command)} could not compile the kernels:\n{done.stderr.strip()}"
            )
        cache.write(target, made.read_bytes())
    return target


def _name(level: InstructionSet, command: tuple[str, ...]) -> str:
    status = Path(command[0]).resolve().stat()
    identity = repr((command, str(Path(command[0]).resolve()), status.st_size, status.st_mtime_ns))
    return f"{level.name}-{_content_key(level)}-{hashlib.sha256(identity.encode()).hexdigest()[:12]}.so"


def _content_key(level: InstructionSet) -> str:
    digest = hashlib.sha256(repr((FLAGS, level.compiler_flags, level.machine, sys.platform)).encode())
    root = kernels_dir() / "pllm"
    for path in sorted(root.rglob("*.[hc]pp")):
        data = path.read_bytes()
        digest.update(f"\0{path.relative_to(root).as_posix()}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()[:32]


def main(arguments: list[str]) -> int:
    """Builds for the named instruction set, or for the one of this CPU."""
    named = [level for level in INSTRUCTION_SETS if level.name in arguments]
    try:
        print(build(named[0] if named else cpu.chosen()))
    except (NativeKernelError, cache.Unusable) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
