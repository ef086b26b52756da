"""`policy b tightens a`: what b inherits, and that it loosens nothing.

A policy that tightens takes over all of the other; what it states itself may only be stricter.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import msgspec

from pllm_lang.catalog.closed import closed_value
from pllm_lang.catalog.expr import ListOf, MapOf
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import AdversaryRule, AnyRecord, ClaimRule, Policy
from pllm_lang.catalog.walk import names_in
from pllm_lang.text.finding import Finding, Span

_STRENGTH = {"semi_honest": 0, "covert": 1, "malicious": 2}
_BUDGETS = ("failure_budget", "error_budget")
UNSTATED = {"statistical": "40"}
"""Bits of security that a policy asks where it says none."""
SHOWN = ("proved", "proved_in_model", "tested", "reviewed")
"""Outcomes that a claim without outcomes of its own accepts: of the others, one shows the contrary and one nothing."""


def check_tightening(records: Mapping[str, AnyRecord], library: Library) -> list[Finding]:
    """`policies.loosened` for every policy of a project that weakens what it says it tightens."""
    findings: list[Finding] = []
    for key, record in records.items():
        if not isinstance(record, Policy) or not record.tightens:
            continue
        span = Span(record.origin.file, record.origin.start, record.origin.end)
        if key in ancestry(record, library):
            findings.append(
                Finding(
                    "names.cycle", f"`{record.name}` tightens itself", span, help="tighten another policy"
                )
            )
            continue
        base = effective(record.tightens, library)
        for what in loosened(base, record) if base else ():
            message = f"`{record.name}` says that it tightens `{base.name if base else ''}`, but {what}"
            findings.append(
                Finding(
                    "policies.loosened",
                    message,
                    span,
                    help="remove it, or declare a policy that tightens nothing",
                )
            )
    return findings


def ancestry(policy: Policy, library: Library) -> list[str]:
    """Keys of the policies that a policy tightens, nearest first; ends where it comes round."""
    keys: list[str] = []
    while policy.tightens and policy.tightens not in keys:
        keys.append(policy.tightens)
        found = library.policy(policy.tightens)
        if found is None:
            break
        policy = found
    return keys


def effective(key: str, library: Library) -> Policy | None:
    """The policy under `key` with all that it inherits."""
    policy = library.policy(key)
    if policy is None:
        return None
    for parent in ancestry(policy, library):
        above = library.policy(parent)
        policy = inherit(above, policy) if above is not None and parent != key else policy
    return policy


def inherit(base: Policy, policy: Policy) -> Policy:
    """`policy` with what only `base` states."""
    return msgspec.structs.replace(
        policy,
        parties=policy.parties or base.parties,
        adversaries=policy.adversaries or base.adversaries,
        learns={**base.learns, **policy.learns},
        claims=_joined_claims(base.claims, policy.claims),
        forbids=tuple(dict.fromkeys((*base.forbids, *policy.forbids))),
        security={**base.security, **policy.security},
        fields={**base.fields, **policy.fields},
    )


def loosened(base: Policy, policy: Policy) -> list[str]:
    """In words, everything that `policy` states more weakly than `base`."""
    found: list[str] = []
    missing = [p for p in base.parties if policy.parties and p not in policy.parties]
    added = [p for p in policy.parties if p not in base.parties]
    if missing or added:
        found.append(
            "it has other parties: "
            + ", ".join([*(f"without {p}" for p in missing), *(f"with {p}" for p in added)])
        )
    for party, learnt in policy.learns.items():
        more = [w for w in learnt if w not in base.learns.get(party, ())]
        if more:
            found.append(f"`{party}` may learn {', '.join(more)} as well")
    if policy.adversaries:
        found += [
            _adversary_text(rule)
            for rule in base.adversaries
            if not any(_covers(new, rule) for new in policy.adversaries)
        ]
    for sort, bits in policy.security.items():
        asked = base.security.get(sort, UNSTATED.get(sort, "0"))
        if _number(bits) < _number(asked):
            found.append(f"it asks for {bits} bits of {sort} security instead of {asked}")
    for name in _BUDGETS:
        new, old = closed_value(policy.fields.get(name)), closed_value(base.fields.get(name))
        if old is not None and name in policy.fields and (new is None or new > old):
            found.append(f"its `{name}` is {new or 'unknown'} instead of {old}")
    apart = (
        [group for group in _groups(base) if group not in _groups(policy)]
        if "independent" in policy.fields
        else []
    )
    found += [f"[{', '.join(sorted(group))}] need not be independent" for group in apart]
    found += _versions_loosened(base, policy)
    for claim in policy.claims:
        found += _claim_loosened(claim, [c for c in base.claims if c.claim == claim.claim])
    return found


def _versions_loosened(base: Policy, policy: Policy) -> list[str]:
    """Accepted versions may be stated for more components, never otherwise for one: ranges are not compared."""
    old, new = base.fields.get("versions"), policy.fields.get("versions")
    if not isinstance(old, MapOf) or new is None:
        return []
    stated = dict(new.entries) if isinstance(new, MapOf) else {}
    return [
        f"it accepts other versions of `{name}`" for name, value in old.entries if stated.get(name) != value
    ]


def _groups(policy: Policy) -> list[frozenset[str]]:
    """The groups of parties that nobody may administer together."""
    listed = policy.fields.get("independent")
    groups = listed.items if isinstance(listed, ListOf) else ()
    return [frozenset(names_in(group)) for group in groups]


def _covers(new: AdversaryRule, old: AdversaryRule) -> bool:
    """Whether every coalition that `old` allows is allowed by `new`, behaving at least as badly."""
    return (
        _STRENGTH.get(new.kind, -1) >= _STRENGTH.get(old.kind, 3)
        and set(old.among) <= set(new.among)
        and new.count >= min(old.count, len(old.among))
    )


def _adversary_text(rule: AdversaryRule) -> str:
    return f"no adversary of it covers `{rule.kind} corrupts {rule.count} of [{', '.join(rule.among)}]`"


def _claim_loosened(claim: ClaimRule, older: list[ClaimRule]) -> list[str]:
    found: list[str] = []
    for old in older:
        for name, usual in (("outcomes", SHOWN), ("refinements", ())):
            new_list, old_list = getattr(claim, name) or usual, getattr(old, name) or usual
            more = [w for w in new_list if w not in old_list] if old_list else []
            if more or (old_list and not new_list):
                found.append(
                    f'it accepts other {name} of the claim "{claim.claim}": {", ".join(more) or "any"}'
                )
    return found


def _joined_claims(base: tuple[ClaimRule, ...], own: tuple[ClaimRule, ...]) -> tuple[ClaimRule, ...]:
    restated = {claim.claim for claim in own}
    return (*(claim for claim in base if claim.claim not in restated), *own)


def _number(text: str) -> Fraction:
    try:
        return Fraction(text)
    except ValueError:
        return Fraction(0)
