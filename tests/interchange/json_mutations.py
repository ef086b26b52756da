"""Random changes of a JSON value and of its text; the same seed gives the same changes."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

VALUES: tuple[Any, ...] = (
    *(0, 1, -1, 2, 3, 4, 5, 16, 80, 81, 128, 129, 4096, 4_000_000, 4_000_001),
    *(2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30, -(2**63), -(2**63) - 1),
    *(1.0, 2.0, 1.5, 0.0, -0.0, 1e-6, 1e-7, 1e-9, 1e16, 1e22, 0.1, 1e300),
    *("", "1", "1e-6", "x", "é", "a b", "a__b", "\u0000", "😀", "null", "true", "qwen2", "tiny", "local"),
    *(True, False, None),
)
EMPTY = ([], {}, [1], {"a": 1})


def mutated(value: Any, source: random.Random, changes: int) -> Any:
    """A copy of `value` with up to `changes` places changed: other values, entries gone, added or renamed."""
    found = copy.deepcopy(value)
    for _ in range(changes):
        places = list(_places(found))
        if not places:
            return found
        owner, key = source.choice(places)
        _change(owner, key, source)
    return found


def _places(value: Any) -> Any:
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in inner:
        yield value, key
        if isinstance(entry, dict | list):
            yield from _places(entry)


def _change(owner: Any, key: Any, source: random.Random) -> None:
    kind = source.random()
    if kind < 0.55:
        owner[key] = copy.deepcopy(source.choice(VALUES if source.random() < 0.85 else EMPTY))
    elif kind < 0.7 and isinstance(owner[key], int | float) and not isinstance(owner[key], bool):
        owner[key] = source.choice(
            [owner[key] + 1, owner[key] - 1, -owner[key], owner[key] * 2, float(owner[key])]
        )
    elif kind < 0.85:
        del owner[key]
    elif isinstance(owner, list):
        owner.insert(key, copy.deepcopy(owner[key]))
    elif source.random() < 0.5:
        owner[source.choice([f"{key}x", "x", "kind", "revision", "endpoint", ""])] = copy.deepcopy(owner[key])
    else:
        owner[f"{key}_"] = owner.pop(key)


def spelled(value: Any, source: random.Random) -> str:
    """JSON text of `value`, in one of several spellings; now and then broken."""
    text = json.dumps(value, ensure_ascii=source.random() < 0.5, indent=source.choice([None, None, 1]))
    kind = source.random()
    if kind < 0.05:
        return text[: source.randrange(len(text))]
    if kind < 0.1:
        at = source.randrange(len(text))
        return text[:at] + source.choice('"{}[],:0 eE.-\\') + text[at:]
    if kind < 0.15:
        at = text.find('": ', source.randrange(len(text)))
        start = text.rfind('"', 0, at)
        return text if at < 0 else f"{text[:start]}{text[start : at + 3]}1, {text[start:]}"
    return text
