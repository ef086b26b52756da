"""Replay: the name under which a text calls its operator as a whole, as a primitive computes it.

Such a call means what the operator means for just these formats and parameters, so all of them are in its name. In: the step's
operator and component, the formats of its operands, and what the text takes. Out: the name that a compiler writes.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.catalog.expr import Expr, ListOf, Num, Ref, Text
from pllm_lang.catalog.records import Component, Format, Operator
from pllm_lang.ir import protocol as p
from pllm_lang.ir.plan import Step

TRUTH = {"true": "1", "false": "0"}


def name_of_call(
    step: Step, operator: Operator, component: Component, formats: list[Format], taken: list[Format]
) -> str:
    """`formats` are the plan's, `taken` those of the operands."""
    found: dict[str, str] = {}
    for spec, form in zip(operator.operands, taken, strict=True):
        if isinstance(spec.format, Ref) and spec.format.name in operator.format_vars:
            found.setdefault(spec.format.name, _spelt(form))
    found |= dict(_parameters(step, operator, component, formats))
    inside = ", ".join(f"{name}={told}" for name, told in sorted(found.items()))
    own = operator.name if operator.module.startswith("std.") else f"{operator.module}.{operator.name}"
    return f"{own}[{inside}]" if inside else own


def _parameters(
    step: Step, operator: Operator, component: Component, formats: list[Format]
) -> Iterator[tuple[str, str]]:
    """The operator's, and those of its component that are not called so too."""
    own = {spec.name for spec in operator.params}
    given = [*step.params, *(pair for pair in (step.use.params if step.use else ()) if pair[0] not in own)]
    truths = {spec.name for spec in (*component.params, *operator.params) if spec.kind == "boolean"}
    for name, value in given:
        word = value.name if isinstance(value, Ref) else ""
        if isinstance(value, Num):
            yield name, str(n.number(value.value))
        elif word.startswith("%f"):
            yield name, _spelt(formats[int(word[2:])])
        elif name in truths and word in TRUTH:
            yield name, TRUTH[word]
        else:
            yield name, _quoted(_plain(value))


def _spelt(form: Format) -> str:
    """A format by what it holds: two may be called alike."""
    held = f"({form.low}..{form.high})" if form.low or form.high else ""
    grid = f"/2^{form.frac}" if form.frac else ""
    ring = f" mod {form.modulus}" if form.modulus else ""
    return f"{form.kind}{form.bits or ''}{held}{grid}{ring}{f' by {form.scale}' if form.scale else ''}"


def _plain(value: Expr) -> str:
    match value:
        case Ref():
            return value.name
        case Text() | Num():
            return value.value
        case ListOf():
            return "[" + ", ".join(map(_plain, value.items)) + "]"
        case _:
            return msgspec.json.encode(value).decode()


def _quoted(word: str) -> str:
    """What could be read as more than one word is quoted."""
    return word if word.replace("_", "").replace(".", "").isalnum() else msgspec.json.encode(word).decode()


def in_pieces(form: Format, given: p.Input) -> Format:
    """The format of an operand; an exact number in pieces lies in the ring of its pieces."""
    number = given.type.number
    if form.kind != "exact" or not isinstance(number, p.Ring) or not isinstance(given.holding, p.Shared):
        return form
    low, high = str(-(number.modulus // 2)), str((number.modulus - 1) // 2)
    return Format("exact", "ring", low, high, 0, str(number.modulus), (number.modulus - 1).bit_length())
