"""Strict, exact JSON: a config's bytes, text or mapping in; plain values without binary floats out.

Refused by name: other encodings than UTF-8, a byte-order mark, an empty file, broken syntax (a trailing comma
is called one), a key twice in one object, deep nesting, too long a document or number, a top level that is no
object. Numbers with a point or exponent come out as `Decimal`, exactly as written. `NaN` and `Infinity` are
not JSON, but published configs hold them: they come out as non-finite Decimals, and only a reader of the key
may accept them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias, cast

from pllm_lang.models.errors import LoweringError
from pllm_lang.models.limits import (
    MAX_CONFIG_BYTES,
    MAX_CONFIG_VALUES,
    MAX_DIGITS,
    MAX_EXPONENT,
    MAX_KEYS,
    MAX_NESTING,
)

Json: TypeAlias = bool | int | Decimal | str | list["Json"] | dict[str, "Json"] | None

_TRAILING_COMMA = re.compile(r",\s*[}\]]")
_BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "a UTF-8", b"\xff\xfe": "a UTF-16", b"\xfe\xff": "a UTF-16"}


def read_config(config: Mapping[str, object] | bytes | str) -> dict[str, Json]:
    """The config as exact values. Raises `LoweringError` with a `config.*` code."""
    is_mapping = isinstance(config, Mapping)
    value = _exact(config, 0, [MAX_CONFIG_VALUES]) if is_mapping else _parse(_text(config))
    if isinstance(value, dict) and len(value) > MAX_KEYS:
        raise LoweringError("config.size", f"the config has {len(value):,} keys; the limit is {MAX_KEYS:,}")
    if not isinstance(value, dict):
        raise LoweringError("config.not_an_object", f"the top level is {kind_of(value)}, not an object")
    return value


def kind_of(value: Json) -> str:
    """What a value is, in the words of JSON."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | Decimal():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case dict():
            return "an object"


def decimal_text(number: int | Decimal) -> str:
    """The one text of an exact number: plain notation, no trailing zeros (`1e-06` and `0.0000010` are
    `0.000001`)."""
    if isinstance(number, int):
        return str(number)
    text = format(number, "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def config_digest(values: Mapping[str, Json]) -> str:
    """Digest of the whole config, the same for every spelling of its numbers and order of its keys."""
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_spell)
    data = b"pllm-lang.model-config.v1\x00" + canonical.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()


def _spell(number: object) -> dict[str, str]:
    decimal = cast(Decimal, number)
    plain = decimal.is_finite() and in_range(decimal)
    return {"decimal": decimal_text(decimal) if plain else str(decimal)}


def _text(config: bytes | str) -> str:
    if len(config) > MAX_CONFIG_BYTES:
        raise LoweringError(
            "config.size", f"the config has {len(config):,} bytes; the limit is {MAX_CONFIG_BYTES:,}"
        )
    if isinstance(config, bytes):
        for mark, name in _BYTE_ORDER_MARKS.items():
            if config.startswith(mark):
                raise LoweringError(
                    "config.encoding",
                    f"{name} byte-order mark stands at byte 0",
                    help="save as UTF-8 without mark",
                )
        try:
            config = config.decode("utf-8")
        except UnicodeDecodeError as error:
            raise LoweringError(
                "config.encoding", f"not UTF-8: byte {error.start} is no part of it"
            ) from None
    if config.startswith("\ufeff"):
        raise LoweringError("config.encoding", "a byte-order mark stands before the text")
    if not config.strip():
        raise LoweringError("config.empty", "the config is empty")
    return config


def _parse(text: str) -> Json:
    try:
        value = json.loads(
            text,
            parse_int=_integer,
            parse_float=_decimal,
            parse_constant=Decimal,
            object_pairs_hook=_object,
        )
    except RecursionError:
        raise _too_deep() from None
    except json.JSONDecodeError as error:
        raise LoweringError("config.syntax", _syntax_message(text, error)) from None
    _check_depth(value)
    return value


def non_finite_keys(values: Mapping[str, Json]) -> list[str]:
    """The dotted keys whose values are NaN or infinite, or hold such a number."""
    return [key for key, value in values.items() if _holds_non_finite(value)]


def _holds_non_finite(value: Json) -> bool:
    if isinstance(value, Decimal):
        return not value.is_finite()
    return any(_holds_non_finite(child) for child in _children(value))


def _syntax_message(text: str, error: json.JSONDecodeError) -> str:
    before = text.rfind(",", 0, error.pos + 1)
    what = (
        "trailing comma"
        if before >= 0 and _TRAILING_COMMA.match(text, before)
        else error.msg[0].lower() + error.msg[1:]
    )
    return f"line {error.lineno}, column {error.colno}: {what}"


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise LoweringError(
            "config.duplicate_key", f"the key {twice!r} stands twice in one object", key=twice
        )
    return value


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise LoweringError("config.number", f"an integer of {len(text)} digits; the limit is {MAX_DIGITS}")
    return int(text)


def _decimal(text: str) -> Decimal:
    if len(text) > 2 * MAX_DIGITS:
        raise LoweringError(
            "config.number", f"a number of {len(text)} characters; the limit is {2 * MAX_DIGITS}"
        )
    return Decimal(text)


def in_range(number: Decimal) -> bool:
    """Whether a finite number may be written out in plain notation."""
    return number.is_zero() or abs(number.adjusted()) <= MAX_EXPONENT


def _check_depth(value: Json) -> None:
    level: list[Json] = [value]
    for _ in range(MAX_NESTING):
        level = [child for one in level for child in _children(one)]
        if not level:
            return
    raise _too_deep()


def _children(value: Json) -> Sequence[Json]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else ()


def _too_deep() -> LoweringError:
    return LoweringError("config.nesting", f"the config nests deeper than {MAX_NESTING} levels")


def _exact(value: object, depth: int, room: list[int]) -> Json:
    room[0] -= 1
    if room[0] < 0:
        raise LoweringError("config.size", f"the config holds more than {MAX_CONFIG_VALUES:,} values")
    if depth > MAX_NESTING:
        raise _too_deep()
    match value:
        case None | bool() | str() | Decimal():
            return value
        case int():
            return _integer(str(value)) if value.bit_length() < 512 else _integer("9" * 155)
        case float():
            return Decimal(repr(value))
        case Mapping():
            pairs = cast(Mapping[Any, object], value).items()
            return {_key(key): _exact(item, depth + 1, room) for key, item in pairs}
        case list() | tuple():
            return [_exact(item, depth + 1, room) for item in cast(Sequence[object], value)]
        case _:
            raise LoweringError(
                "config.type", f"a value of Python type {type(value).__name__} is no JSON value"
            )


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise LoweringError("config.type", f"the key {key!r} is not a string")
    return key
