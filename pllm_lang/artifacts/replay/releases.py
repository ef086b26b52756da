"""Replay: versions compared, written anew. In: a version and what is wanted of it, `>=1, <2`. Out: whether it is surely so.

Releases are numbers with dots, `1.10.2`, or early ones of such, `2.0a1`; an early release is older than its release, and `<2`
does not mean it. Whatever else versions may look like is not compared here: then nothing is known.
"""

from __future__ import annotations

import re

_VERSION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9}){0,8})(?:(a|b|rc)([0-9]{1,9}))?")
_CLAUSE = re.compile(r"(<=|>=|==|!=|<|>) *([0-9a-z.]+)")
_FINAL = ("z", 0)

Version = tuple[tuple[int, ...], tuple[str, int]]


def admits(version: str, wanted: str) -> bool | None:
    """Whether `wanted` admits `version`; None where one of them is not of a form that is compared here."""
    have = _read(version)
    clauses = [_CLAUSE.fullmatch(part.strip()) for part in wanted.split(",")]
    if have is None or len(clauses) > 16:
        return None
    answers: list[bool] = []
    for clause in clauses:
        limit = None if clause is None else _read(clause[2])
        if clause is None or limit is None:
            return None
        answers.append(_meets(have, clause[1], limit))
    return all(answers)


def _read(text: str) -> Version | None:
    found = _VERSION.fullmatch(text) if text.isascii() else None
    if found is None:
        return None
    numbers = [int(part) for part in found[1].split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()  # 1.0 is 1
    return tuple(numbers), (found[2], int(found[3])) if found[2] else _FINAL


def _meets(have: Version, sign: str, limit: Version) -> bool:
    match sign:
        case "<":
            early = have[0] == limit[0] and have[1] != _FINAL and limit[1] == _FINAL
            return have < limit and not early
        case "<=":
            return have <= limit
        case ">":
            return have > limit
        case ">=":
            return have >= limit
        case "==":
            return have == limit
        case _:
            return have != limit
