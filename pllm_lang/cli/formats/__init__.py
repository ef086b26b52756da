"""Output formats of `pllm check`, found by folder: a file `x.py` is `--format x`.

It holds `render(told) -> str`, and `FIXES`: whether it shows fixes, which are then tried before it is called.
"""

from __future__ import annotations

import os

_SHARED = "places"


def formats() -> list[str]:
    """The names of all formats."""
    names = (name[:-3] for name in os.listdir(os.path.dirname(__file__)) if name.endswith(".py"))
    return sorted(name for name in names if not name.startswith("_") and name != _SHARED)
