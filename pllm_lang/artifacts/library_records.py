"""Whether the records and the policy of a lock are those of the library that is installed here.

A lock brings its own copy of every record that it names, so whoever makes a lock may write `std.operators.linear` over
another meaning and work all digests out again. Here each is held against the library's. Loads no verifier.
"""

from __future__ import annotations

from collections.abc import Mapping

from pllm_lang.artifacts.lock_data import Filed
from pllm_lang.artifacts.lock_documents import digest, document
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.policies import effective
from pllm_lang.catalog.records import AnyRecord, Component, Holding, Kernel, Operator, Record

SHIPPED = "std."


def filed(record: AnyRecord) -> Filed | None:
    """A record as a lock holds it, under the word for its kind; None for a format or policy, which are held elsewhere."""
    match record:
        case Operator():
            return Filed(operator=record)
        case Component():
            return Filed(component=record)
        case Holding():
            return Filed(holding=record)
        case Kernel():
            return Filed(kernel=record)
        case Record():
            return Filed(record=record)
        case _:
            return None


def own_records(records: Mapping[str, str], policy: str) -> tuple[str, ...]:
    """What the plan brings itself: nothing vouches for it but its text."""
    every = (*records, *((policy,) if policy else ()))
    return tuple(sorted(key for key in every if not key.startswith(SHIPPED)))


def altered_records(
    records: Mapping[str, str], policy: str, policy_digest: str, library: Library
) -> tuple[str, ...]:
    """Records and policy that are named like the library's and are not; `records` are digests by key."""
    found: list[str] = []
    for key, stated in records.items():
        if key.startswith(SHIPPED):
            record = library.get(key)
            held = None if record is None else filed(record)
            if held is None or digest("record", [key, document(held)]) != stated:
                found.append(key)
    if policy.startswith(SHIPPED) and digest("policy", document(effective(policy, library))) != policy_digest:
        found.append(policy)
    return tuple(sorted(found))
