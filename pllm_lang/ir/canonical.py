"""The canonical form of a plan: one form for all texts that say the same.

In: a plan, and content digests to write in place of record names (`ir/content.py`). Out: the plan
with values, formats and statements numbered and ordered by dataflow, and its bytes (RFC 8785). Names of
values, blocks and plans, the order of independent statements and declarations, layout, and the modules a
text is split into leave no trace.

What the plan does not order is ordered by colour (`ir/colour.py`). Values that colours cannot tell apart
and that are not symmetric may be numbered differently when a text is reordered: the bytes then differ
although the meaning does not. Equal bytes always mean equal plans, because the form holds the whole plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TypeVar

import msgspec
import rfc8785
from msgspec.structs import replace

from pllm_lang.ir.colour import Colours, colours
from pllm_lang.ir.content import with_contents, with_own_formats
from pllm_lang.ir.plan import Constant, Input, Node, Output, Plan, Repeat, Stage, State, StateWrite, Weight
from pllm_lang.ir.walk import Number, free, makes, reads, renumber, writes

D = TypeVar("D", Input, Weight, State, Constant, Output)

CANONICAL_VERSION = 1


def canonical_bytes(plan: Plan, contents: Mapping[str, str] | None = None) -> bytes:
    form = msgspec.to_builtins(canonical_plan(plan, contents))
    return rfc8785.dumps({"version": CANONICAL_VERSION, "plan": form})


def canonical_plan(plan: Plan, contents: Mapping[str, str] | None = None) -> Plan:
    """The plan in canonical form; `contents` maps a record's qualified name to its content digest."""
    bare = with_own_formats(with_contents(plan, contents or {}))
    return _numbered(bare, colours(bare))


def _numbered(plan: Plan, colour: Colours) -> Plan:
    bodies = [_ordered(stage.body, _roots(stage, colour), colour) for stage in plan.stages]
    numbers: dict[int, int] = {}
    for body in bodies:
        _meet(body, numbers)
    staged = [item for stage in plan.stages for item in stage.inputs]
    declared = [*plan.inputs, *plan.weights, *plan.states, *plan.constants, *staged]
    for item in sorted(declared, key=lambda item: colour.values[item.value]):
        numbers.setdefault(item.value, len(numbers))
    stages = tuple(_stage(stage, body, numbers) for stage, body in zip(plan.stages, bodies, strict=True))
    return replace(
        plan,
        inputs=_sorted(plan.inputs, numbers),
        weights=_sorted(map(partial(_scaled, numbers), plan.weights), numbers),
        states=_sorted(plan.states, numbers),
        constants=_sorted(plan.constants, numbers),
        stages=stages,
    )


def _scaled(numbers: Mapping[int, int], weight: Weight) -> Weight:
    return weight if weight.scale_of < 0 else replace(weight, scale_of=numbers[weight.scale_of])


def _sorted(items: Iterable[D], numbers: Mapping[int, int]) -> tuple[D, ...]:
    """Declarations or outputs under their new numbers, in the order of those."""
    moved = [replace(item, value=numbers[item.value]) for item in items]
    return tuple(sorted(moved, key=lambda item: (item.value, msgspec.json.encode(item))))


def _stage(stage: Stage, body: tuple[Node, ...], numbers: Mapping[int, int]) -> Stage:
    number: Number = numbers.__getitem__
    return replace(
        stage,
        body=tuple(renumber(node, number) for node in body),
        inputs=_sorted(stage.inputs, numbers),
        outputs=_sorted(stage.outputs, numbers),
    )


def _roots(stage: Stage, colour: Colours) -> list[int]:
    def rank(output: Output) -> tuple[bytes, bytes]:
        return colour.values[output.value], msgspec.json.encode(replace(output, value=0))

    return [output.value for output in sorted(stage.outputs, key=rank)]


# ---- order -------------------------------------------------------------------------------------------


def _ordered(body: tuple[Node, ...], roots: Iterable[int], colour: Colours) -> tuple[Node, ...]:
    """What the roots need, depth first and operands in order, then what is left, by colour."""
    body = tuple(_inside(node, colour) for node in body)
    maker = {value: node for node in body for value in makes(node)}
    by_colour = sorted(body, key=lambda node: colour.nodes[id(node)])
    before = _read_before(by_colour)
    done: dict[int, Node] = {}
    for root in (maker[value] for value in roots if value in maker):
        _visit(root, maker, before, done)
    for node in by_colour:
        _visit(node, maker, before, done)
    return tuple(done.values())


def _read_before(nodes: list[Node]) -> dict[int, list[Node]]:
    """For each node that writes a state, by its object: the nodes that read the state, which come before it."""
    written = {id(node): states for node in nodes if (states := writes(node))}
    if not written:
        return {}
    readers = [(node, set(free(node))) for node in nodes if not isinstance(node, StateWrite)]
    return {
        id(node): [r for r, read in readers if r is not node and read & written[id(node)]]
        for node in nodes
        if id(node) in written
    }


def _visit(
    root: Node, maker: Mapping[int, Node], before: Mapping[int, list[Node]], done: dict[int, Node]
) -> None:
    """Adds `root` and what it needs to `done`, makers first; a stack, since chains are long.

    What is entered is not entered again: a plan with errors may read a state after it is written, and then two
    nodes would wait for each other.
    """
    entered: set[int] = set()
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            done[id(node)] = node
            continue
        if id(node) in done or id(node) in entered:
            continue
        entered.add(id(node))
        stack.append((node, True))
        stack += [(reader, False) for reader in reversed(before.get(id(node), []))]
        stack += [(maker[value], False) for value in reversed(free(node)) if value in maker]


def _inside(node: Node, colour: Colours) -> Node:
    """A repeat with its body in order, so that what it reads from outside has an order too."""
    if not isinstance(node, Repeat):
        return node
    carried = tuple(sorted(node.carried, key=lambda c: (colour.values[c.final], colour.values[c.inner])))
    body = _ordered(node.body, [c.next for c in carried], colour)
    ordered = replace(node, carried=carried, body=body)
    colour.nodes[id(ordered)] = colour.nodes[id(node)]
    colour.kept.append(ordered)
    return ordered


# ---- numbers -----------------------------------------------------------------------------------------


def _meet(body: Iterable[Node], numbers: dict[int, int]) -> None:
    """Numbers values in the order in which the ordered body meets them."""
    for node in body:
        for value in reads(node):
            numbers.setdefault(value, len(numbers))
        if isinstance(node, Repeat):
            for carried in node.carried:
                numbers.setdefault(carried.inner, len(numbers))
            _meet(node.body, numbers)
            for carried in node.carried:
                numbers.setdefault(carried.next, len(numbers))
        for value in makes(node):
            numbers.setdefault(value, len(numbers))
