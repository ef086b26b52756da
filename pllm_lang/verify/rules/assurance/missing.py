"""A claim that the policy requires is not met by any assurance record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from pllm_lang.catalog.expr import Apply, Expr, ListOf, Ref, Text
from pllm_lang.catalog.policies import SHOWN
from pllm_lang.catalog.records import ClaimRule, Record
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.flow import Flow
from pllm_lang.verify.hosting import words
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.view import PlanView

Params: TypeAlias = tuple[tuple[str, Expr], ...]
"""Parameters of a use, as the plan holds them."""

CODE = "assurance.missing"
REFUTED = "refuted"


def check_plan(plan: PlanView, flow: Flow) -> Iterator[Obligation]:
    """Every required claim is met for every protected component of the plan, by a record about that component."""
    if plan.policy is None or not plan.policy.claims:
        return
    results = [r for r in map(plan.library.get, plan.library.keys("assurance")) if isinstance(r, Record)]
    for key, (subject, uses) in _components(flow).items():
        for rule in plan.policy.claims:
            yield _judge(plan, key, subject, uses, rule, results)


def _components(flow: Flow) -> dict[str, tuple[int, list[Params]]]:
    """Components that the plan names with `using`: the first value that each makes, and with which parameters it is used."""
    found: dict[str, tuple[int, list[Params]]] = {}
    for met in flow.met:
        if met.step.use is not None and met.step.results:
            _, uses = found.setdefault(met.step.use.key, (met.step.results[0], []))
            uses += [] if met.step.use.params in uses else [met.step.use.params]
    return found


def _judge(
    plan: PlanView, key: str, subject: int, uses: list[Params], rule: ClaimRule, results: list[Record]
) -> Obligation:
    component = plan.library.component(key)
    name = key.rsplit(".", 1)[-1]
    about = [r for r in results if text_of(r.fields.get("claim")) == rule.claim and key in set(subjects(r))]
    fitting = [
        r for r in about if component is None or text_of(r.fields.get("version")) in ("", component.version)
    ]
    for result in () if _is_refuted(fitting, rule) else fitting:
        if _accepted(result, rule) and _covers(result, key, uses):
            return Obligation(
                CODE, Verdict.PROVED, subject, assumed=(f"{rule.claim} of `{name}` ({result.name})",)
            )
    return Obligation(
        CODE,
        Verdict.REFUTED,
        subject,
        part="using",
        message=f"the policy requires `{rule.claim}` of `{name}`, and {_why(about, fitting, rule)}",
        term=rule.claim,
        clause=rule.origin,
        reason="the policy requires the claim here",
        help="add the `assurance` record that shows it, choose a component that has one, or change the policy",
    )


def _why(about: list[Record], fitting: list[Record], rule: ClaimRule) -> str:
    if not about:
        return "no assurance record shows it"
    if not fitting:
        return f"the record `{about[0].name}` is about version {text_of(about[0].fields.get('version'))}"
    if _is_refuted(fitting, rule):
        against = next(r.name for r in fitting if _outcome(r) == REFUTED)
        return f"the record `{against}` shows the contrary"
    if any(_accepted(r, rule) for r in fitting):
        return f"the record `{next(r.name for r in fitting if _accepted(r, rule))}` is about other parameters"
    outcomes = ", ".join(sorted({_outcome(r) or "none" for r in fitting}))
    wanted = ", ".join((*(rule.outcomes or SHOWN), *rule.refinements))
    return f"the records end in {outcomes}; accepted are {wanted}"


def _is_refuted(fitting: list[Record], rule: ClaimRule) -> bool:
    """Whether one of the records shows the contrary; then no other one counts."""
    return REFUTED not in rule.outcomes and any(_outcome(record) == REFUTED for record in fitting)


def _accepted(result: Record, rule: ClaimRule) -> bool:
    refinement = next(words(result.fields.get("refinement")), "")
    return _outcome(result) in (rule.outcomes or SHOWN) and (
        not rule.refinements or refinement in rule.refinements
    )


def _outcome(result: Record) -> str:
    return next(words(result.fields.get("outcome")), "")


def _covers(result: Record, key: str, uses: list[Params]) -> bool:
    """Whether the record is about every use: `of: [component(bits: 32)]` is about those with 32 bits only."""
    about = [
        dict(item.named)
        for item in _of(result)
        if isinstance(item, Apply) and item.fn == key and not item.args
    ]
    about += [{} for item in _of(result) if isinstance(item, Ref) and item.name == key]
    return all(any(named.items() <= dict(used).items() for named in about) for used in uses)


def _of(result: Record) -> tuple[Expr, ...]:
    found = result.fields.get("of")
    return found.items if isinstance(found, ListOf) else () if found is None else (found,)


def subjects(result: Record) -> Iterator[str]:
    """Keys of the components that an assurance record is about."""
    for item in _of(result):
        if isinstance(item, Apply):
            yield item.fn
        elif isinstance(item, Ref):
            yield item.name


def text_of(expr: Expr | None) -> str:
    return expr.value if isinstance(expr, Text) else ""
