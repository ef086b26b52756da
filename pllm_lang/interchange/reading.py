"""JSON text as the SDK's native reader takes it.

In: bytes or text. Out: a JSON value and the keys that occurred twice in one object, or a `DocumentError`
with a code of its own for bad encoding, syntax, nesting, numbers. It exists because Python's `json` accepts
more (NaN, lone surrogates, any depth) and reads some decimals to another double than the native reader
does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, NoReturn, TypeAlias, cast

import msgspec

from pllm_lang.interchange.errors import DocumentError

MAX_DEPTH = 127
"""Deepest nesting of arrays and objects that the native reader follows."""
MAX_TEXT = 2 << 20
"""Characters of a configuration or request; published ones have a few thousand."""
MAX_SAFE_INTEGER = 2**53 - 1
"""Largest integer that every JSON reader keeps exactly (RFC 7493)."""
U64_MAX = 2**64 - 1
U64_DIGITS = 20
MAX_DIGITS = 1000
I64_MIN = -(2**63)
MAX_POWER_OF_TEN = 308
MAX_SHOWN = 80
"""Characters of a wrong value that a message quotes."""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)
_NUMBER = re.compile(r"(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?")
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


Pairs: TypeAlias = Callable[[list[tuple[str, Any]]], dict[str, Any]]
ReadNumber: TypeAlias = Callable[[str], int | float]


class JsonText(msgspec.Struct, frozen=True):
    """A value read from text; `top_duplicates` and `inner_duplicates` are keys that occurred twice."""

    value: Any
    top_duplicates: tuple[str, ...]
    inner_duplicates: tuple[str, ...]


def read_json(source: object) -> JsonText:
    """Read one JSON value.

    Errors: `document.type`, `document.encoding`, `document.size`, `document.syntax`, `document.depth`,
    `document.number`.
    """
    text = decode(source)
    if len(text) > MAX_TEXT:
        raise DocumentError("document.size", f"longer than {MAX_TEXT} characters")
    check_depth(text)
    seen: list[tuple[object, str]] = []

    def keep_last(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            seen.extend((found, name) for name in found if names.count(name) > 1)
        return found

    value = parse_json(text, keep_last, read_float=native_number, read_int=native_number)
    top = tuple(name for owner, name in seen if owner is value)
    return JsonText(value, top, tuple(name for owner, name in seen if owner is not value))


def as_object(value: object) -> Mapping[str, Any] | None:
    """`value` if it is a JSON object, else None."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def as_list(value: object) -> Sequence[Any] | None:
    """`value` if it is a JSON array, else None."""
    return cast("Sequence[Any]", value) if isinstance(value, list | tuple) else None


def decode(source: object) -> str:
    """UTF-8 text of bytes or text; a byte-order mark is refused later, like any other stray character."""
    if not isinstance(source, str | bytes):
        raise DocumentError(
            "document.type", f"a document is a mapping, bytes or text, not {type(source).__name__}"
        )
    try:
        text = source.decode("utf-8") if isinstance(source, bytes) else source
        text.encode("utf-8")
    except UnicodeError:
        raise DocumentError("document.encoding", "not UTF-8 text") from None
    return text


def check_depth(text: str, limit: int = MAX_DEPTH) -> None:
    """Refuse text whose brackets nest deeper than `limit`, before a recursive parser sees it."""
    depth = 0
    for token in _TOKEN.finditer(text):
        if token[0] in "[{":
            depth += 1
            if depth > limit:
                raise DocumentError("document.depth", f"nested deeper than {limit} levels")
        elif token[0] in "]}":
            depth -= 1


def parse_json(text: str, pairs_hook: Pairs, *, read_float: ReadNumber, read_int: ReadNumber) -> Any:
    """Parse `text`; the caller says what duplicate keys mean and how number literals are read."""
    try:
        value = json.loads(
            text,
            object_pairs_hook=pairs_hook,
            parse_float=read_float,
            parse_int=read_int,
            parse_constant=_no_constant,
        )
        if _SURROGATE_ESCAPE.search(text):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as fault:
        raise DocumentError(
            "document.syntax", f"{fault.msg} at line {fault.lineno} column {fault.colno}"
        ) from None
    except UnicodeEncodeError:
        raise DocumentError("document.encoding", "an escape gives half of a surrogate pair") from None
    return value


def native_number(text: str) -> int | float:
    """The number that the native reader makes of a literal.

    Integers outside of i64 and u64 become floats. A float is `significand / 10**n` in doubles, with a
    64-bit significand whose further digits are dropped; this is up to one unit in the last place off the
    nearest double.
    """
    match = _NUMBER.fullmatch(text)
    assert match is not None, "json only hands over number literals"
    sign, whole, fraction, exponent = match.groups()
    if fraction is None and exponent is None and text != "-0" and len(whole) <= U64_DIGITS:
        value = int(text)
        if I64_MIN <= value <= U64_MAX:
            return value
    significand, power = _significand(whole, fraction or "")
    size = _scaled(significand, power + _exponent(exponent or "0"), text)
    return -size if sign else size


def _significand(whole: str, fraction: str) -> tuple[int, int]:
    significand, used = 0, 0
    digits = whole + fraction
    for digit in digits:
        longer = significand * 10 + int(digit)
        if longer > U64_MAX:
            break
        significand, used = longer, used + 1
    return significand, len(whole) - used


def _exponent(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    return sign * int(text.lstrip("+-").lstrip("0")[:U64_DIGITS] or "0")


def _scaled(significand: int, power: int, text: str) -> float:
    size = float(significand)
    while power < -MAX_POWER_OF_TEN and size:
        size, power = size / 1e308, power + MAX_POWER_OF_TEN
    if size == 0.0:
        return size
    if power > MAX_POWER_OF_TEN:
        raise DocumentError("document.number", f"{text} is too large for a double")
    ten = float(f"1e{abs(power)}")
    size = size / ten if power < 0 else size * ten
    if size == float("inf"):
        raise DocumentError("document.number", f"{text} is too large for a double")
    return size


def finite_float(text: str) -> float:
    """The double nearest to a literal, as the SDK's Python layer reads it."""
    value = float(text)
    if not isfinite(value):
        raise DocumentError("document.number", f"{text} is not a finite double")
    return value


def plain_int(text: str) -> int:
    """An integer of any size up to MAX_DIGITS digits."""
    if len(text) > MAX_DIGITS:
        raise DocumentError("document.number", f"an integer of {len(text)} digits")
    return int(text)


def _no_constant(name: str) -> NoReturn:
    raise DocumentError("document.number", f"{name} is not a JSON number")


def shown(value: object) -> str:
    """A wrong value as a message quotes it: cut, and never a fault of its own."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__} too large to print"
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "..."
