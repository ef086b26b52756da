"""Whether a field's value is what the table of fields says it accepts."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from pllm_lang.catalog.expr import Apply, Expr, ListOf, MapOf, Num, Ref, Text
from pllm_lang.catalog.read.context import Context
from pllm_lang.catalog.read.fields import FieldSpec
from pllm_lang.resolve.suggest import did_you_mean
from pllm_lang.resolve.units import UNITS, Problem, read_quantity
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.article import with_article
from pllm_lang.text.finding import Span

# Fields that name declarations, and the kinds that will do.
DECLARED: dict[str, tuple[str, ...]] = {
    "operators": ("operator",),
    "components": ("component", "pipeline", "suite"),
    "format": ("format",),
    "policy": ("policy",),
    "plan": ("plan",),
    "record": ("pipeline", "suite", "experiment"),
}
# `implements: any`: a method that carries out every operator as it is meant.
ANY = "any"
DIMENSIONS = frozenset({"bytes", "seconds", "bits"})


def listed(value: Expr) -> tuple[Expr, ...]:
    """The entries of a list; a value alone is a list of one."""
    return value.items if isinstance(value, ListOf) else (value,)


def word(value: Expr) -> str:
    """A name, a text, a number or the name of what is called, as text."""
    match value:
        case Text() | Num():
            return value.value
        case Ref():
            return value.name
        case Apply():
            return value.fn
        case _:
            return ""


def check_value(kind: str, spec: FieldSpec, item: syn.Field, value: Expr, ctx: Context) -> None:
    place = ctx.span(item, item.value)
    if spec.accepts in DECLARED:
        for part in listed(value):
            _check_reference(spec, part, place, ctx)
        return
    accepted = _ACCEPTED.get(spec.accepts)
    if accepted is not None and not accepted(value):
        ctx.report("records.wrong_value", f"`{spec.name}` takes {_SAID[spec.accepts]}", place, spec.doc)
    elif spec.allowed:
        _check_words(kind, spec, value, place, ctx)
    elif kind == "target" and spec.accepts in DIMENSIONS and isinstance(value, Num):
        _check_amount(spec, item, value, place, ctx)
    elif spec.accepts in DIMENSIONS and isinstance(item.value, syn.Quantity):
        read = read_quantity(item.value.text)
        if not isinstance(read, Problem) and read[1] != spec.accepts:
            ctx.report("records.wrong_value", f"`{spec.name}` is in {spec.accepts}, not in {read[1]}", place)


def _check_amount(spec: FieldSpec, item: syn.Field, value: Num, place: Span, ctx: Context) -> None:
    """A machine has some memory, in a unit that is written: `24` alone would be 24 bytes."""
    if not isinstance(item.value, syn.Quantity):
        help_ = f"write {_with_units(value.value)}"
        ctx.report("records.wrong_value", f"`{spec.name}` needs a unit", place, help_)
        return
    read = read_quantity(item.value.text)
    if not isinstance(read, Problem) and read[1] != spec.accepts:
        ctx.report("records.wrong_value", f"`{spec.name}` is in {spec.accepts}, not in {read[1]}", place)
    elif Fraction(value.value) <= 0:
        ctx.report("records.wrong_value", f"`{spec.name}` is more than nothing", place, spec.doc)


_SMALL = 4096
"""Up to so many, a number without a unit is probably one of GiB: no machine has more of them."""


def _with_units(number: str) -> str:
    """The same number with a unit: as what it stands for, and in the largest unit in which it is whole."""
    value = Fraction(number)
    if value <= _SMALL:
        return f"`{number}GiB`, or `{number}B` where bytes are meant"
    units = ((unit, UNITS[unit][1]) for unit in ("TiB", "GiB", "MiB", "KiB"))
    whole = next((f"{value / size}{unit}" for unit, size in units if value % size == 0), "")
    return f"`{number}B`" + (f", or `{whole}`, which is the same" if whole else "")


def _check_reference(spec: FieldSpec, part: Expr, place: Span, ctx: Context) -> None:
    kinds = DECLARED[spec.accepts]
    name = word(part)
    if name in ctx.local or (name == ANY and spec.name == "implements"):
        return
    found = next((b for b in ctx.scope.values() if b.key == name), None) if "." in name else None
    if found is None:
        known = [n for n, b in ctx.scope.items() if b.kind in kinds]
        help_ = did_you_mean(name, known) or "declare it, or import it"
        ctx.report("names.unknown", f"no {kinds[0]} `{name}` is known here", place, help_)
    elif found.kind not in kinds:
        message = (
            f"`{found.name}` is {with_article(found.kind)}, and `{spec.name}` takes {with_article(kinds[0])}"
        )
        ctx.report("names.wrong_kind", message, place)


def _check_words(kind: str, spec: FieldSpec, value: Expr, place: Span, ctx: Context) -> None:
    """Words of a list, or the keys of a map, are among those allowed."""
    words = [key for key, _ in value.entries] if isinstance(value, MapOf) else map(word, listed(value))
    for one in words:
        if one not in spec.allowed:
            help_ = did_you_mean(one, spec.allowed) or "it may be " + ", ".join(spec.allowed)
            ctx.report(
                "records.wrong_value", f"`{one}` is no `{spec.name}` of {with_article(kind)}", place, help_
            )


def _is_word(value: Expr) -> bool:
    return isinstance(value, Ref)


def _are_words(value: Expr) -> bool:
    return all(isinstance(part, Ref) for part in listed(value))


def _is_text(value: Expr) -> bool:
    return isinstance(value, Text)


def _are_texts(value: Expr) -> bool:
    return all(isinstance(part, Text) for part in listed(value))


def _is_integer(value: Expr) -> bool:
    return isinstance(value, Num) and "/" not in value.value


def _is_count(value: Expr) -> bool:
    return isinstance(value, Num) and value.value.isdecimal() and int(value.value) > 0


def _is_number(value: Expr) -> bool:
    return isinstance(value, Num)


def _is_boolean(value: Expr) -> bool:
    return isinstance(value, Ref) and value.name in ("true", "false")


def _is_map(value: Expr) -> bool:
    return isinstance(value, MapOf)


def _is_list(value: Expr) -> bool:
    return isinstance(value, ListOf)


_ACCEPTED: dict[str, Callable[[Expr], bool]] = {
    "word": _is_word,
    "words": _are_words,
    "text": _is_text,
    "texts": _are_texts,
    "integer": _is_integer,
    "count": _is_count,
    "number": _is_number,
    "boolean": _is_boolean,
    "map": _is_map,
    "list": _is_list,
}
_SAID = {
    "word": "a bare name",
    "words": "a list of bare names",
    "text": 'a text in quotes, such as `"1"`',
    "texts": "a list of texts in quotes",
    "integer": "a whole number",
    "count": "a whole number of at least 1",
    "number": "a number",
    "boolean": "`true` or `false`",
    "map": "a map, `{ name: value }`",
    "list": "a list in brackets",
}
