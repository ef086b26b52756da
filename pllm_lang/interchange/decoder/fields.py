"""How a family reads its configuration: typed fields, and rules over them, as the SDK's adapters check
them.

In: a JSON object and a msgspec Struct that declares the keys. Out: the Struct, or `ConfigRefused` naming
the keys. It exists so that each family is a table of fields and a table of rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Generic, TypeAlias, TypeVar

import msgspec

from pllm_lang.interchange.canonical import native_float
from pllm_lang.interchange.decoder.plan import Graph, Phase
from pllm_lang.interchange.errors import ConfigFault, ConfigRefused
from pllm_lang.interchange.reading import U64_MAX

U64: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
"""The reader turns integers beyond 64 bits into floats, so no upper bound is needed here."""
U32: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]
Number: TypeAlias = int | float
DecimalLike: TypeAlias = int | float | str

T = TypeVar("T", bound=msgspec.Struct)

_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_MISSING = re.compile(r"missing required field `([^`]+)`")
_PATH = re.compile(r"`\$\.?([^`]*)`")


class Rule(msgspec.Struct, Generic[T], frozen=True):
    """A condition on a configuration; if it does not hold, `kind`, `keys` and `why` say what is wrong."""

    kind: ConfigFault
    keys: tuple[str, ...]
    holds: Callable[[T], bool]
    why: str


class Lowered(msgspec.Struct, frozen=True):
    """An accepted configuration: what the plan says about its origin, and how to build one phase."""

    family: str
    adapter: str
    config_digest: str
    build: Callable[[Phase], Graph]


def read_fields(config: Mapping[str, Any], fields: type[T], kind: ConfigFault, under: str = "") -> T:
    """Convert `config` to `fields`; keys that `fields` does not declare are ignored.

    Errors: `ConfigRefused(kind)` when a key is missing or of the wrong type; `under` prefixes the names of
    keys.
    """
    try:
        return msgspec.convert(config, fields)
    except msgspec.ValidationError as fault:
        text = str(fault)
        path = _PATH.search(text.rpartition(" - at ")[2])
        missing = _MISSING.search(text)
        names = [name for name in (path and path[1], missing and missing[1]) if name]
        key = ".".join([under, *names] if under else names)
        raise ConfigRefused(kind, text.split(" - at ", maxsplit=1)[0], (key,)) from None


def enforce(rules: tuple[Rule[T], ...], config: T) -> None:
    """Refuse `config` with the first rule that does not hold."""
    for rule in rules:
        if not rule.holds(config):
            raise ConfigRefused(rule.kind, rule.why, rule.keys)


def decimal_text(value: DecimalLike) -> str:
    """The text that stands for a decimal in the document: a string as it is, a number in native spelling."""
    if isinstance(value, str):
        return value
    return native_float(value) if isinstance(value, float) else str(value)


def decimal_value(value: DecimalLike) -> float | None:
    """The finite double of a decimal, or None if its text is not one."""
    text = decimal_text(value)
    found = float(text) if _DECIMAL.fullmatch(text) else None
    return found if found is not None and abs(found) != float("inf") else None


def is_positive_decimal(value: DecimalLike) -> bool:
    """Whether `value` is a finite decimal above zero."""
    return (decimal_value(value) or 0.0) > 0.0


def integral(value: Number, kind: ConfigFault, key: str, *, saturates: bool = False) -> int:
    """A nonnegative integral number of at most 64 bits, given as integer or as float (a rotary base).

    With `saturates`, a larger one becomes the largest, as one adapter of the SDK has it.
    """
    if value < 0 or value != int(value) or (int(value) > U64_MAX and not saturates):
        raise ConfigRefused(kind, f"{value} is not a nonnegative integer of 64 bits", (key,))
    return min(int(value), U64_MAX)
