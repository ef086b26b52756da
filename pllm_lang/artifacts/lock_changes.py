"""What a lock says that a new compilation does not: the parts that differ, by name.

In: the bytes of two locks. Out: a line for each part that was added, removed or changed, in the words of the lock.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec

MAX_LINES = 200


def changes(old: bytes, new: bytes) -> Iterator[str]:
    """Nothing where the bytes are equal."""
    if old == new:
        return
    try:
        before: Any = msgspec.json.decode(old)
    except (msgspec.DecodeError, RecursionError):
        yield "the file is no lock"
        return
    after = msgspec.json.decode(new)
    lines = list(_differences("", _told(before), _told(after)))
    yield from lines[:MAX_LINES]
    if len(lines) > MAX_LINES:
        yield f"and {len(lines) - MAX_LINES} more"
    if not lines:
        yield "the documents of the lock are others, or written otherwise, than its digests say"


def _told(lock: Any) -> dict[str, Any]:
    """The parts that name the others: documents are told by their digests."""
    if not isinstance(lock, dict):
        return {}
    parts = cast("dict[str, Any]", lock)
    return {name: part for name, part in parts.items() if name not in ("documents", "plan_lock_digest")}


def _differences(where: str, old: Any, new: Any) -> Iterator[str]:
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        before, after = cast("dict[str, Any]", old), cast("dict[str, Any]", new)
        for name in sorted(before.keys() | after.keys()):
            inner = f"{where} {name}".strip()
            if name not in after:
                yield f"{inner}: no longer there"
            elif name not in before:
                yield f"{inner}: new"
            else:
                yield from _differences(inner, before[name], after[name])
        return
    yield f"{where}: {_short(old)} is now {_short(new)}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= 16 else f"{text[:12]}.."
