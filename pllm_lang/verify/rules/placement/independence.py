"""Parties that are assumed not to collude are run by the same people."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from pllm_lang.catalog.expr import ListOf, Ref
from pllm_lang.catalog.records import Policy
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.hosting import ExperimentView
from pllm_lang.verify.obligation import Obligation

CODE = "placement.independence"


def check_experiment(view: ExperimentView) -> Iterator[Obligation]:
    """Nobody administers more parties than may be corrupted together; on one machine it is a test only."""
    policy, deployment = view.plan.policy, view.experiment.deployment
    if policy is None or deployment is None:
        return
    admins = dict(deployment.administered_by)
    yield from () if deployment.kind == "local" else _beyond_adversaries(policy, admins)
    for members, together in _groups(policy):
        group = tuple(sorted(members))
        names = " and ".join(f"`{party}`" for party in group)
        if deployment.kind == "local":
            told = (
                f"{names} do not collude, although one machine runs them (a local deployment is for testing)"
            )
            yield Obligation(CODE, Verdict.PROVED, -1, part=names, assumed=(told,))
            continue
        unknown = [party for party in group if party not in admins]
        shared = [
            a
            for a in dict.fromkeys(admins.values())
            if sum(admins.get(party) == a for party in group) > together
        ]
        if shared:
            most = "one" if together == 1 else str(together)
            text = (
                f"{names} are assumed not to collude, and `{shared[0]}` administers more than {most} of them"
            )
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


def _beyond_adversaries(policy: Policy, admins: dict[str, str]) -> Iterator[Obligation]:
    """Whoever runs parties of several adversaries, any two of whom may be corrupted together, and not all of them."""
    corruptible = {party for rule in policy.adversaries for party in rule.among}
    for who in dict.fromkeys(admins.values()):
        own = [party for party in policy.parties if party in corruptible and admins.get(party) == who]
        if len(own) > 2 and not any(
            {*own} <= {*rule.among} and len(own) <= rule.count for rule in policy.adversaries
        ):
            names = " and ".join(f"`{party}`" for party in own)
            text = (
                f"no adversary of `{policy.name}` corrupts {names} together, and `{who}` administers them all"
            )
            help_ = "let other people run one of the parties, or state an adversary that corrupts them all"
            yield Obligation(CODE, Verdict.REFUTED, -1, text, names, help=help_)


def _groups(policy: Policy) -> Iterator[tuple[tuple[str, ...], int]]:
    """Parties, and how many of them one administrator may run: as the policy says, and as its adversaries imply."""
    stated = policy.fields.get("independent")
    lists = (
        [item.items for item in stated.items if isinstance(item, ListOf)]
        if isinstance(stated, ListOf)
        else []
    )
    groups = [tuple(part.name for part in items if isinstance(part, Ref)) for items in lists]
    yield from ((group, 1) for group in groups)
    for rule in policy.adversaries:
        said = all(any({*pair} <= {*group} for group in groups) for pair in combinations(rule.among, 2))
        if rule.count < len(rule.among) and not said:
            yield rule.among, rule.count
    amongs = [*groups, *(rule.among for rule in policy.adversaries)]
    for pair in combinations(dict.fromkeys(p for rule in policy.adversaries for p in rule.among), 2):
        if not any({*pair} <= {*among} for among in amongs):  # the views of both together are never looked at
            yield pair, 1
