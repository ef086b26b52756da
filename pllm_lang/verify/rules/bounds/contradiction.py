"""An assumption or a record's claim that cannot hold: it contradicts what is proved."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.apply import claim
from pllm_lang.catalog.evaluate import tensor, term
from pllm_lang.catalog.facts import Facts
from pllm_lang.catalog.records import Component, Operator
from pllm_lang.exact import interval
from pllm_lang.exact.number import exact, text
from pllm_lang.ir.plan import Bound
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.initial import with_bounds
from pllm_lang.verify.numbers import shown_range
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.view import PlanView, StepView

CODE = "bounds.contradiction"


def check_step(view: StepView, _plan: PlanView) -> Iterator[Obligation]:
    """Every claim of the records and every `assume` of a step leaves some values possible; the latter is taken for granted."""
    yield from _claims(view)
    facts = dict(enumerate(view.derived))
    for position, bound in enumerate(view.step.assumes):
        derived = facts[bound.result]
        facts[bound.result] = with_bounds(derived, (bound,))
        part = f"assume{position}"
        if possible(derived, bound):
            yield Obligation(CODE, Verdict.PROVED, bound.result, part=part, assumed=(bound_text(bound),))
            continue
        known = "" if derived.range is None else f" is in {shown_range(derived.range)}"
        yield Obligation(
            CODE,
            Verdict.REFUTED,
            bound.result,
            part=part,
            message=f"no run can meet `{bound_text(bound)}`: the result{known}",
            limit=bound.limit,
            help="remove the assumption, or correct the ranges of the inputs",
        )


def _claims(view: StepView) -> Iterator[Obligation]:
    """What operator and component say of the results' ranges and norms, against what the operator means."""
    meanings = {clause.name: clause.expr for clause in view.operator.means}
    places = {spec.name: position for position, spec in enumerate(view.operator.results)}
    records = (view.operator,) if view.component is None else (view.operator, view.component)
    for record in records:
        for bound, result in _bounds_of(record, view):
            meant = tensor(meanings[result], view.env) if result in meanings else None
            if meant is not None and not possible(meant.facts, bound):
                yield _untrue(record, bound, places[result], meant.facts)


def _bounds_of(record: Operator | Component, view: StepView) -> Iterator[tuple[Bound, str]]:
    """The claims that sharpen facts, each with the result that it speaks of and the weakest limit it can mean."""
    for clause in record.ensures:
        stated = claim(clause)
        limit = None if stated is None or stated.slot == "error" else term(stated.bound, view.env)
        if stated is None or limit is None:
            continue
        if stated.op in ("<=", "<") and stated.slot != "row_max":
            yield Bound(stated.slot, "<=", text(limit.high)), stated.result
        elif stated.op in (">=", ">") and stated.slot in ("min", "row_max"):
            yield Bound(stated.slot, ">=", text(limit.low)), stated.result


def _untrue(record: Operator | Component, bound: Bound, position: int, meant: Facts) -> Obligation:
    found = "" if meant.range is None else f" is in {shown_range(meant.range)}"
    return Obligation(
        CODE,
        Verdict.REFUTED,
        position,
        part=f"target{position}",
        message=f"`{record.name}` claims `{bound_text(bound)}` here, and by the operator's meaning the result{found}",
        limit=bound.limit,
        clause=record.origin,
        help="correct the record: an `ensures` follows from `means`",
    )


def possible(facts: Facts, bound: Bound) -> bool:
    """Whether some value within `facts` meets `bound`."""
    limit, found = exact(bound.limit), facts.range
    match bound.slot:
        case "max":
            return found is None or found.low <= limit
        case "min" | "row_max":
            return found is None or found.high >= limit
        case "error":
            return limit >= 0
        case _:  # no entry is larger than a norm
            return limit >= (0 if found is None else interval.mignitude(found))


def bound_text(bound: Bound) -> str:
    return f"{bound.slot} {bound.op} {bound.limit}"
