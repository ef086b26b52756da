"""A package imports only from its left: exact, text -> syntax -> ... -> lsp -> cli."""

import ast
from pathlib import Path

import pytest

import pllm_lang

ROOT = Path(pllm_lang.__file__).parent
LAYERS = [
    {"resources"},
    {"exact", "text"},
    {"syntax"},
    {"resolve"},
    {"catalog"},
    {"models"},
    {"ir"},
    {"verify"},
    {"artifacts"},
    {"interchange", "runtime", "audit"},
    {"sdk"},
    {"kernels", "native", "nonlinear", "passes", "profiles", "schedulers", "sources"},
    {"lsp"},
    {"cli"},
]
RANK = {package: rank for rank, layer in enumerate(LAYERS) for package in layer}
FILES = sorted(path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] != "__init__.py")


def imported_packages(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("pllm_lang.")} & set(RANK)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_left(path: Path) -> None:
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    allowed = {package for package in RANK if RANK[package] < RANK[own]} | {own}
    assert imported_packages(path) <= allowed


def test_lark_is_imported_by_syntax_only_and_cppyy_by_runtime_only() -> None:
    importers: dict[str, set[str]] = {"lark": set(), "cppyy": set()}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            for library, packages in importers.items():
                if any(name.split(".")[0] == library for name in modules):
                    packages.add(path.relative_to(ROOT).parts[0])
    assert importers["lark"] == {"syntax"}
    assert importers["cppyy"] <= {"runtime"}
