"""A requirement that the plan itself states does not hold (`requires error(y) <= 1/256`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.expr import Expr
from pllm_lang.catalog.facts import Facts
from pllm_lang.catalog.records import Clause
from pllm_lang.ir.plan import UNKNOWN, Requirement, Step
from pllm_lang.ir.walk import nodes, references
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.clauses import judge
from pllm_lang.verify.cone import value_types
from pllm_lang.verify.failure import asks_for_failure
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.view import PlanView

CODE = "bounds.requirement"


def check_node(plan: PlanView, node: object, facts: Mapping[int, Facts]) -> Iterator[Obligation]:
    """Judge the requirement on the facts at its place; one on `failure` is judged on the whole plan."""
    if not isinstance(node, Requirement) or asks_for_failure(node.condition):
        return
    types = {value: type_ for value, type_ in value_types(plan.plan).items() if type_ != UNKNOWN}
    env = Env(
        facts={f"%v{value}": known for value, known in facts.items()},
        formats={f"%v{value}": plan.format_of(type_) for value, type_ in types.items()},
        shapes={f"%v{value}": type_.shape for value, type_ in types.items()},
    )
    judged = judge(Clause(node.condition, reason=node.reason), env, plan.value_names)
    subject = -1 - next(n for n, own in enumerate(plan.requirements) if own is node)
    if judged.holds:
        yield Obligation(CODE, Verdict.PROVED, subject, part="requires", evidence=(judged.text,))
        return
    yield Obligation(
        CODE,
        Verdict.UNPROVED,
        subject,
        part="requires",
        message=f"the plan requires {judged.text}, and here {judged.found}",
        value=judged.value,
        limit=judged.limit,
        term=judged.text,
        reason=node.reason,
        notes=_unknown_since(plan, node.condition, facts)
        if judged.holds is None and not judged.value
        else (),
        help=judged.help,
    )


def _unknown_since(plan: PlanView, condition: Expr, facts: Mapping[int, Facts]) -> tuple[str, ...]:
    """Where the error of a value becomes unknown: the first step on the way to it whose operands' errors are known."""
    wanted = {int(name[2:]) for name in references(condition) if name.startswith("%v")}
    steps = [n for stage in plan.plan.stages for n, _ in nodes(stage.body) if isinstance(n, Step)]
    for step in reversed(steps):
        if wanted.intersection(step.results):
            wanted |= {operand for operand in step.operands if isinstance(operand, int)}
    for step in steps:
        new = [v for v in step.results if v in wanted and v in facts and facts[v].error is None]
        old = [v for v in step.operands if isinstance(v, int) and v in facts]
        if new and all(facts[v].error is not None for v in old):
            name = plan.value_names.get(f"%v{new[0]}", "a value")
            done = (
                f"`{step.use.key.rsplit('.', 1)[-1]}`"
                if step.use
                else f"`{step.operator.rsplit('.', 1)[-1]}`"
            )
            return (f"the error becomes unknown at `{name}`: {done} bounds none for these operands",)
    return ()
