"""Random requests around the recorded ones: a few values changed, digests mostly bound again; repeatable."""

from __future__ import annotations

import copy
import random
from typing import Any, get_args

from pllm_lang.interchange.compilation import request as schema
from tests.interchange.cases import load
from tests.interchange.requests import Request, bind_digests

WORDS = {
    "input_representation": get_args(schema.Representation),
    "output_representation": get_args(schema.Representation),
    "numeric": get_args(schema.Numeric),
    "input_numeric": get_args(schema.Numeric),
    "output_numeric": get_args(schema.Numeric),
    "implementation": get_args(schema.Implementation),
    "outcome": get_args(schema.Outcome),
    "implementation_refinement": get_args(schema.Refinement),
    "operator": get_args(schema.Operator),
}
SIZES = (0, 1, 2, 3, 128, 129, 65535, 2**53, 2**64 - 1)


def mutated_requests(seed: int, count: int) -> list[Request]:
    """`count` requests, each a recorded one with one to four values changed."""
    source = random.Random(seed)
    bases = [
        case["request"]
        for case in load("compile_requests")
        if "request" in case and "context" in case["request"]
    ]
    return [_mutated(copy.deepcopy(source.choice(bases)), source) for _ in range(count)]


def _mutated(request: Request, source: random.Random) -> Request:
    for _ in range(source.choice([1, 1, 1, 2, 2, 3, 4])):
        owner, key = source.choice(list(_places(request)))
        owner[key] = _other(key, owner[key], source)
    if source.random() < 0.9:
        try:
            bind_digests(request)
        except (KeyError, TypeError, ValueError):
            return request
    return request


def _places(value: Any) -> list[tuple[Any, Any]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    found: list[tuple[Any, Any]] = []
    for key, entry in inner:
        found.append((value, key))
        if isinstance(entry, dict | list):
            found += _places(entry)
    return found


def _other(key: Any, value: Any, source: random.Random) -> Any:
    if key in WORDS:
        return source.choice(WORDS[key])
    if isinstance(value, list) and value:
        return source.choice([value[1:], [*value, copy.deepcopy(value[0])], value[::-1], []])
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return source.choice(SIZES)
    if isinstance(value, str) and len(value) == 64:
        return source.choice(["0" * 64, value[::-1]])
    if isinstance(value, str):
        return source.choice(["", value + "z", "a" + value, "a b", "x" * 128, "x" * 129, "2", "10"])
    return copy.deepcopy(value)
