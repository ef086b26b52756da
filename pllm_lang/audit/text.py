"""The audit as text: a head for each component, and below it what it states, what was derived, and what stands against it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from pllm_lang.audit.derive import Derived
from pllm_lang.audit.report import Against, Audited, Stated
from pllm_lang.catalog.expr import Expr
from pllm_lang.exact.number import Exact
from pllm_lang.text.visible import visible
from pllm_lang.verify.numbers import decimal, shown
from pllm_lang.verify.terms import term_text

MAX_STEPS = 4
"""Steps of one component that are named."""
MAX_DIGITS = 12


def as_text(one: Audited) -> str:
    return "\n".join(map(visible, _lines(one)))


def summary(name: str, audited: Sequence[Audited]) -> str:
    """The last line of an audit: how many components rest on somebody's word, and what is wrong with them."""
    against = sum(not one.good for one in audited)
    rest = "nothing known against them" if not against else f"{against} with something against it"
    if not audited:
        return f"{name}: no component of it rests on a published claim"
    return f"{name}: {len(audited)} component{'' if len(audited) == 1 else 's'} audited, {rest}"


def _lines(one: Audited) -> Iterator[str]:
    component = one.component
    steps = ", ".join(one.steps[:MAX_STEPS]) + (
        f" and {len(one.steps) - MAX_STEPS} more" if len(one.steps) > MAX_STEPS else ""
    )
    yield f"{component.id or component.name} {component.version}: {', '.join(one.operators)}" + (
        f" (in {steps})" if steps else ""
    )
    if one.source:
        yield f"  source       {one.source}"
    if component.n_parties is not None:
        yield f"  parties      {_parties(component.n_parties, component.adversaries)}"
    yield from (f"  holds where  {text}" for text in one.domain)
    yield from (f"  its bound    {_stated(bound)}" for bound in one.bounds)
    yield from (f"  claimed      {_stated(claim)}" for claim in one.claims)
    yield from (f"  assumed      {text.partition(': ')[2]}" for text in one.assumed)
    yield from (f"  against it   {_against(defect)}" for defect in one.against)
    if one.note:
        yield f"  note         {one.note}"


def _parties(n_parties: Expr, adversaries: Sequence[str]) -> str:
    against = f", {', '.join(adversaries).replace('_', '-')}" if adversaries else ""
    return term_text(n_parties).strip("[]").replace(", ", " or ") + against


def _stated(one: Stated) -> str:
    text = RATIO.sub(lambda found: _as_decimal(found[0]), one.text)
    if one.derived is None:
        return f"{text} (not derived: the record has no formula for it)"
    given = "".join(f" with {name} {shown(value)}" for name, value in one.given)
    return f"{text}: {one.outcome}; its formula of {one.operator}{given} is off by {_ends(one.derived)}"


RATIO = re.compile(r"\b\d+/\d+\b")


def _as_decimal(ratio: str) -> str:
    """A ratio as the record wrote it: `13/625` is 0.0208; one that no decimal says stays as it is."""
    value, digits = Fraction(ratio), 0
    while value.denominator > 1 and digits < MAX_DIGITS:
        value, digits = value * 10, digits + 1
    if value.denominator > 1 or not digits:
        return ratio
    text = f"{value.numerator:0{digits + 1}d}"
    return f"{text[:-digits]}.{text[-digits:]}"


def _ends(found: Derived) -> str:
    low, high = shown(found.low), shown(found.high)
    ends = f"at most {high}" if found.low == 0 else f"{low} to {high}"
    return f"{ends} on {shown(found.domain.low)} to {shown(found.domain.high)}, most at {_place(found.at)}"


def _place(at: Exact) -> str:
    return str(at) if at == int(at) else f"~{decimal(at)}"


def _against(one: Against) -> str:
    applies = {True: "", False: "does not apply: ", None: "not excluded: "}[one.applies]
    return applies + one.text
