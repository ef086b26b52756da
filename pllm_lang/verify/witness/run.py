"""A plan executed exactly from chosen inputs, as far as one result needs it.

In: a plan and tensors for its inputs, weights and states. Out: every step of the cone with its tensors, one after
the other; the run ends where something cannot be executed or costs too much.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod

import msgspec

from pllm_lang.catalog.apply import claim, execute
from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import term
from pllm_lang.catalog.facts import Exact, Interval
from pllm_lang.catalog.records import Component
from pllm_lang.catalog.tensor import Tensor, ends, of_entries
from pllm_lang.exact.interval import outward
from pllm_lang.exact.number import bits, exact
from pllm_lang.ir.plan import Node, Operand, Placement, Repeat, Step, TensorType
from pllm_lang.ir.walk import family
from pllm_lang.verify.environment import make_view
from pllm_lang.verify.view import PlanView, StepView
from pllm_lang.verify.witness.hull import enclosing_facts

MAX_COST = 2_000_000
"""Entry operations, as estimated from the operands, that all tries of one plan may take together."""


MAX_ENTRY_BITS = 2_048
"""Size of an exact entry, numerator or denominator."""


class Purse(msgspec.Struct):
    """What is left to spend. Counted, not timed: the same plan gets the same verdict on every machine."""

    left: int


class Executed(msgspec.Struct, frozen=True):
    """A step that was reached: its view, and the tensors of its operands by the operator's names.

    Those of its results are there if it could be executed; otherwise the run ends with it.
    """

    view: StepView
    tensors: dict[str, Tensor]


class Cone(msgspec.Struct, frozen=True):
    """The part of a plan that one value depends on: its steps stage by stage, and the types of all values."""

    plan: PlanView
    bodies: tuple[tuple[Node, ...], ...]
    types: dict[int, TensorType]


class _Run(msgspec.Struct):
    cone: Cone
    values: dict[int, Tensor]
    purse: Purse


class _CannotGoOn(Exception):
    """Something could not be executed."""


def executed(cone: Cone, given: Mapping[int, Tensor], purse: Purse) -> Iterator[Executed]:
    """The steps of the cone, in the order of the plan, with exact tensors."""
    values = dict(given)
    for constant in cone.plan.plan.constants:
        values[constant.value] = of_entries(constant.type.shape, [exact(entry) for entry in constant.entries])
    run = _Run(cone, values, purse)
    try:
        for body in cone.bodies:
            yield from _nodes(run, body)
    except _CannotGoOn:
        return


def _nodes(run: _Run, body: tuple[Node, ...]) -> Iterator[Executed]:
    for node in body:
        if isinstance(node, Step):
            yield _step(run, node)
            if not all(value in run.values for value in node.results):
                raise _CannotGoOn
        elif isinstance(node, Repeat):
            yield from _repeat(run, node)


def _repeat(run: _Run, node: Repeat) -> Iterator[Executed]:
    carried = [c for c in node.carried if c.initial in run.values]
    for one in carried:
        run.values[one.inner] = run.values[one.initial]
    for _ in range(node.low, node.high):
        yield from _nodes(run, node.body)
        moved = {one.inner: run.values[one.next] for one in carried if one.next in run.values}
        run.values.update(moved)
    for one in carried:
        run.values[one.final] = run.values[one.inner]


def _step(run: _Run, step: Step) -> Executed:
    operands = [_tensor(run, operand) for operand in step.operands]
    run.purse.left -= _cost(operands)
    if run.purse.left < 0:
        raise _CannotGoOn
    types = [run.cone.types[family(operand)] for operand in step.operands]
    view = make_view(
        run.cone.plan, step, [enclosing_facts(t) for t in operands], types, [Placement()] * len(operands)
    )
    if view is None:
        raise _CannotGoOn
    tensors = {spec.name: t for spec, t in zip(view.operator.operands, operands, strict=False)}
    results = execute(view.operator, view.env, tensors)
    if results is None:
        return Executed(view, tensors)
    results = {name: _with_error(view, name, tensor) for name, tensor in results.items()}
    _refuse_giants(results.values())
    for spec, value in zip(view.operator.results, step.results, strict=True):
        run.values[value] = results[spec.name]
    return Executed(view, tensors | results)


def _cost(operands: Sequence[Tensor]) -> int:
    longest = max((len(tensor.rows[0]) for tensor in operands if tensor.rows), default=1)
    return 100 + longest * prod(len(tensor.rows) for tensor in operands)


def _with_error(view: StepView, name: str, tensor: Tensor) -> Tensor:
    """What the component may make of an exact result: off by its declared error, so entries become enclosures."""
    error = 0 if view.component is None else own_error(view.component, name, view.env)
    if error is None:
        raise _CannotGoOn
    if error == 0:
        return tensor
    rows = tuple(tuple(_widened(ends(entry), error) for entry in row) for row in tensor.rows)
    return Tensor(tensor.shape, rows, tensor.which)


def _widened(entry: Interval, error: Exact) -> Interval:
    found = outward(Interval(entry.low - error, entry.high + error))
    if found is None:
        raise _CannotGoOn
    return found


def _refuse_giants(tensors: Iterable[Tensor]) -> None:
    """End the run where exact entries outgrow MAX_ENTRY_BITS: repeated squaring doubles them each time."""
    for tensor in tensors:
        for row in tensor.rows:
            if any(
                bits(end) > MAX_ENTRY_BITS for entry in row for end in (ends(entry).low, ends(entry).high)
            ):
                raise _CannotGoOn


def own_error(component: Component, result: str, env: Env) -> Exact | None:
    """The largest error that the component declares for `result`; 0 where it declares none, None where unknown."""
    error: Exact = 0
    for clause in component.ensures:
        found = claim(clause)
        if found is not None and found.slot == "error" and found.result == result:
            bound = term(found.bound, env)
            if bound is None:
                return None
            error = max(error, bound.high)
    return error


def _tensor(run: _Run, operand: Operand) -> Tensor:
    """All members of a family are tried with one tensor, so the member's number does not matter."""
    found = run.values.get(family(operand))
    if found is None:
        raise _CannotGoOn
    return found
