"""Two policies compared by what they ask of components and administrators, and of the chance and size of errors.

In: two policies. Out: what differs, as `(aspect, what, before, after, weaker)`. A claim that accepts more outcomes or refinements is
weaker; so is another set of accepted versions, since ranges of versions are not compared, a group of parties that need no
longer be independent, and a budget of failures or errors that is larger or gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pllm_lang.catalog.closed import closed_value
from pllm_lang.catalog.expr import Expr, ListOf, MapOf, Ref, Text
from pllm_lang.catalog.records import ClaimRule, Policy
from pllm_lang.verify.numbers import log2_text

Told = tuple[Literal["privacy", "bounds", "versions"], str, str, str, bool]
NONE = "none"
ANY = "any"
BUDGETS = ("failure_budget", "error_budget")


def policies(a: Policy, b: Policy) -> Iterator[Told]:
    yield from _claims(a, b)
    yield from _versions(a, b)
    yield from _groups(a, b)
    yield from _budgets(a, b)


def _claims(a: Policy, b: Policy) -> Iterator[Told]:
    old, new = {rule.claim: rule for rule in a.claims}, {rule.claim: rule for rule in b.claims}
    for claim in sorted(old.keys() | new.keys()):
        before, after = old.get(claim), new.get(claim)
        if _asked(before) != _asked(after):
            looser = before is not None and (after is None or _accepts_more(after, before))
            yield "privacy", f'claim "{claim}" that is required', _asked(before), _asked(after), looser


def _asked(rule: ClaimRule | None) -> str:
    if rule is None:
        return NONE
    refined = f" of {', '.join(sorted(rule.refinements))}" if rule.refinements else ""
    return (", ".join(sorted(rule.outcomes)) or ANY) + refined


def _accepts_more(new: ClaimRule, old: ClaimRule) -> bool:
    pairs = ((new.outcomes, old.outcomes), (new.refinements, old.refinements))
    return any(bool(was) and (not now or not set(now) <= set(was)) for now, was in pairs)


def _versions(a: Policy, b: Policy) -> Iterator[Told]:
    old, new = _accepted(a.fields.get("versions")), _accepted(b.fields.get("versions"))
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name, ANY), new.get(name, ANY)
        if before != after:
            yield "versions", f"versions of `{name}` that are accepted", before, after, before != ANY


def _accepted(versions: Expr | None) -> dict[str, str]:
    entries = versions.entries if isinstance(versions, MapOf) else ()
    return {name: value.value for name, value in entries if isinstance(value, Text)}


def _groups(a: Policy, b: Policy) -> Iterator[Told]:
    old, new = _apart(a.fields.get("independent")), _apart(b.fields.get("independent"))
    for group in sorted(old ^ new):
        before, after = (group, NONE) if group in old else (NONE, group)
        yield "privacy", "who has to be independent", before, after, group in old


def _apart(groups: Expr | None) -> set[str]:
    lists = groups.items if isinstance(groups, ListOf) else ()
    found = (
        [one.name for one in group.items if isinstance(one, Ref)]
        for group in lists
        if isinstance(group, ListOf)
    )
    return {" and ".join(sorted(names)) for names in found}


def _budgets(a: Policy, b: Policy) -> Iterator[Told]:
    for name in BUDGETS:
        old, new = closed_value(a.fields.get(name)), closed_value(b.fields.get(name))
        if old != new:
            before, after = (NONE if one is None else log2_text(one) if one else "0" for one in (old, new))
            larger = old is not None and (new is None or new > old)
            yield "bounds", f"{name.replace('_', ' ')} of the policy", before, after, larger
