"""Replay of an experiment: parties that are assumed not to collude are run by different people.

In: a lock. The groups are those that the policy calls independent, and those of its adversaries in which not everybody may be
corrupted together. Out: the obligations met, each with what it takes for granted in `walked.told`; ReplayError where one
administrator runs more of a group than may collude. That different administrators do not collude is the assumption.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from pllm_lang.artifacts.replay.refusal import need, told
from pllm_lang.artifacts.replay.walked import Found, Walked
from pllm_lang.catalog.expr import ListOf, Ref
from pllm_lang.catalog.records import Policy
from pllm_lang.ir.experiment import Deployment

CODE = "placement.independence"


def independent(walked: Walked) -> set[Found]:
    """Nothing for a plan by itself, nor where no deployment is named."""
    policy, experiment = walked.lock.documents.policy, walked.lock.documents.experiment
    if policy is None or experiment is None or experiment.deployment is None:
        return set()
    if experiment.deployment.kind != "local":
        _within_adversaries(policy, experiment.deployment)
    found: set[Found] = set()
    for members, together in _groups(policy):
        group = tuple(sorted(members))
        names = " and ".join(f"`{party}`" for party in group)
        by = _said(group, together, names, experiment.deployment)
        walked.told.add((CODE, -1, f"{names} do not collude{by}"))
        found.add((CODE, -1, names))
    return found


def _said(group: tuple[str, ...], together: int, names: str, deployment: Deployment) -> str:
    if deployment.kind == "local":
        return ", although one machine runs them (a local deployment is for testing)"
    admins = dict(deployment.administered_by)
    known = len(admins) == len(deployment.administered_by) and all(admins.get(party) for party in group)
    text = f"nothing says who administers {names}, who are assumed not to collude"
    need(known, "certificate.policy", text)
    own = [admins[party] for party in group]
    text = f"{names} are assumed not to collude, and one administers several of them"
    need(all(own.count(admin) <= together for admin in own), "certificate.policy", text)
    return ": " + ", ".join(f"{party} is run by {admins[party]}" for party in group)


def _groups(policy: Policy) -> Iterator[tuple[tuple[str, ...], int]]:
    """Parties, and how many of them one administrator may run."""
    stated = policy.fields.get("independent")
    lists = [one for one in stated.items if isinstance(one, ListOf)] if isinstance(stated, ListOf) else []
    groups = [tuple(part.name for part in one.items if isinstance(part, Ref)) for one in lists]
    yield from ((group, 1) for group in groups)
    for rule in policy.adversaries:
        apart = all(any({*pair} <= {*group} for group in groups) for pair in combinations(rule.among, 2))
        if rule.count < len(rule.among) and not apart:
            yield rule.among, rule.count
    looked_at = [*groups, *(rule.among for rule in policy.adversaries)]
    corruptible = dict.fromkeys(party for rule in policy.adversaries for party in rule.among)
    for pair in combinations(corruptible, 2):
        if not any({*pair} <= {*among} for among in looked_at):
            yield pair, 1


def _within_adversaries(policy: Policy, deployment: Deployment) -> None:
    """All that one administrator runs of the parties that may be corrupted may be corrupted together, unless they are two:
    these are a pair of their own."""
    corruptible = {party for rule in policy.adversaries for party in rule.among}
    for who in {admin for _, admin in deployment.administered_by}:
        own = {party for party, admin in deployment.administered_by if admin == who} & corruptible
        covered = any(own <= {*rule.among} and len(own) <= rule.count for rule in policy.adversaries)
        text = f"`{who}` administers {told(own)}, whom no adversary corrupts together"
        need(len(own) <= 2 or covered, "certificate.policy", text)
