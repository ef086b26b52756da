"""Replay shares nothing with the verifier but data types: a test of what its files import."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pllm_lang.artifacts

FOLDER = Path(pllm_lang.artifacts.__file__).parent
FILES = sorted(path for path in (FOLDER / "replay").glob("*.py") if path.name != "text.py")
ALLOWED = {
    "pllm_lang.artifacts.lock_data": "data types of the lock",
    "pllm_lang.artifacts.lock_documents": "the spelling of documents",
    "pllm_lang.catalog.expr": "data types of expressions",
    "pllm_lang.catalog.records": "data types of records",
    "pllm_lang.ir.experiment": "data types of experiments",
    "pllm_lang.ir.plan": "data types of plans",
    "pllm_lang.ir.protocol": "data types of protocols",
}


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = node.module in ("pllm_lang.ir", "pllm_lang.artifacts", "pllm_lang.artifacts.replay")
            found |= {f"{node.module}.{alias.name}" for alias in node.names} if inside else {node.module}
    return {name for name in found if name.startswith("pllm_lang")}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_only_data_types_are_imported(path: Path) -> None:
    own = {name for name in imported(path) if name.startswith("pllm_lang.artifacts.replay.")}
    assert imported(path) - own <= set(ALLOWED)


@pytest.mark.parametrize("name", ["lock_data", "lock_documents"])
def test_what_it_shares_imports_no_verifier(name: str) -> None:
    data = {
        "pllm_lang.catalog.expr",
        "pllm_lang.catalog.records",
        "pllm_lang.ir",
        "pllm_lang.ir.experiment",
        "pllm_lang.ir.plan",
    }
    assert imported(FOLDER / f"{name}.py") <= data | {"pllm_lang.ir.protocol"}


@pytest.mark.parametrize(
    "path",
    [Path(pllm_lang.__file__).parent / "ir" / f"{name}.py" for name in ("plan", "protocol", "experiment")],
    ids=lambda p: p.name,
)
def test_the_data_types_decide_nothing(path: Path) -> None:
    """Modules of data hold classes and constants, and import only such."""
    assert all(
        not isinstance(node, ast.FunctionDef) for node in ast.parse(path.read_text(encoding="utf-8")).body
    )
