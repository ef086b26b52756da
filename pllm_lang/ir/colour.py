"""Colours: what a value is, told without its number, its name or its place in the text.

In: a plan. Out: one digest a value and a node. Two values have one colour when everything that feeds them
and everything that they feed looks alike. Canonical numbering sorts by colour wherever the plan itself has
no order.

Each round looks down (what feeds it) and then up (what it feeds, with the colours of the first half); two
rounds tell apart everything but values that are symmetric, or that only differ far away along paths of
equal colour. Of values that still have one colour, one is marked and the marking looked at for another round,
until all differ: of symmetric values it does not matter which, but all that hangs on them has to follow.
"""

from __future__ import annotations

from collections import defaultdict
from hashlib import blake2b
from typing import Any

import msgspec

from pllm_lang.ir.plan import Member, Node, Operand, Plan, Repeat, Requirement, StateWrite, Step
from pllm_lang.ir.walk import free, makes, references, renumber_expr, value_of

ROUNDS = 2
MOST_MARKED = 20_000
"""Marks, times statements of the plan: beyond it equal colours stay, and symmetric values in the order written."""
# The colour of an operand that nothing makes, in a plan with errors.
MISSING = b""
_encode = msgspec.msgpack.Encoder(order="deterministic").encode


class Colours(msgspec.Struct, frozen=True):
    """`values[id]`, and `nodes[id(node)]` for every node of the plan; `kept` are nodes made since."""

    values: dict[int, bytes]
    nodes: dict[int, bytes]
    kept: list[Node]


def colours(plan: Plan) -> Colours:
    found = Colours({}, {}, [])
    for declared in (*plan.inputs, *plan.states, *plan.constants):
        found.values[declared.value] = digest(msgspec.structs.replace(declared, value=0))
    for weight in sorted(plan.weights, key=lambda weight: weight.scale_of >= 0):
        bare = msgspec.structs.replace(weight, value=0, scale_of=min(weight.scale_of, 0))
        found.values[weight.value] = digest(bare, found.values.get(weight.scale_of, MISSING))
    for stage in plan.stages:
        for declared in stage.inputs:
            found.values[declared.value] = digest(stage.name, msgspec.structs.replace(declared, value=0))
    for _ in range(ROUNDS):
        _round(plan, found)
    for _ in range(MOST_MARKED // (1 + len(found.nodes))):
        tied = _tied(found)
        if tied is None:
            break
        found.values[tied] = digest("marked", found.values[tied])
        _round(plan, found)
    return found


def _round(plan: Plan, found: Colours) -> None:
    for stage in plan.stages:
        _down(stage.body, found)
    _up(plan, found)


def _tied(found: Colours) -> int | None:
    """A value of the least colour that several have."""
    members: dict[bytes, list[int]] = defaultdict(list)
    for value, colour in found.values.items():
        members[colour].append(value)
    several = min((colour for colour, values in members.items() if len(values) > 1), default=None)
    return None if several is None else members[several][0]


def digest(*parts: Any) -> bytes:
    return blake2b(_encode(parts), digest_size=16).digest()


def _down(body: tuple[Node, ...], found: Colours) -> None:
    values = found.values
    for node in body:
        if isinstance(node, Repeat):
            for carried in node.carried:
                values[carried.inner] = digest("inner", values.get(carried.initial, MISSING))
            _down(node.body, found)
        colour = found.nodes[id(node)] = _node_colour(node, found)
        if isinstance(node, Step):
            for position, result in enumerate(node.results):
                values[result] = digest(colour, position, values.get(result, b""))
        elif isinstance(node, Repeat):
            for carried in node.carried:
                values[carried.final] = digest(
                    colour, values.get(carried.initial, MISSING), values.get(carried.next, MISSING)
                )


def _node_colour(node: Node, found: Colours) -> bytes:
    values = found.values
    match node:
        case Step():
            blank = msgspec.structs.replace(node, operands=(), results=())
            return digest(blank, [_operand_colour(operand, values) for operand in node.operands])
        case Repeat():
            around = sorted(
                (values.get(c.initial, MISSING), values.get(c.next, MISSING)) for c in node.carried
            )
            inside = sorted(found.nodes[id(child)] for child in node.body)
            return digest("repeat", node.depth, node.low, node.high, around, inside)
        case StateWrite():
            return digest("write", _operand_colour(node.state, values), values.get(node.value, MISSING))
        case Requirement():
            read = [
                values.get(v, MISSING) for v in map(value_of, references(node.condition)) if v is not None
            ]
            return digest("requires", renumber_expr(node.condition, _zero), node.reason, read)


def _operand_colour(operand: Operand, values: dict[int, bytes]) -> bytes:
    if isinstance(operand, Member):
        return digest(values.get(operand.family, MISSING), operand.index)
    return values.get(operand, MISSING)


def _zero(_: int) -> int:
    return 0


def _up(plan: Plan, found: Colours) -> None:
    fed: dict[int, list[bytes]] = defaultdict(list)
    for stage in plan.stages:
        for output in stage.outputs:
            fed[output.value].append(digest("output", stage.name, output.to, output.holding, output.holders))
    for stage in reversed(plan.stages):
        _feed(stage.body, found, fed)
    for weight in plan.weights:
        if weight.scale_of >= 0:
            fed[weight.scale_of].append(digest("scale", sorted(fed[weight.value])))
    for value, colour in found.values.items():
        found.values[value] = digest(colour, sorted(fed[value]))


def _feed(body: tuple[Node, ...], found: Colours, fed: dict[int, list[bytes]]) -> None:
    for node in reversed(body):
        uses = [sorted(fed[made]) for made in makes(node)]
        colour = digest(found.nodes[id(node)], uses)
        found.nodes[id(node)] = colour
        if isinstance(node, Repeat):
            for carried in node.carried:
                fed[carried.next].append(digest(colour, sorted(fed[carried.final])))
            _feed(node.body, found, fed)
            for carried in node.carried:
                fed[carried.initial].append(digest(colour, sorted(fed[carried.inner])))
            continue
        for position, read in enumerate(free(node)):
            fed[read].append(digest(colour, position))
