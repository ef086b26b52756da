"""The Python blocks of a page, and how to run one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks_of(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def run_block(text: str, name: str) -> dict[str, Any]:
    """Runs a block as a module of its own; gives what it defined."""
    scope: dict[str, Any] = {"__name__": name}
    exec(compile(text, f"<{name}>", "exec"), scope)
    return scope
