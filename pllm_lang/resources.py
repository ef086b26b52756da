"""Where the data that travels with the package lies: grammar, standard library, kernel sources.

In a wheel they are under `pllm_lang/_data/`; in a checkout they are the top-level folders of that name.
"""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_SHIPPED = _PACKAGE / "_data"
_ROOT = _SHIPPED if _SHIPPED.is_dir() else _PACKAGE.parent


def grammar_dir() -> Path:
    return _ROOT / "grammar"


def stdlib_dir() -> Path:
    return _ROOT / "stdlib"


def kernels_dir() -> Path:
    return _ROOT / "cpp_kernels"


def rule_pages_dir() -> Path:
    return _ROOT / "rules" if _SHIPPED.is_dir() else _ROOT / "docs" / "rules"
