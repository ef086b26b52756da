"""Two locks of which a part has another digest and the same meaning: orders of lists that are sets, and names.

In: two locks, and which part. Out: whether they say the same there. What a record says is compared elsewhere, by its key.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from pllm_lang.artifacts.lock_data import Lock
from pllm_lang.catalog.expr import Expr, ListOf, MapOf
from pllm_lang.catalog.records import Policy
from pllm_lang.ir.canonical import canonical_bytes
from pllm_lang.ir.experiment import Experiment


def is_same(what: str, first: Lock, second: Lock) -> bool:
    """Of the `plan`, the `policy` or the `experiment`."""
    if first.digests.records.keys() != second.digests.records.keys():
        return False
    a, b = first.documents, second.documents
    if what == "plan":
        return canonical_bytes(replace(a.ir, policy="")) == canonical_bytes(replace(b.ir, policy=""))
    if what == "policy":
        return a.policy is not None and b.policy is not None and _policy(a.policy) == _policy(b.policy)
    if a.experiment is None or b.experiment is None:
        return False
    return _experiment(a.experiment) == _experiment(b.experiment)


def _policy(policy: Policy) -> Policy:
    """Without its names, every list that is a set sorted."""
    return replace(
        policy,
        name="",
        module="",
        tightens="",
        parties=_sorted(policy.parties),
        adversaries=_sorted(replace(rule, among=_sorted(rule.among)) for rule in policy.adversaries),
        learns={party: _sorted(words) for party, words in policy.learns.items()},
        claims=_sorted(
            replace(rule, outcomes=_sorted(rule.outcomes), refinements=_sorted(rule.refinements))
            for rule in policy.claims
        ),
        forbids=_sorted(policy.forbids),
        fields={name: _value(value) for name, value in policy.fields.items()},
    )


def _value(value: Expr) -> Expr:
    """Lists and maps among a policy's fields are sets."""
    if isinstance(value, ListOf):
        return ListOf(_sorted(map(_value, value.items)))
    if isinstance(value, MapOf):
        return MapOf(_sorted((name, _value(one)) for name, one in value.entries))
    return value


def _experiment(experiment: Experiment) -> Experiment:
    deployment = experiment.deployment
    if deployment is not None:
        hosts, run_by = _sorted(deployment.hosts), _sorted(deployment.administered_by)
        deployment = replace(deployment, hosts=hosts, administered_by=run_by)
    return replace(experiment, policy="", budget=_sorted(experiment.budget), deployment=deployment)


def _sorted(items: Any) -> Any:
    return tuple(sorted(set(items), key=repr))
