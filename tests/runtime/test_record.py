"""The record of the kernels, the C++ headers, the numpy functions and the Python methods say the same."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import pllm_lang.runtime
from pllm_lang.resources import kernels_dir
from pllm_lang.runtime import elements, fallback, record
from pllm_lang.runtime.cpu import supported
from pllm_lang.runtime.matrix import CompiledMatrix
from pllm_lang.runtime.report import capabilities

HEADERS = kernels_dir() / "pllm"
DIGITS = {"u8": "std::uint8_t", "s8": "std::int8_t", "s16": "std::int16_t"}
LIMITS = {"multiply_limit", "read_limit"}  # for benchmarks: numpy has no instruction to measure


def declared() -> set[str]:
    return set(re.findall(r"^\w[\w ]*\*? pllm_(\w+)\(", (HEADERS / "api.hpp").read_text(), re.M))


def test_numpy_has_every_function_of_the_interface() -> None:
    assert set(fallback._FUNCTIONS) == declared() - LIMITS
    assert len(declared()) <= 22


def test_every_declared_function_is_defined_once() -> None:
    text = "".join(path.read_text() for path in HEADERS.rglob("*.hpp") if path.name != "api.hpp")
    for name in declared():
        assert len(re.findall(rf"^[^/\n=]*\bpllm_{name}\([^;]*?\{{", text, re.M)) == 1, name


@pytest.mark.parametrize("level", record.INSTRUCTION_SETS, ids=lambda level: level.name)
def test_every_instruction_set_has_its_header(level: record.InstructionSet) -> None:
    text = (HEADERS / "isa" / f"{level.name}.hpp").read_text()
    text += (HEADERS / "isa" / "avx512_vnni.hpp").read_text() if level.name == "amx" else ""
    assert f"using Digit = {DIGITS[level.digits]};" in text
    assert level.instruction.split()[0] in text.replace("_v16si", "").replace("512", "") + "integer"


def test_every_header_of_an_instruction_set_is_recorded() -> None:
    assert {path.stem for path in (HEADERS / "isa").iterdir()} == {
        level.name for level in record.INSTRUCTION_SETS
    }


def test_the_fastest_supported_instruction_set_comes_first() -> None:
    flags = {flag for level in record.INSTRUCTION_SETS for flag in level.cpu_flags}
    assert [level.name for level in supported("x86_64", flags)] == [
        "amx",
        "avx512_vnni",
        "avx_vnni",
        "avx2",
        "scalar",
    ]
    assert [level.name for level in supported("aarch64", flags)] == [
        "neon_i8mm",
        "neon_dot",
        "neon",
        "scalar",
    ]
    assert [level.name for level in supported("riscv64", flags)] == ["scalar"]
    assert [level.name for level in supported("x86_64", {"avx2"})] == ["scalar"]


def test_every_operation_is_there() -> None:
    for operation in record.OPERATIONS:
        assert inspect.isfunction(getattr(CompiledMatrix, operation.name))
    for name in record.ELEMENT_OPERATIONS:
        assert inspect.isfunction(getattr(elements, name))


def test_capabilities_are_plain_and_say_what_runs(backend: str) -> None:
    found = capabilities()
    assert found["compiled"] == (backend == "cpp")
    assert found["implementation"] == {"cpp": "cpp-cppyy", "numpy": "python-reference"}[backend]
    names = {level.name for level in record.INSTRUCTION_SETS}
    assert found["instruction_set"] in (names if backend == "cpp" else {"numpy"})
    assert found["instruction_set"] in (*found["supported_instruction_sets"], "numpy")


def test_only_the_binding_imports_cppyy() -> None:
    root = Path(pllm_lang.runtime.__file__).parent
    users = set()
    for path in root.parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [str(node.args[0].value)] if _imports(node) else []
            if any(name.split(".")[0] == "cppyy" for name in names):
                users.add(path.relative_to(root).as_posix())
    assert users == {"binding.py"}


def _imports(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "import_module"
        and isinstance(node.args[0], ast.Constant)
    )
