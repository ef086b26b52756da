"""Parties that no adversary of a policy corrupts. Views are proved of the coalitions that a policy names, so what such a party sees
inside a protocol is looked at by nobody; what it is given on the way and at the end is judged as for all others.

In: a plan under a policy. Out: who takes part in protocols, is in no coalition, and has secrets kept from it; and which.
"""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.records import Policy
from pllm_lang.ir.walk import steps
from pllm_lang.verify.obligation import NotAsked
from pllm_lang.verify.view import PlanView

FAMILY = "adversary"
MAX_NAMED = 4
"""Secrets that are named."""


def unguarded(view: PlanView) -> tuple[NotAsked, ...]:
    """What to say of such parties; nothing where there are none."""
    if view.policy is None:
        return ()
    found = {party: [*_kept_from(party, view, view.policy)] for party in _outside(view, view.policy)}
    parties = [party for party, secrets in found.items() if secrets]
    if not parties:
        return ()
    secrets = list(dict.fromkeys(name for party in parties for name in found[party]))
    named = ", ".join(f"`{name}`" for name in secrets[:MAX_NAMED])
    more = f" and {len(secrets) - MAX_NAMED} more" if len(secrets) > MAX_NAMED else ""
    who = " or ".join(f"`{party}`" for party in parties)
    why = f"no adversary corrupts {who}, so nobody looked at what is seen there of {named}{more} inside protocols"
    return (NotAsked(FAMILY, why),)


def _outside(view: PlanView, policy: Policy) -> list[str]:
    """Parties in a role of some component that are in no coalition, in the order of the policy."""
    corrupted = {party for rule in policy.adversaries if rule.count > 0 for party in rule.among}
    playing = {
        party
        for step in steps(view.plan)
        if step.use is not None and len(step.use.roles) > 1
        for _, party in step.use.roles
    }
    return [party for party in policy.parties if party in playing and party not in corrupted]


def _kept_from(party: str, view: PlanView, policy: Policy) -> Iterator[str]:
    """Inputs of others, and weights that are secret from it, without what the policy lets it learn."""
    allowed = policy.learns.get(party, ())
    staged = (given for stage in view.plan.stages for given in stage.inputs)
    for given in (*view.plan.inputs, *staged):
        place = given.placement
        knows = place.kind == "public" or (place.kind == "party" and party in place.parties)
        if not knows and given.owner != party and _name(given.value, view) not in allowed:
            yield _name(given.value, view)
    for weight in view.plan.weights:
        if party in weight.secret_from and _name(weight.value, view) not in allowed:
            yield _name(weight.value, view)


def _name(value: int, view: PlanView) -> str:
    return view.value_names.get(f"%v{value}", f"%{value}")
