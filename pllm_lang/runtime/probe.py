"""Whether cppyy can be imported here: asked of another process, because without C++ headers the import ends
its process.

Comes in: nothing but the machine. Goes out: "" when all is well, or what is wrong and what to do. A good
answer is kept in the cache under a name that changes with cppyy, Python and the C++ headers of the system.
"""

import hashlib
import importlib.util
import subprocess
import sys
from pathlib import Path

from pllm_lang.runtime import cache

_PROGRAM = """
import cppyy
cppyy.cppdef("#include <thread>\\nint pllm_probe(int x) { return x + 1; }")
assert cppyy.gbl.pllm_probe(1) == 2
"""
_LIMIT_SECONDS = 120
_ILLEGAL_INSTRUCTION = -4
_HEADERS = ("/usr/include/c++", "/usr/include/stdlib.h", "/usr/include/pthread.h")


def problem() -> str:
    """Why cppyy cannot be used here; empty when it can."""
    found = importlib.util.find_spec("cppyy")
    if found is None or found.origin is None:
        return "cppyy is not installed: pip install 'pllm-lang[kernels]'"
    name = f"probe-{_machine_key(Path(found.origin))}"
    if _answered(name):
        return ""
    answer = _ask()
    if not answer:
        _keep(name)
    return answer


def _ask() -> str:
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            capture_output=True,
            text=True,
            timeout=_LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"cppyy did not start within {_LIMIT_SECONDS} s"
    if done.returncode == 0:
        return ""
    if done.returncode == _ILLEGAL_INSTRUCTION:
        return (
            "cppyy was compiled for another CPU (illegal instruction): reinstall it on this machine, or set "
            "CLING_STANDARD_PCH and EXTRA_CLING_ARGS=-march=x86-64 to make a portable precompiled header"
        )
    lines = (done.stderr or done.stdout).strip().splitlines()
    told = next((line for line in lines if "rror:" in line), lines[-1] if lines else "")
    return (
        "cppyy does not work here; it needs the C++ headers of the system (Debian: apt install "
        f"libstdc++-12-dev). It said: {told.strip()}"
    )


def _machine_key(origin: Path) -> str:
    seen = [sys.version, sys.executable, str(origin), str(origin.stat().st_mtime_ns)]
    for name in _HEADERS:
        path = Path(name)
        versions = sorted(path.iterdir()) if path.is_dir() else []
        seen += [f"{p} {p.stat().st_mtime_ns}" for p in (path, *versions) if p.exists()]
    return hashlib.sha256("\n".join(seen).encode()).hexdigest()[:32]


def _answered(name: str) -> bool:
    try:
        return cache.read(cache.folder(create=False) / name) == b"ok"
    except cache.Unusable:
        return False


def _keep(name: str) -> None:
    try:
        cache.write(cache.folder(create=True) / name, b"ok")
    except cache.Unusable:
        return  # asked again next time
