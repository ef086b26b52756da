"""Which kernels a process gets, on whole and on broken machines: it works or explains, and never ends the
process."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pllm_lang.runtime import cpu
from pllm_lang.runtime.errors import NativeKernelError

ROOT = Path(__file__).parents[2]
USE = """
import json, sys, warnings
import numpy as np
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from pllm_lang.sdk.native import MaskedGEMM, NativeKernelError
    try:
        engine = MaskedGEMM(threads=2)
    except NativeKernelError as error:
        print(json.dumps({"error": str(error)}))
        sys.exit(0)
weights = (np.arange(200 * 300) % 251 - 125).astype(np.int8).reshape(200, 300)
inputs = (np.arange(64 * 300) % 199 - 99).astype(np.int8).reshape(64, 300)
right = (engine.compile(weights).clear(inputs) == inputs.astype(int) @ weights.T.astype(int)).all()
loaded = engine.loaded
said = [str(w.message) for w in caught if "numpy reference" in str(w.message)]
print(json.dumps({"right": bool(right), "isa": loaded.instruction_set, "origin": loaded.origin,
                  "reason": loaded.reason, "implementation": loaded.implementation, "warnings": said}))
"""


def run(code: str, cache: Path, **environment: str | None) -> subprocess.CompletedProcess[str]:
    merged = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PLLM_KERNEL_CACHE": str(cache),
        "PLLM_KERNEL_BUILD": "off",
    }
    for name, value in environment.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = value
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=merged, timeout=300, check=False
    )


def used(cache: Path, **environment: str | None) -> dict[str, Any]:
    done = run(USE, cache, **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def build(cache: Path, isa: str) -> Path:
    merged = {**os.environ, "PYTHONPATH": str(ROOT), "PLLM_KERNEL_CACHE": str(cache)}
    command = [sys.executable, "-m", "pllm_lang.runtime.build", isa]
    done = subprocess.run(command, capture_output=True, text=True, env=merged, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def fake_cppyy(folder: Path, body: str) -> str:
    package = folder / "cppyy"
    package.mkdir()
    (package / "__init__.py").write_text(body)
    return f"{folder}{os.pathsep}{ROOT}"


def test_importing_the_package_imports_no_kernels() -> None:
    code = "import sys, pllm_lang; print(sorted({'cppyy', 'numpy'} & set(sys.modules)))"
    assert run(code, Path("off")).stdout.strip() == "[]"


def test_the_reference_runs_where_it_is_asked_for(tmp_path: Path) -> None:
    found = used(tmp_path, PLLM_KERNELS="reference")
    assert found["right"]
    assert (found["implementation"], found["isa"]) == ("python-reference", "numpy")
    assert found["reason"] == "PLLM_KERNELS=reference"


def test_an_unknown_choice_is_explained(tmp_path: Path) -> None:
    assert "must be one of library, jit, reference" in used(tmp_path, PLLM_KERNELS="fast")["error"]


@pytest.mark.parametrize("isa", ["sse9", "neon", "avx2"])
def test_an_instruction_set_that_is_not_there_is_explained(
    isa: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLLM_ISA", isa)
    with pytest.raises(NativeKernelError, match=f"PLLM_ISA={isa}: .*this machine can run: scalar"):
        cpu.chosen("x86_64", {"sse2"})


def test_a_machine_without_cppyy_gets_numpy_and_a_warning(tmp_path: Path) -> None:
    path = fake_cppyy(tmp_path, "raise ImportError('libCling.so: cannot open shared object file')")
    found = used(tmp_path / "cache", PYTHONPATH=path, PLLM_KERNELS=None)
    assert found["right"]
    assert found["implementation"] == "python-reference"
    assert "libCling.so" in found["reason"]
    assert len(found["warnings"]) == 1


def test_a_cppyy_that_ends_its_process_does_not_end_ours(tmp_path: Path) -> None:
    path = fake_cppyy(
        tmp_path, "import os, sys; print('fatal error: no C++ headers', file=sys.stderr); os.abort()"
    )
    found = used(tmp_path / "cache", PYTHONPATH=path, PLLM_KERNELS=None)
    assert found["right"]
    assert "libstdc++" in found["reason"]
    assert "fatal error: no C++ headers" in found["reason"]
    assert "needs the C++ headers" in used(tmp_path / "cache", PYTHONPATH=path, PLLM_KERNELS="jit")["error"]


@pytest.mark.system
def test_an_illegal_instruction_is_explained(tmp_path: Path) -> None:
    path = fake_cppyy(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    assert (
        "compiled for another CPU" in used(tmp_path / "cache", PYTHONPATH=path, PLLM_KERNELS=None)["reason"]
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder with the library for the scalar instruction set, which every machine has."""
    folder = tmp_path_factory.mktemp("cache")
    folder.chmod(0o700)
    build(folder, "scalar")
    return folder


@pytest.mark.system
def test_a_library_is_built_once_and_used(built: Path) -> None:
    found = used(built, PLLM_ISA="scalar", PLLM_KERNELS=None)
    assert found["right"]
    assert (found["origin"], found["isa"], found["implementation"]) == ("library", "scalar", "cpp-cppyy")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in built.iterdir()}
    assert modes == {0o600}


@pytest.mark.system
def test_a_library_is_used_where_there_is_no_compiler(built: Path) -> None:
    found = used(built, PLLM_ISA="scalar", PLLM_KERNELS=None, CXX="/nowhere/c++")
    assert found["right"]
    assert found["origin"] == "library"


@pytest.mark.system
@pytest.mark.parametrize("isa", [None, "scalar"])
def test_without_a_library_kernels_are_compiled_in_time(isa: str | None, tmp_path: Path) -> None:
    found = used(tmp_path / "new", PLLM_ISA=isa, PLLM_KERNELS=None)
    assert found["right"]
    assert found["origin"] == "jit"
    assert found["reason"]
    assert found["warnings"] == []


@pytest.mark.system
def test_a_damaged_library_is_not_loaded(built: Path, tmp_path: Path) -> None:
    for path in built.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
        (tmp_path / path.name).chmod(0o600)
    tmp_path.chmod(0o700)
    (library,) = tmp_path.glob("scalar-*.so")
    damaged = bytearray(library.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    library.write_bytes(damaged)
    found = used(tmp_path, PLLM_ISA="scalar", PLLM_KERNELS=None)
    assert found["right"]
    assert found["origin"] == "jit"
    assert "is damaged" in found["reason"]
    assert "is damaged" in used(tmp_path, PLLM_ISA="scalar", PLLM_KERNELS="library")["error"]


@pytest.mark.system
def test_a_cache_that_others_can_write_is_not_used(built: Path) -> None:
    built.chmod(0o777)
    try:
        found = used(built, PLLM_ISA="scalar", PLLM_KERNELS=None)
    finally:
        built.chmod(0o700)
    assert found["origin"] == "jit"
    assert "can be written by others" in found["reason"]


@pytest.mark.system
def test_a_cache_that_cannot_be_written_is_no_hindrance(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    found = used(file / "cache", PLLM_KERNELS=None, PLLM_KERNEL_BUILD=None)
    assert found["right"]
    assert found["origin"] == "jit"
    assert "Not a directory" in found["reason"]


@pytest.mark.system
def test_a_missing_library_says_how_to_build_it(tmp_path: Path) -> None:
    error = used(tmp_path / "none", PLLM_KERNELS="library")["error"]
    assert "python -m pllm_lang.runtime.build" in error


@pytest.mark.system
def test_a_compiler_error_is_shown(tmp_path: Path) -> None:
    compiler = tmp_path / "c++"
    compiler.write_text("#!/bin/sh\necho 'error: unknown option' >&2\nexit 1\n")
    compiler.chmod(0o700)
    code = "import sys; from pllm_lang.runtime import build; sys.exit(build.main(['scalar']))"
    done = run(code, tmp_path / "cache", CXX=str(compiler))
    assert done.returncode == 1
    assert "could not compile the kernels" in done.stderr
    assert "error: unknown option" in done.stderr


@pytest.mark.system
def test_the_first_start_builds_the_library_for_the_next(tmp_path: Path) -> None:
    code = f"""{USE}
from pllm_lang.runtime import startup
assert [process.wait(240) for process in startup._builds] == [0]
"""
    cache = tmp_path / "cache"
    done = run(code, cache, PLLM_ISA="scalar", PLLM_KERNELS=None, PLLM_KERNEL_BUILD=None)
    assert done.returncode == 0, done.stderr
    assert used(cache, PLLM_ISA="scalar", PLLM_KERNELS=None)["origin"] == "library"
