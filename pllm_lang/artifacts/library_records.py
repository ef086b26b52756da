"""A lock proved again beside the library that is installed here: what the command calls.

A lock brings its own copy of every record that it names, so whoever makes a lock may write `std.operators.linear` over
another meaning and work all digests out again, or leave out a kernel or a record against a component. Here all that is called
`std...` is held against the library. Loads no verifier.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pllm_lang.artifacts.filing import filed
from pllm_lang.artifacts.lock_documents import digest, document
from pllm_lang.artifacts.replay.lock import Replayed, replay
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.catalog.expr import Apply, Expr, ListOf, Ref
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.module_digest import module_digest
from pllm_lang.catalog.policies import effective
from pllm_lang.catalog.records import Kernel, Record
from pllm_lang.resolve.modules import Project

SHIPPED = "std."
NOTHING = Project("", (), {}, ())


def replay_here(data: bytes, library: Library) -> Replayed:
    """Raises ReplayError for a lock that proves nothing, or in which something called `std...` is not `library`'s."""
    done = replay(data)
    altered = altered_records(done, library)
    if altered:
        named = ", ".join(f"`{key}`" for key in altered[:5])
        raise ReplayError("lock.library", f"not as the library that is installed here has it: {named}")
    return done


def own_records(records: Mapping[str, str], policy: str) -> tuple[str, ...]:
    """What the plan brings itself: nothing vouches for it but its text."""
    every = (*records, *((policy,) if policy else ()))
    return tuple(sorted(key for key in every if not key.startswith(SHIPPED)))


def altered_records(done: Replayed, library: Library) -> tuple[str, ...]:
    """Records, modules and policy that are named like the library's and are not, and what of it the lock leaves out."""
    found = {
        key
        for key, stated in done.records.items()
        if key.startswith(SHIPPED) and not _is(key, stated, library)
    }
    for name, stated in done.modules.items():
        if name.startswith(SHIPPED) and module_digest(name, NOTHING, library) != stated:
            found.add(name)
    policy = done.policy
    if (
        policy.startswith(SHIPPED)
        and digest("policy", document(effective(policy, library))) != done.policy_digest
    ):
        found.add(policy)
    return tuple(sorted(found | set(_left_out(done, library))))


def _is(key: str, stated: str, library: Library) -> bool:
    record = library.get(key)
    held = None if record is None else filed(record)
    return held is not None and digest("record", [key, document(held)]) == stated


def _left_out(done: Replayed, library: Library) -> Iterator[str]:
    """Kernels of a backend in the lock; where claims are required, what the library knows of components in it."""
    kinds = ["kernel"] if done.on_machines else []
    kinds += ["assurance"] if "assurance.missing" in done.shown else []
    for key in (key for kind in kinds for key in library.keys(kind) if key not in done.records):
        record = library.get(key)
        field = "backend" if isinstance(record, Kernel) else "of"
        about = set(_named(record.fields.get(field))) if isinstance(record, Kernel | Record) else set[str]()
        if key.startswith(SHIPPED) and about & done.records.keys():
            yield key


def _named(expr: Expr | None) -> Iterator[str]:
    for item in expr.items if isinstance(expr, ListOf) else (expr,):
        if isinstance(item, Ref | Apply):
            yield item.name if isinstance(item, Ref) else item.fn
