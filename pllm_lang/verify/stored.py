"""The facts of a result once it is stored: inside its format, with what the plan assumes of it.

A result that was not proved to fit is an error already; later steps go on from the format's range, so one
overflow is one finding. A float result has no known error: its rounding is not modelled, which the obligation that
it is finite lists as taken for granted.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pllm_lang.catalog.facts import Facts
from pllm_lang.catalog.records import Format
from pllm_lang.ir.plan import UNKNOWN
from pllm_lang.verify.initial import format_range, with_bounds
from pllm_lang.verify.limits import inside
from pllm_lang.verify.view import PlanView, StepView


UNPROVED_BEFORE = "unproved before"
"""Marks a value that has no bound because of what was reported at an earlier step: later steps stay silent."""


def stored(view: StepView, plan: PlanView) -> tuple[Facts, ...]:
    return tuple(_stored(view, plan))


def _stored(view: StepView, plan: PlanView) -> Iterator[Facts]:
    for position, (type_, derived) in enumerate(zip(view.step.types, view.derived, strict=True)):
        facts = derived if type_ == UNKNOWN else _in_format(derived, plan.format_of(type_))
        yield with_bounds(facts, [bound for bound in view.step.assumes if bound.result == position])


def _in_format(derived: Facts, format_: Format) -> Facts:
    limit = format_range(format_)
    if limit is None and derived.range is None:
        return msgspec.structs.replace(derived, rule=UNPROVED_BEFORE)
    if format_.kind == "float":
        derived = msgspec.structs.replace(derived, error=None, value=None)
    if limit is None or (derived.range is not None and inside(derived.range, limit)):
        return derived
    if format_.kind == "float" and derived.range is None:
        return msgspec.structs.replace(derived, range=limit)
    return Facts(range=limit, error=derived.error)
