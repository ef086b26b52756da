"""Parties that are assumed not to collude are run by the same people."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.expr import Expr, ListOf, Ref
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.hosting import ExperimentView
from pllm_lang.verify.obligation import Obligation

CODE = "placement.independence"


def check_experiment(view: ExperimentView) -> Iterator[Obligation]:
    """Every pair that the policy calls independent is administered by two; on one machine it is a test only."""
    policy, deployment = view.plan.policy, view.experiment.deployment
    if policy is None or deployment is None:
        return
    admins = dict(deployment.administered_by)
    for group in _groups(policy.fields.get("independent")):
        names = " and ".join(f"`{party}`" for party in group)
        if deployment.kind == "local":
            told = (
                f"{names} do not collude, although one machine runs them (a local deployment is for testing)"
            )
            yield Obligation(CODE, Verdict.PROVED, -1, part=names, assumed=(told,))
            continue
        unknown = [party for party in group if party not in admins]
        shared = [a for a in set(admins.values()) if sum(admins.get(party) == a for party in group) > 1]
        if shared:
            text = f"{names} are assumed not to collude, and `{shared[0]}` administers more than one of them"
            yield Obligation(
                CODE, Verdict.REFUTED, -1, text, names, help="let other people run one of the parties"
            )
        elif unknown:
            text = f"{names} are assumed not to collude, and nothing says who administers `{unknown[0]}`"
            help_ = "write `administered_by: { party: who }` in the deployment"
            yield Obligation(CODE, Verdict.UNPROVED, -1, text, names, help=help_)
        else:
            told = f"{names} do not collude: " + ", ".join(
                f"{party} is run by {admins[party]}" for party in group
            )
            yield Obligation(CODE, Verdict.PROVED, -1, part=names, assumed=(told,))


def _groups(value: Expr | None) -> Iterator[tuple[str, ...]]:
    for item in value.items if isinstance(value, ListOf) else ():
        if isinstance(item, ListOf):
            yield tuple(part.name for part in item.items if isinstance(part, Ref))
