"""A claim that the policy requires is not met by any assurance record."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.expr import Apply, Expr, Ref, Text
from pllm_lang.catalog.policies import SHOWN
from pllm_lang.catalog.records import ClaimRule, Record
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.flow import Flow
from pllm_lang.verify.hosting import words
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.view import PlanView

CODE = "assurance.missing"
REFUTED = "refuted"


def check_plan(plan: PlanView, flow: Flow) -> Iterator[Obligation]:
    """Every required claim is met for every protected component of the plan, by a record about that component."""
    if plan.policy is None or not plan.policy.claims:
        return
    results = [r for r in map(plan.library.get, plan.library.keys("assurance")) if isinstance(r, Record)]
    for key, subject in _components(flow).items():
        for rule in plan.policy.claims:
            yield _judge(plan, key, subject, rule, results)


def _components(flow: Flow) -> dict[str, int]:
    """Components that the plan names with `using`, with the first value that each makes."""
    found: dict[str, int] = {}
    for met in flow.met:
        if met.step.use is not None and met.step.results:
            found.setdefault(met.step.use.key, met.step.results[0])
    return found


def _judge(plan: PlanView, key: str, subject: int, rule: ClaimRule, results: list[Record]) -> Obligation:
    component = plan.library.component(key)
    name = key.rsplit(".", 1)[-1]
    about = [r for r in results if text_of(r.fields.get("claim")) == rule.claim and key in set(subjects(r))]
    fitting = [
        r for r in about if component is None or text_of(r.fields.get("version")) in ("", component.version)
    ]
    for result in () if _is_refuted(fitting, rule) else fitting:
        if _accepted(result, rule):
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


def subjects(result: Record) -> Iterator[str]:
    """Keys of the components that an assurance record is about."""
    found = result.fields.get("of")
    for item in getattr(found, "items", () if found is None else (found,)):
        if isinstance(item, Apply):
            yield item.fn
        elif isinstance(item, Ref):
            yield item.name


def text_of(expr: Expr | None) -> str:
    return expr.value if isinstance(expr, Text) else ""
