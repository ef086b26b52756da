"""Two locks compared by what they mean: what became less private, less exact, more costly, or another version.

In: two locks. Out: the changes, each with the aspect that it is of and whether the second is weaker there. Names of values,
layout and the order of statements are no changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Literal

import msgspec

from pllm_lang.artifacts.diff_experiment import experiments
from pllm_lang.artifacts.diff_holders import holders
from pllm_lang.artifacts.diff_levels import levels
from pllm_lang.artifacts.diff_policy import policies
from pllm_lang.artifacts.diff_promises import promises
from pllm_lang.artifacts.diff_same import is_same
from pllm_lang.artifacts.lock_data import Lock, Program
from pllm_lang.catalog.records import Policy
from pllm_lang.exact.number import exact
from pllm_lang.ir.walk import steps
from pllm_lang.text.json_text import json_text
from pllm_lang.text.visible import visible
from pllm_lang.verify.numbers import log2_text, shown
from pllm_lang.verify.protocol.composed_cost import cost_of_composition
from pllm_lang.verify.protocol.inlining import Composition, Instance
from pllm_lang.verify.releases import compare_versions

SCHEMA = "pllm.lang.diff.v1"
Aspect = Literal["privacy", "bounds", "cost", "versions"]
ASPECTS: tuple[Aspect, ...] = ("privacy", "bounds", "cost", "versions")
NONE = "none"
UNKNOWN = "unknown"


class Change(msgspec.Struct, frozen=True):
    """`before` and `after` as text; `weaker`: the second says or holds less than the first."""

    aspect: Aspect
    what: str
    before: str
    after: str
    weaker: bool


def compare(first: Lock, second: Lock) -> tuple[Change, ...]:
    """What differs; where two locks are not about the same and nothing below tells why, that is told as well."""
    return _told(first, second) or tuple(_otherwise(first, second))


def _told(first: Lock, second: Lock) -> tuple[Change, ...]:
    return (
        *_privacy(first, second),
        *_taken(first, second),
        *(Change(*told) for told in levels(first, second)),
        *_bounds(first, second),
        *(Change(*told) for told in promises(first, second)),
        *(Change(*told) for told in holders(first, second)),
        *_cost(first, second),
        *(Change(*told) for told in experiments(first, second)),
        *_versions(first, second),
    )


# ---- privacy ----
def _privacy(first: Lock, second: Lock) -> Iterator[Change]:
    a, b = first.documents.policy, second.documents.policy
    if a is None or b is None:
        if a is not b:
            yield Change("privacy", "policy", _named(a), _named(b), b is None)
        return
    yield from _corrupted(a, b)
    for party in dict.fromkeys((*a.learns, *b.learns)):
        old, new = set(a.learns.get(party, ())), set(b.learns.get(party, ()))
        yield from _sets(f"what `{party}` may learn", old, new, more_is_weaker=True)
    yield from _sets("what components may not be", set(a.forbids), set(b.forbids), more_is_weaker=False)
    yield from (Change(*told) for told in policies(a, b))
    for sort in dict.fromkeys((*a.security, *b.security)):
        old, new = a.security.get(sort), b.security.get(sort)
        if old != new:
            lower = old is not None and (new is None or exact(new) < exact(old))
            yield Change("privacy", f"{sort} security", _bits(old), _bits(new), lower)


def _taken(first: Lock, second: Lock) -> Iterator[Change]:
    """What both rest on and what they show, under a policy or none."""
    old, new = set(first.documents.certificate.assumed), set(second.documents.certificate.assumed)
    yield from _sets("what is assumed", old, new, more_is_weaker=True)
    yield from _sets("what components reveal", _reveals(first), _reveals(second), more_is_weaker=True)


def _named(policy: Policy | None) -> str:
    return NONE if policy is None else policy.name


def _bits(level: str | None) -> str:
    return NONE if level is None else f"{level} bits"


def _corrupted(a: Policy, b: Policy) -> Iterator[Change]:
    """Coalitions that the proof speaks of: fewer of them is less that is proved."""
    old, new = _coalitions(a), _coalitions(b)
    for kind in dict.fromkeys((*old, *new)):
        what = f"proved against {kind.replace('_', '-')}"
        yield from _sets(what, old.get(kind, set()), new.get(kind, set()), more_is_weaker=False)


def _coalitions(policy: Policy) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for rule in policy.adversaries:
        for size in range(1, min(rule.count, len(rule.among)) + 1):
            names = (" and ".join(sorted(one)) for one in combinations(rule.among, size))
            found.setdefault(rule.kind, set()).update(names)
    return found


def _reveals(lock: Lock) -> set[str]:
    found: set[str] = set()
    for key, filed in lock.documents.records.items():
        names = () if filed.component is None else filed.component.reveals
        found |= {f"{name} ({key.rpartition('.')[2]})" for name in names}
    return found


def _sets(
    what: str, old: set[str], new: set[str], *, more_is_weaker: bool, aspect: Aspect = "privacy"
) -> Iterator[Change]:
    for one in sorted(new - old):
        yield Change(aspect, what, NONE, one, more_is_weaker)
    for one in sorted(old - new):
        yield Change(aspect, what, one, NONE, not more_is_weaker)


# ---- bounds ----
def _bounds(first: Lock, second: Lock) -> Iterator[Change]:
    old, new = _ranges(first), _ranges(second)
    for name in old.keys() & new.keys():
        if old[name] != new[name]:
            wider = _wider(new[name], old[name])
            yield Change(
                "bounds", f"range of output `{name}`", _interval(old[name]), _interval(new[name]), wider
            )
    for name in sorted(first.output_errors.keys() & second.output_errors.keys()):
        yield from _worse(f"error of output `{name}`", first.output_errors[name], second.output_errors[name])
    yield from _worse("chance of a wrong run", first.failure, second.failure)
    for side, a, b in (
        ("input", first.input_shapes, second.input_shapes),
        ("output", first.output_shapes, second.output_shapes),
    ):
        yield from _shapes(side, a, b)


Ends = tuple[Fraction, Fraction] | None


def _ranges(lock: Lock) -> dict[str, Ends]:
    """The union of what is stated of each output, over all turns."""
    plan, names = lock.documents.ir, lock.documents.names
    every = list(steps(plan))
    stated: dict[int, list[Ends]] = {}
    for met in lock.documents.certificate.met:
        for value, row in zip(every[met.step].results, met.results, strict=True):
            ends = None if not row.low else (Fraction(row.low), Fraction(row.high))
            stated.setdefault(value, []).append(ends)
    found: dict[str, Ends] = {}
    for stage in plan.stages:
        for one in stage.outputs:
            rows = stated.get(one.value, [None])
            known = [row for row in rows if row is not None]
            name = (f"{stage.name}." if stage.name else "") + names.get(str(one.value), f"v{one.value}")
            found[name] = (
                (min(x for x, _ in known), max(x for _, x in known)) if len(known) == len(rows) else None
            )
    return dict(sorted(found.items()))


def _wider(new: Ends, old: Ends) -> bool:
    return old is not None and (new is None or new[0] < old[0] or new[1] > old[1])


def _interval(ends: Ends) -> str:
    return UNKNOWN if ends is None else f"[{shown(_plain(ends[0]))}, {shown(_plain(ends[1]))}]"


def _plain(value: Fraction) -> int | Fraction:
    return value.numerator if value.denominator == 1 else value


def _worse(what: str, old: str, new: str) -> Iterator[Change]:
    if old != new:
        larger = bool(old) and (not new or exact(new) > exact(old))
        yield Change("bounds", what, _size(old), _size(new), larger)


def _size(text: str) -> str:
    value = exact(text) if text else None
    return UNKNOWN if value is None else "0" if value == 0 else f"at most {log2_text(value)}"


def _shapes(
    side: str, old: Mapping[str, tuple[int, ...]], new: Mapping[str, tuple[int, ...]]
) -> Iterator[Change]:
    for name in sorted(old.keys() | new.keys()):
        a, b = old.get(name), new.get(name)
        if a != b:
            yield Change("bounds", f"shape of {side} `{name}`", _shape(a), _shape(b), b is None)


def _shape(shape: tuple[int, ...] | None) -> str:
    return NONE if shape is None else "[" + ", ".join(map(str, shape)) + "]"


# ---- cost ----
def _cost(first: Lock, second: Lock) -> Iterator[Change]:
    old, new = dict(_amounts(first)), dict(_amounts(second))
    for what in dict.fromkeys((*old, *new)):
        a, b = old.get(what, 0), new.get(what, 0)
        if a != b:
            yield Change("cost", what, str(a), str(b), b > a)


def _amounts(lock: Lock) -> Iterator[tuple[str, int]]:
    """Bytes by link and phase, rounds and material of one run of each stage."""
    for program in lock.documents.programs:
        cost = cost_of_composition(_composition(lock, program), [use.times for use in program.runs])
        stage = f"stage {program.stage}: " if program.stage else ""
        for link in cost.links:
            size = -(-_count(link.bits) // 8)
            yield f"{stage}{link.phase} bytes {link.sender} -> {link.receiver}", size
        for phase, rounds in cost.rounds:
            yield f"{stage}{phase} rounds", rounds
        for need in cost.material:
            yield f"{stage}{need.bundle}, one each {need.unit}", _count(need.count)


def _count(amounts: Iterable[tuple[str, int]]) -> int:
    return sum(count * prod(int(one) for one in symbols.split("*") if one) for symbols, count in amounts)


def _composition(lock: Lock, program: Program) -> Composition:
    """What parties do by themselves costs no messages."""
    texts = lock.documents.protocols
    instances = tuple(
        Instance(texts[use.protocol].protocol, use.roles, use.inputs, use.outputs) for use in program.runs
    )
    return Composition(program.stage, program.parties, program.inputs, program.outputs, instances)


# ---- versions ----
def _versions(first: Lock, second: Lock) -> Iterator[Change]:
    if first.compiler != second.compiler:
        a, b = (f"{one.compiler.id} {one.compiler.version}" for one in (first, second))
        yield Change("versions", "compiler", a, b, _older(second.compiler.version, first.compiler.version))
    old, new = dict(first.components.values()), dict(second.components.values())
    for name in sorted(old.keys() | new.keys()):
        a, b = old.get(name), new.get(name)
        if a != b:
            older = a is not None and b is not None and _older(b, a)
            yield Change("versions", f"component {name}", a or NONE, b or NONE, older)
    same = set(first.digests.records.keys() & second.digests.records.keys())
    for key in sorted(same):
        if first.digests.records[key] != second.digests.records[key]:
            a, b = first.digests.records[key][:12], second.digests.records[key][:12]
            yield Change("versions", f"record {key}", a, b, False)
    for path in sorted(first.digests.files.keys() & second.digests.files.keys()):
        if first.digests.files[path] != second.digests.files[path]:
            a, b = first.digests.files[path][:12], second.digests.files[path][:12]
            yield Change("versions", f"file {path}", a, b, False)


def _otherwise(first: Lock, second: Lock) -> Iterator[Change]:
    a, b = first.digests, second.digests
    for what in ("plan", "policy", "experiment"):
        old, new = getattr(a, what), getattr(b, what)
        if old != new and not is_same(what, first, second):
            yield Change("versions", f"digest of the {what}", old[:12] or NONE, new[:12] or NONE, False)


def _older(new: str, old: str) -> bool:
    """Also where the two cannot be compared as versions."""
    return compare_versions(new, old) in (-1, None)


# ---- text ----
def as_text(first: str, second: str, changes: tuple[Change, ...]) -> str:
    if not changes:
        return f"{second} means what {first} means"
    lines: list[str] = []
    for aspect in ASPECTS:
        own = [one for one in changes if one.aspect == aspect]
        lines += [aspect] if own else []
        lines += [
            f"  {'weaker ' if one.weaker else 'changed'}  {one.what}: {one.before} -> {one.after}"
            for one in own
        ]
    weaker = sum(one.weaker for one in changes)
    return "\n".join(map(visible, [*lines, f"{second} is weaker in {weaker} of {len(changes)} changes"]))


def as_json(first: str, second: str, changes: tuple[Change, ...]) -> str:
    weaker = any(one.weaker for one in changes)
    document = {"schema": SCHEMA, "first": first, "second": second, "weaker": weaker, "changes": changes}
    return json_text(document)
