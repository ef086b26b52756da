"""Arguments of components between `.pllm` and JSON, by the kind that the parameter's record states.

In: a parameter and an expression, or a JSON value. Out: the other. A ratio is written as it stands, because the SDK
does not reduce it: `2/4` and `1/2` give two digests.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from pllm_lang.catalog import expr as ex
from pllm_lang.catalog.records import ParamSpec
from pllm_lang.interchange.experiment.quoted import quoted
from pllm_lang.interchange.reading import as_list, as_object
from pllm_lang.ir.words import show_expr


class NotSayable(ValueError):
    """The value has no counterpart on the other side; the text says which."""


def json_of(param: ParamSpec, value: ex.Expr) -> Any:
    """The JSON value of an argument. Raises `NotSayable`."""
    found = _TO_JSON[param.kind](value) if param.kind in _TO_JSON else None
    if found is None:
        raise NotSayable(f"{show_expr(value)} is no {param.kind} that JSON can say")
    return found


def text_of(param: ParamSpec, value: Any) -> str:
    """The argument that `json_of` reads as `value`. Raises `NotSayable`."""
    found = _TO_TEXT[param.kind](value) if param.kind in _TO_TEXT else None
    if found is None:
        raise NotSayable(f"a parameter of kind {param.kind} has no form for {value!r}")
    return found


def _integer(value: ex.Expr) -> int | None:
    return int(value.value) if isinstance(value, ex.Num) and "/" not in value.value else None


def _real(value: ex.Expr) -> int | float | None:
    """A whole number, or a double that is exactly the number."""
    if not isinstance(value, ex.Num):
        return None
    exact = Fraction(value.value)
    if exact.denominator == 1:
        return exact.numerator
    try:
        near = float(exact)
    except OverflowError:
        return None
    return near if Fraction(repr(near)) == exact else None


def _boolean(value: ex.Expr) -> bool | None:
    return {"true": True, "false": False}.get(value.name) if isinstance(value, ex.Ref) else None


def _word(value: ex.Expr) -> str | None:
    return value.name.rpartition(".")[2] if isinstance(value, ex.Ref) else None


def _text(value: ex.Expr) -> str | None:
    return value.value if isinstance(value, ex.Text) else None


def _ratio(value: ex.Expr) -> dict[str, int] | None:
    parts: list[int | None] = []
    match value:
        case ex.Apply(fn="/", args=(above, below)):
            parts = [_integer(above), _integer(below)]
        case ex.Num():
            exact = Fraction(value.value)
            parts = [exact.numerator, exact.denominator]
        case _:
            return None
    numerator, denominator = parts
    if numerator is None or denominator is None:
        return None
    return {"numerator": numerator, "denominator": denominator}


def _list(value: ex.Expr) -> list[Any] | None:
    items = [_integer(item) for item in value.items] if isinstance(value, ex.ListOf) else [None]
    return None if None in items else items


_TO_JSON: dict[str, Callable[[ex.Expr], Any]] = {
    "integer": _integer,
    "real": _real,
    "boolean": _boolean,
    "word": _word,
    "text": _text,
    "ratio": _ratio,
    "list": _list,
}


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _whole_text(value: Any) -> str | None:
    return str(value) if _is_whole(value) else None


def _boolean_text(value: Any) -> str | None:
    return str(value).lower() if isinstance(value, bool) else None


def _word_text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.isidentifier() and value.isascii() else None


def _quoted_text(value: Any) -> str | None:
    return quoted(value) if isinstance(value, str) else None


def _ratio_text(value: Any) -> str | None:
    parts = [(as_object(value) or {}).get(part) for part in ("numerator", "denominator")]
    return f"{parts[0]}/{parts[1]}" if all(map(_is_whole, parts)) else None


def _list_text(value: Any) -> str | None:
    items = as_list(value)
    return f"[{', '.join(map(str, items))}]" if items is not None and all(map(_is_whole, items)) else None


_TO_TEXT: dict[str, Callable[[Any], str | None]] = {
    "integer": _whole_text,
    "boolean": _boolean_text,
    "word": _word_text,
    "text": _quoted_text,
    "ratio": _ratio_text,
    "list": _list_text,
}
