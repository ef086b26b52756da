"""Checks of results let a wrong one pass more often than the pipeline or its policy allows."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import prod

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term, term
from pllm_lang.catalog.expr import Apply, Expr, Num, Ref
from pllm_lang.catalog.records import Component
from pllm_lang.exact.interval import magnitude
from pllm_lang.exact.number import Exact, text
from pllm_lang.ir.plan import ComponentUse
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.budget import runs_of_steps
from pllm_lang.verify.carrier import carried_values, modulus_in
from pllm_lang.verify.environment import add_parameters
from pllm_lang.verify.failure import FAILURE, asks_for_failure, holds_up_to
from pllm_lang.verify.hosting import ExperimentView
from pllm_lang.verify.limits import ring_text
from pllm_lang.verify.numbers import log2_text
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.terms import term_text
from pllm_lang.verify.view import Met

CODE = "bounds.undetected"
SLOT = "verification"


def check_experiment(view: ExperimentView) -> Iterator[Obligation]:
    """A wrong row passes with the probability that the verification's record states; over all rows that the budget allows
    these add up. The sum keeps what the record requires of it, and the policy's statistical security."""
    for slot, use in view.experiment.slots:
        component = view.plan.library.component(use.key) if slot == SLOT else None
        checked = list(_checked(view)) if component is not None else []
        if component is not None and checked:
            yield from _judge(view, component, use, checked)
            yield from _unseen(view, component, use, checked)


def _checked(view: ExperimentView) -> Iterator[tuple[Met, int]]:
    """Results of the pipeline's methods with the rows of all their runs."""
    methods = {use.key for slot, use in view.experiment.slots if slot != SLOT}
    for met, runs in runs_of_steps(view.flow, view.plan.plan, view.experiment):
        component = None if met.judged.view is None else met.judged.view.component
        if component is None or component.protocol is None or met.step.use is None:
            continue
        if met.step.use.key in methods:
            yield met, runs * sum(prod(type_.shape[:-1]) for type_ in met.step.types)


def _judge(
    view: ExperimentView, component: Component, use: ComponentUse, checked: list[tuple[Met, int]]
) -> Iterator[Obligation]:
    subject, rows = checked[0][0].step.results[0], sum(count for _, count in checked)
    env = Env()
    add_parameters(env, use, component, view.plan)
    each = None if component.failure is None else term(component.failure, env)
    if each is None:
        text_ = f"nothing says how often a wrong result passes `{component.name}`"
        help_ = "state `failure:` in its record, or verify with another component"
        yield Obligation(CODE, Verdict.UNPROVED, subject, text_, "using", help=help_)
        return
    total: Exact = each.high * rows
    limits = [c.expr for c in component.requires if asks_for_failure(c.expr)]
    policy = view.plan.policy
    if policy is not None and "statistical" in policy.security:
        bits = Num(policy.security["statistical"])
        limits.append(Apply("<=", (Ref(FAILURE), Apply("^", (Num("2"), Apply("neg", (bits,)))))))
    for limit in limits:
        yield _limited(subject, component, rows, total, limit, env)


def _limited(
    subject: int, component: Component, rows: int, total: Exact, limit: Expr, env: Env
) -> Obligation:
    told = term_text(limit)
    if holds_up_to(limit, total, env):
        evidence = (f"{rows} rows, together {log2_text(total)}",)
        return Obligation(CODE, Verdict.PROVED, subject, part=told, evidence=evidence)
    return Obligation(
        CODE,
        Verdict.UNPROVED,
        subject,
        message=(
            f"`{component.name}` checks {rows} rows over the budget, and one of them may be wrong unseen with a "
            f"probability of {_size(total)}; {told} is required"
        ),
        part="using",
        value=text(total),
        term=FAILURE,
        notes=("a union bound over rows and runs; it may be too large, never too small",),
        help="take more checks, or lower the budget of the experiment",
    )


def _size(total: Exact) -> str:
    return f"at most {log2_text(total)}" if total < 1 else "no bound below 1"


def _unseen(
    view: ExperimentView, component: Component, use: ComponentUse, checked: list[tuple[Met, int]]
) -> Iterator[Obligation]:
    """A check modulo q does not see an entry that is wrong by q: of a ring of M residues, centred, an entry of at most B in
    size has such a neighbour unless B + M / 2 < q."""
    if component.carrier is None:
        return  # its record claims its failure for every wrong row
    field = modulus_in(component.carrier, Env(exact=dict(_numbers(use))))
    for met, _ in checked:
        for position, result in enumerate(met.step.results):
            ring, size = _ring_and_size(met, view, position)
            if field is None or ring is None or size is None or size + Fraction(ring, 2) >= field:
                yield _hidden(component, result, field, ring, size)


def _ring_and_size(met: Met, view: ExperimentView, position: int) -> tuple[int | None, Exact | None]:
    """The ring in which a result comes, and the largest raw value of it; None where that is not known."""
    seen = met.judged.view
    part = f"target{position}"
    carried = [] if seen is None else [c for c in carried_values(seen, view.plan) if c.part == part]
    raw = carried[0].raw if carried else None
    return (carried[0].modulus if carried else None, None if raw is None else magnitude(raw))


def _hidden(
    component: Component, result: int, field: int | None, ring: int | None, size: Exact | None
) -> Obligation:
    where = "a ring that is not known" if ring is None else ring_text(ring)
    return Obligation(
        CODE,
        Verdict.UNPROVED,
        result,
        message=(
            f"`{component.name}` checks modulo {'a number that is not known' if field is None else field}, and an entry in "
            f"{where} may be wrong by a multiple of that, which no check sees"
        ),
        part="using",
        value="" if size is None else text(size),
        limit="" if field is None or ring is None else text(field - Fraction(ring, 2)),
        term=component.name,
        notes=("a right entry and one that is wrong by the modulus must not both fit the ring",),
        help="compute in a narrower ring, such as `masked_linear(bits: 32)`, or state a narrower range of the operands",
    )


def _numbers(use: ComponentUse) -> Iterator[tuple[str, Exact]]:
    for name, value in use.params:
        found = exact_term(value, Env())
        if found is not None:
            yield name, found
