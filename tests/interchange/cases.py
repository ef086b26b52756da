"""The observed behaviour in `tests/data/conformance/`, and ways to write the same case differently."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[1] / "data" / "conformance"


def load(name: str) -> list[dict[str, Any]]:
    """All cases of one set."""
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))["cases"]


def params(name: str) -> list[Any]:
    """The cases of one set as pytest parameters, named by case id."""
    return [pytest.param(case, id=case["id"]) for case in load(name)]


def permuted(value: Any, seed: int = 1) -> Any:
    """`value` with the keys of every object in another order."""
    return _permuted(value, random.Random(seed))


def _permuted(value: Any, source: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        source.shuffle(keys)
        return {key: _permuted(value[key], source) for key in keys}
    if isinstance(value, list):
        return [_permuted(inner, source) for inner in value]
    return value


def sdk_digest(domain: str, value: Any) -> str:
    """The SDK's digest of a value without floats, written here a second time, apart from the product."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(domain.encode() + b"\0" + text.encode("utf-8", "surrogatepass")).hexdigest()
