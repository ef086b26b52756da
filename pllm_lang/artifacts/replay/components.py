"""Replay: what the policy and its own record say against a component that is used.

In: a plan that was walked. Every step's component, and every other component of the pipeline, has no property that the policy
forbids, is of a version that it accepts, is as secure as it asks, and has no known defect in this version. Out: the obligations
met; ReplayError where one is not.
"""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay import terms as t
from pllm_lang.artifacts.replay.kernels import defects_of, is_elsewhere, words
from pllm_lang.artifacts.replay.refusal import need
from pllm_lang.artifacts.replay.releases import admits
from pllm_lang.artifacts.replay.terms import Names
from pllm_lang.artifacts.replay.walked import Found, Walked, component_at
from pllm_lang.catalog.expr import MapOf, Text
from pllm_lang.catalog.records import Component, Policy


def judged_components(walked: Walked) -> set[Found]:
    """Of steps about the first result, of other components of the pipeline by their slot."""
    documents = walked.lock.documents
    found: set[Found] = set()
    alike: dict[int, tuple[str, ...]] = {}
    for step, judged in walked.ran:
        component = judged.said.component
        if component is not None and id(judged) not in alike:
            alike[id(judged)] = tuple(_judged(component, judged.names, documents.policy))
        found |= {(code, step.results[0], "") for code in alike.get(id(judged), ())}
    for slot, use in () if documents.experiment is None else documents.experiment.slots:
        component = component_at(walked, use.key)
        if component.kind != "method":
            names = t.bound(Names(), [spec.name for spec in component.params], use.params)
            found |= {(code, -1, slot) for code in _judged(component, names, documents.policy)}
    return found


def _judged(component: Component, names: Names, policy: Policy | None) -> Iterator[str]:
    for defect in defects_of(component.fields):
        if "feature" not in defect:
            elsewhere = is_elsewhere(component.version, defect, names)
            _need(elsewhere, component, f"{component.version} has a known defect")
            yield "versions.defect"
    if policy is not None:
        yield from _forbidden(component, policy)
        yield from _version(component, policy)
        yield from _level(component, names, policy)


def _need(holds: object, component: Component, text: str) -> None:
    need(holds, "certificate.policy", f"`{component.name}` {text}")


def _forbidden(component: Component, policy: Policy) -> Iterator[str]:
    forbidden = set(words(component.fields.get("properties"))) & set(policy.forbids)
    _need(not forbidden, component, f"is {min(forbidden, default='')}, which the policy forbids")
    if policy.forbids:
        yield "assurance.forbidden_property"


def _version(component: Component, policy: Policy) -> Iterator[str]:
    wanted = policy.fields.get("versions")
    for name, value in wanted.entries if isinstance(wanted, MapOf) else ():
        if name in (component.id, component.name) and isinstance(value, Text):
            accepted = admits(component.version, value.value)
            _need(accepted, component, f"{component.version} is not shown to be {value.value}")
            yield "versions.not_accepted"


def _level(component: Component, names: Names, policy: Policy) -> Iterator[str]:
    """Each level that the record states, where the policy asks one of this sort."""
    for sort, level in component.security.entries if isinstance(component.security, MapOf) else ():
        if sort in policy.security:
            found = t.value(level, names)
            known = None if found is None else found.range
            enough = known is not None and known[0] >= n.number(policy.security[sort])
            _need(enough, component, f"has less {sort} security than the policy asks")
            yield "versions.security_level"
