"""Replay: what a lock holds is of the form that a compiler gives, also where nothing else is decided by it.

In: a lock that was walked. Records lie under their own names; places and comments leave no trace; a placement says no more than its
kind has; uses bind parameters and roles that their records have, within what these allow; a budget and a deployment have the
words that are known; what the lock says of outputs is about its outputs. ReplayError where one is not so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

import msgspec

from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay import terms as t
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.terms import Names
from pllm_lang.artifacts.replay.walked import Walked, component_at, record
from pllm_lang.catalog.expr import NOWHERE, Apply, Between, Expr, ListOf, Num, Origin, Ref
from pllm_lang.catalog.records import Component, Kernel, Operator, ParamSpec
from pllm_lang.ir import protocol as p
from pllm_lang.ir.plan import Bound, ComponentUse, Placement, State, Step

SHIPPED = "std."
"""Records of the library are held against it by the command."""
LIMITS = frozenset({"requests", "max_input_tokens", "max_new_tokens"})
KINDS = ("remote", "local")
SLOTS = frozenset({*t.SLOTS, "row_max", "error"})


def is_well_formed(walked: Walked) -> None:
    lock = walked.lock
    documents = lock.documents
    for key in documents.records:
        _in_its_place(walked, key)
    _without_places((documents.policy, *documents.ir.formats))
    for text in documents.protocols:
        _unplaced((*text.protocol.inputs, *text.protocol.outputs, *text.protocol.body), text.protocol.name)
        _free(text.protocol.parties)
    for program in documents.programs:
        _unplaced((*program.inputs, *program.outputs), program.stage)
        _free(program.parties)
    _begins_well(walked)
    _uses(walked)
    _experiment(walked)
    _head(walked)


def _refuse(text: str) -> ReplayError:
    return ReplayError("lock.form", text)


# ---- records, places ----
def _in_its_place(walked: Walked, key: str) -> None:
    found = record(walked, key)
    if f"{found.module}.{found.name}" != key:
        raise _refuse(f"the record under `{key[:60]}` is another one")
    if not key.startswith(SHIPPED):
        _without_places((found,))


def _without_places(values: Iterable[Any]) -> None:
    """No comment, and no place where something was written."""
    left = list(values)
    while left:
        value = left.pop()
        if isinstance(value, Origin) and value != NOWHERE:
            raise _refuse("it says where something was written")
        if isinstance(value, msgspec.Struct):
            if getattr(value, "doc", "") or getattr(value, "field_origins", {}):
                raise _refuse("it holds a comment")
            left += [getattr(value, field) for field in value.__struct_fields__]
        elif isinstance(value, tuple):
            left += cast("tuple[Any, ...]", value)
        elif isinstance(value, dict):
            left += cast("dict[str, Any]", value).values()


def _unplaced(lines: Iterable[Any], name: str) -> None:
    if any(line.origin != -1 for line in lines):
        raise _refuse(f"a line of `{name[:60]}` has a place")


def _free(parties: Iterable[p.Party]) -> None:
    """Only primitives have a cost of their own."""
    if any(party.ideal is None and party.cost != p.IdealCost() for party in parties):
        raise _refuse("a party costs something")


def _begins_well(walked: Walked) -> None:
    """Placements and bounds of what the plan begins with, and those of its steps."""
    plan = walked.lock.documents.ir
    inputs = (*plan.inputs, *(one for stage in plan.stages for one in stage.inputs))
    for place in (
        *(one.placement for one in (*inputs, *plan.states)),
        *(step.stated_holding for step in walked.every),
    ):
        _is_placement(place)
    for one in (*inputs, *plan.weights, *plan.states):
        _are_bounds(one.bounds if isinstance(one, State) else (*one.bounds, *one.assumed), 1)
    for step in walked.every:
        _are_bounds(step.assumes, len(step.results))


def _are_bounds(bounds: Iterable[Bound], results: int) -> None:
    """Each about something that is known of tensors, and about one of so many results."""
    if any(one.slot not in SLOTS or not 0 <= one.result < results for one in bounds):
        raise _refuse("a bound is about nothing that is known of a tensor")


def _is_placement(place: Placement) -> None:
    holds = place.kind == "shared"
    named = place.kind in ("party", "shared")
    if bool(place.holding) != holds or bool(place.parties) != named:
        raise _refuse("a placement says more or less than its kind has")


# ---- parameters and roles ----
def _uses(walked: Walked) -> None:
    seen, given = set[int](), set[tuple[str, tuple[tuple[str, Expr], ...]]]()
    formats = {f"%f{place}" for place in range(len(walked.lock.documents.ir.formats))}
    for step in walked.every:
        if (step.operator, step.params) not in given:
            given.add((step.operator, step.params))
            _given_to_operator(walked, step, formats)
        if step.use is not None and id(step.use) not in seen:
            seen.add(id(step.use))
            _use(walked, step.use)
            if len(step.use.roles) < len(component_at(walked, step.use.key).roles):
                raise _refuse(f"a step leaves open who takes a role of `{step.use.key}`")
    experiment = walked.lock.documents.experiment
    for _, use in () if experiment is None else experiment.slots:
        _use(walked, use)


def _given_to_operator(walked: Walked, step: Step, formats: set[str]) -> None:
    """A step that a party does by itself is its operator with just these parameters."""
    operator = record(walked, step.operator)
    specs = operator.params if isinstance(operator, Operator) else ()
    if [name for name, _ in step.params] != [spec.name for spec in specs]:
        raise _refuse(f"a step gives `{step.operator}` other parameters than it has")
    for spec, (name, value) in zip(specs, step.params, strict=True):
        if not _is_of_kind(spec.kind, value, formats) or not _allows(spec, value):
            raise ReplayError("certificate.plan", f"`{step.operator}` does not allow this `{name}`")


def _is_of_kind(kind: str, value: Expr, formats: set[str]) -> bool:
    """Words are words, formats those of the plan; nothing else speaks of the plan's formats and variables."""
    word = value.name if isinstance(value, Ref) else ""
    if kind == "format":
        return word in formats
    if kind == "boolean":
        return word in ("true", "false")
    if kind == "word" and not word:
        return False
    return isinstance(value, Num) or not any(one.startswith("%") for one in t.named_in(value))


def _use(walked: Walked, use: ComponentUse) -> None:
    component = record(walked, use.key)
    if not isinstance(component, Component):
        raise ReplayError("certificate.plan", f"the lock holds no component `{use.key}`")
    roles = [role for role, _ in use.roles]
    if len(set(roles)) < len(roles) or not set(roles) <= set(component.roles):
        raise _refuse(f"a use of `{component.name}` binds roles that it does not have")
    if {name for name, _ in use.params} != {spec.name for spec in component.params}:
        raise _refuse(f"a use of `{component.name}` leaves parameters out, or has others")
    _parameters(walked, component, use.params)


def _parameters(walked: Walked, of: Component | Kernel, given: tuple[tuple[str, Expr], ...]) -> None:
    specs = {spec.name: spec for spec in of.params}
    if len(dict(given)) < len(given) or not {name for name, _ in given} <= specs.keys():
        raise _refuse(f"`{of.name}` is given parameters that it does not have, or one twice")
    for name, value in given:
        if not _allows(specs[name], value):
            raise ReplayError("certificate.plan", f"`{of.name}` does not allow this `{name}`")
        key = value.fn if isinstance(value, Apply) else value.name if isinstance(value, Ref) else ""
        inner = record(walked, key) if "." in key else None
        if isinstance(inner, Component | Kernel):
            _parameters(walked, inner, value.named if isinstance(value, Apply) else ())
        elif specs[name].kind == "component":
            raise _refuse(f"`{of.name}` is given a `{name}` that the lock does not hold")


def _allows(spec: ParamSpec, value: Expr) -> bool:
    """Whether a number or a word is one of those that are allowed; other kinds have their own forms."""
    number, allowed = t.exact(value, Names()), spec.allowed
    if isinstance(allowed, ListOf) and (number is not None or isinstance(value, Ref)):
        return any(item == value or _is_in(spec.name, number, item) for item in allowed.items)
    return not isinstance(allowed, Between | Apply) or number is None or _is_in(spec.name, number, allowed)


def _is_in(name: str, number: n.Size, allowed: Expr) -> bool:
    """A number, a range of numbers, or a comparison with the parameter."""
    if number is None or (isinstance(allowed, Apply) and allowed.fn in ("text", "list")):
        return isinstance(allowed, Apply)
    wanted = Apply("in", (Ref(name), allowed)) if isinstance(allowed, Between) else allowed
    wanted = wanted if isinstance(wanted, Apply) else Apply("==", (Ref(name), allowed))
    return t.holds(wanted, Names(exact={name: number})) is True


# ---- experiment and head ----
def _experiment(walked: Walked) -> None:
    experiment = walked.lock.documents.experiment
    if experiment is None:
        return
    budget = [name for name, _ in experiment.budget]
    if len(set(budget)) < len(budget) or not set(budget) <= LIMITS:
        raise _refuse("the budget has limits that nothing is checked against, or one twice")
    if experiment.deployment is not None and experiment.deployment.kind not in KINDS:
        raise _refuse("the deployment is of no kind that is known")


def _head(walked: Walked) -> None:
    """What it says of errors and of failures is about its outputs; the latter is no less than what was added up."""
    lock = walked.lock
    numbers = [n.number(text) for text in (*lock.output_errors.values(), lock.failure) if text]
    if lock.output_errors.keys() != lock.output_shapes.keys() or any(number < 0 for number in numbers):
        raise ReplayError("lock.head", "what it says of errors is not about its outputs")
    total = n.total(*_failing(walked))
    if lock.failure and (total is None or total > n.number(lock.failure)):
        raise ReplayError("lock.head", "it says that a run is wrong less often than its steps fail")


def _failing(walked: Walked) -> Iterator[n.Size]:
    yield 0
    for each, times in walked.failures:
        yield n.product(each, times)
