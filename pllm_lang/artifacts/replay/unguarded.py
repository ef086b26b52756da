"""Parties of a lock that no adversary of its policy corrupts: no coalition's view holds what they see inside protocols.

In: a lock. Out: those of them that play a role beside others, while an input of somebody else or a weight is secret from them.
"""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.artifacts.lock_data import Lock
from pllm_lang.catalog.records import Policy
from pllm_lang.ir.plan import Input, Plan


def unguarded(lock: Lock) -> Iterator[str]:
    """In the order of the policy."""
    policy, plan = lock.documents.policy, lock.documents.ir
    if policy is None:
        return
    guarded = {one for rule in policy.adversaries if rule.count for one in rule.among}
    runs = [use.roles for program in lock.documents.programs for use in program.runs]
    players = {party for roles in runs if len(roles) > 1 for _, party in roles}
    for party in policy.parties:
        if party in players and party not in guarded and _has_secrets_from(party, plan, policy, lock):
            yield party


def _has_secrets_from(party: str, plan: Plan, policy: Policy, lock: Lock) -> bool:
    learnt = set(policy.learns.get(party, ()))
    given = [*plan.inputs, *(one for stage in plan.stages for one in stage.inputs)]
    kept = [one.value for one in given if not _knows(party, one)]
    kept += [one.value for one in plan.weights if party in one.secret_from]
    return any(lock.documents.names.get(str(value)) not in learnt for value in kept)


def _knows(party: str, one: Input) -> bool:
    place = one.placement
    return one.owner == party or place.kind == "public" or (place.kind == "party" and party in place.parties)
