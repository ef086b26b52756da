"""From unproved to refuted: an input on which the rule fails, executed exactly before it is believed.

In: the obligations of a plan. Out: the same, where those for which a witness was found are refuted and carry it.
Obligations without one stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from pllm_lang.catalog.apply import run as run_expression
from pllm_lang.catalog.facts import Facts
from pllm_lang.catalog.formats import ulp
from pllm_lang.catalog.tensor import MAX_OPERATIONS, n_rows, row_length
from pllm_lang.exact.number import exact
from pllm_lang.ir.plan import UNKNOWN, TensorType
from pllm_lang.ir.source_map import SourceMap
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.clauses import judge_clause
from pllm_lang.verify.cone import cone_of, only, value_types
from pllm_lang.verify.initial import given_facts
from pllm_lang.verify.numbers import shown
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.report import name_of
from pllm_lang.verify.rules.bounds import carrier, domain, intermediate, overflow
from pllm_lang.verify.view import PlanView, StepView
from pllm_lang.verify.witness.hull import Side, attained_facts, is_exact
from pllm_lang.verify.witness.inputs import Choice, Free, candidates
from pllm_lang.verify.witness.run import MAX_COST, Cone, Executed, Purse, executed

MAX_SEARCHES = 12
"""Obligations of one plan for which a witness is sought."""


def with_witnesses(
    plan: PlanView, source_map: SourceMap, obligations: Sequence[Obligation]
) -> Iterator[Obligation]:
    """Every obligation, refuted where an input was found on which it fails."""
    purse = Purse(MAX_COST)
    types: dict[int, TensorType] = {}
    searches = 0
    for obligation in obligations:
        check = CHECKS.get(obligation.code)
        if obligation.verdict is not Verdict.UNPROVED or check is None or searches >= MAX_SEARCHES:
            yield obligation
            continue
        searches += 1
        types = types or value_types(plan.plan)
        yield _search(plan, types, source_map, obligation, check, purse)


Check = Callable[[Executed, Obligation, PlanView], str | None]
"""The value that the run attains and that breaks the obligation, as text; None where it is met."""


def _search(
    plan: PlanView,
    types: dict[int, TensorType],
    source_map: SourceMap,
    obligation: Obligation,
    check: Check,
    purse: Purse,
) -> Obligation:
    values = cone_of(plan.plan, obligation.subject)
    free = _free(plan, values, types)
    if free is None:
        return obligation
    cone = Cone(plan, tuple(only(stage.body, values) for stage in plan.plan.stages), types)
    for chosen in candidates(free):
        if purse.left <= 0:
            break
        reached = _violation(cone, chosen, obligation, check, purse)
        if reached is not None:
            return _refuted(obligation, chosen, reached, source_map)
    return obligation


def _free(plan: PlanView, cone: frozenset[int], types: dict[int, TensorType]) -> list[Free] | None:
    """The values that a witness chooses, None where one of them has no range to choose from or is too large.

    What depends on a state has no witness: nothing shows that a run reaches the state that would be chosen.
    """
    if any(state.value in cone for state in plan.plan.states):
        return None
    given = [*plan.plan.inputs, *plan.plan.weights]
    given += [one for stage in plan.plan.stages for one in stage.inputs]
    found: list[Free] = []
    for one in given:
        if one.value in cone:
            if one.type == UNKNOWN:
                return None
            format_ = plan.format_of(one.type)
            facts = given_facts(format_, one)
            shape = types[one.value].shape
            if facts.range is None or n_rows(shape) + row_length(shape) > MAX_OPERATIONS:
                return None
            found.append(Free(one.value, shape, format_, facts))
    return found


def _violation(
    cone: Cone, chosen: dict[int, Choice], obligation: Obligation, check: Check, purse: Purse
) -> str | None:
    for done in executed(cone, {value: choice.tensor for value, choice in chosen.items()}, purse):
        if obligation.subject in done.view.step.results:
            reached = check(done, obligation, cone.plan)
            if reached is not None:
                return reached
    return None


def _refuted(
    obligation: Obligation, chosen: dict[int, Choice], reached: str, source_map: SourceMap
) -> Obligation:
    witness = tuple(f"{name_of(value, source_map)}: {choice.text}" for value, choice in chosen.items())
    name = "the result" if obligation.code in (overflow.CODE, carrier.CODE) else f"`{obligation.term}`"
    told = f"run exactly on it, {name} gives {shown(exact(reached))}"
    return msgspec.structs.replace(
        obligation,
        verdict=Verdict.REFUTED,
        witness=witness or ("the plan's constants",),
        notes=(*obligation.notes, told),
    )


# ---- the rules on what was executed ------------------------------------------------------------------


def _attained(done: Executed, side: Side) -> StepView:
    """The view with facts that the run surely attains on one side; what is attained is stored, so on its format's grid."""
    nothing = {spec.name: Facts() for spec in done.view.operator.results}
    facts = nothing | {name: attained_facts(tensor, side) for name, tensor in done.tensors.items()}
    env = msgspec.structs.replace(done.view.env, facts=facts)
    names = [spec.name for spec in done.view.operator.results]
    derived = tuple(msgspec.structs.replace(facts[name], unit=ulp(env.formats[name])) for name in names)
    return msgspec.structs.replace(done.view, env=env, derived=derived)


def _by_rule(rule: Callable[[StepView, PlanView], Iterator[Obligation]]) -> Check:
    def check(done: Executed, obligation: Obligation, plan: PlanView) -> str | None:
        for side in ("above", "below"):
            for found in rule(_attained(done, side), plan):
                if (
                    found.part == obligation.part
                    and found.verdict is not Verdict.PROVED
                    and _beyond(found, side)
                ):
                    return found.value
        return None

    return check


def _beyond(found: Obligation, side: Side) -> bool:
    if not found.value or not found.limit:
        return False
    above = exact(found.value) > exact(found.limit)
    return above if side == "above" else not above


def _intermediate(done: Executed, obligation: Obligation, plan: PlanView) -> str | None:
    component = done.view.component
    clauses = () if component is None else component.intermediates
    for clause in clauses:
        if clause.name != obligation.term:
            continue
        tensor = run_expression(clause.expr, done.view.env, done.tensors)
        if tensor is None:
            return None
        for side in ("above", "below"):
            found = intermediate.judge(clause, done.view, plan, attained_facts(tensor, side).range)
            if found.verdict is not Verdict.PROVED and _beyond(found, side):
                return found.value
    return None


def _domain(done: Executed, obligation: Obligation, _plan: PlanView) -> str | None:
    """A condition on exact tensors is false for this run; on enclosures it is left undecided."""
    exactly = {name: tensor for name, tensor in done.tensors.items() if is_exact(tensor)}
    view = _attained(Executed(done.view, exactly), "above")
    for record in (view.operator, view.component):
        for clause in () if record is None else record.requires:
            if clause.origin == obligation.clause and clause.reason == obligation.reason:
                judged = judge_clause(clause, view)
                if judged.holds is False:
                    return judged.value or None
    return None


CHECKS: dict[str, Check] = {
    overflow.CODE: _by_rule(overflow.check_step),
    carrier.CODE: _by_rule(carrier.check_step),
    intermediate.CODE: _intermediate,
    domain.CODE: _domain,
}
