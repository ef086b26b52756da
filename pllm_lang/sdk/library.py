"""The shipped library, loaded when it is first asked for.

Components are stated without it, and its readers are most of the time that importing a component would take;
so this is the one place here that imports a module by name.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pllm_lang.catalog.library import Library


def shipped_library() -> Library:
    """The library that comes with the package."""
    return import_module("pllm_lang.catalog.load").shipped_library()
