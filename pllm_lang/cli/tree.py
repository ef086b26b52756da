"""A syntax tree as indented text."""

from __future__ import annotations

from typing import Any, cast

import msgspec

_PLACES = frozenset({"start", "end", "at"})


def tree_text(node: Any, indent: int = 0) -> str:
    """One line a node, children indented; fields that hold plain values stand on the node's line."""
    lines = [f"{'  ' * indent}{_head(node)}"]
    for name in node.__struct_fields__:
        value = getattr(node, name)
        children: tuple[Any, ...] = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)
        for child in children:
            if isinstance(child, msgspec.Struct):
                lines.append(tree_text(child, indent + 1))
    return "\n".join(lines)


def _head(node: Any) -> str:
    plain = [
        f"{name}={getattr(node, name)!r}"
        for name in node.__struct_fields__
        if name not in _PLACES and isinstance(getattr(node, name), (str, bool)) and getattr(node, name) != ""
    ]
    return " ".join([type(node).__name__, *plain])
