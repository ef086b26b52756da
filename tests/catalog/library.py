"""The library's operators and components, resolved once from their texts."""

from __future__ import annotations

from functools import cache

from pllm_lang.catalog.compile import compile_library
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Component, Format, Operator

FIXED = Format("fx", "fixed", low=str(-(2**31)), high=str(2**31 - 1), frac=4, modulus=str(2**32), bits=32)
REAL = Format("real", "float", bits=32)
INTEGER = Format("whole", "int", low="-100", high="100", bits=8)


@cache
def records() -> dict[str, object]:
    library = Library(compile_library(), {})
    return {key: library.get(key) for key in library.keys("")}


@cache
def operators() -> dict[str, Operator]:
    return {r.name: r for r in records().values() if isinstance(r, Operator)}


@cache
def components() -> dict[str, Component]:
    """The arithmetic methods."""
    return {r.name: r for r in records().values() if isinstance(r, Component) and r.module == "std.methods"}
