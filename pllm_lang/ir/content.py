"""Names out, content in: the first half of the canonical form.

In: a plan, and content digests of the records it names. Out: the same plan where records are told by
content and the table of formats holds each format that occurs once, nameless, sorted by content.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
from msgspec.structs import replace

from pllm_lang.catalog.expr import NOWHERE, Apply, Expr
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Format
from pllm_lang.ir.plan import ComponentUse, Input, Plan, State, Step, TensorType, Weight
from pllm_lang.ir.walk import children, map_steps, nodes, references, rename

Declared = Input | Weight | State


def contents_of(plan: Plan, library: Library) -> dict[str, str]:
    """Content digests of the records that the plan names; names of the shipped library are fixed."""
    keys = {plan.policy}
    for stage in plan.stages:
        for node, _ in nodes(stage.body):
            if isinstance(node, Step):
                keys.add(node.operator)
                keys |= {node.use.key, *_components(node.use)} if node.use else set()
    return {key: library.digest_of(key) for key in sorted(keys) if key and not key.startswith("std.")}


def _components(use: ComponentUse) -> set[str]:
    """Keys of components among the arguments, `chunked(...)`."""
    found: set[str] = set()
    left = [value for _, value in use.params]
    while left:
        part = left.pop()
        if isinstance(part, Apply):
            found.add(part.fn)
        left += children(part)
    return {key for key in found if "." in key}


def with_contents(plan: Plan, contents: Mapping[str, str]) -> Plan:
    """`contents[key]` in place of every record name that it has."""

    def named(key: str) -> str:
        return contents.get(key, key)

    def used(use: ComponentUse) -> ComponentUse:
        params = tuple((name, _component(value, named)) for name, value in use.params)
        return replace(use, key=named(use.key), params=params)

    def change(step: Step) -> Step:
        use = step.use and used(step.use)
        return replace(step, operator=named(step.operator), use=use)

    stages = tuple(replace(stage, body=map_steps(stage.body, change)) for stage in plan.stages)
    return replace(plan, policy=named(plan.policy), stages=stages)


def _component(value: Expr, named: Callable[[str], str]) -> Expr:
    """An argument with content digests in place of the components that it names."""
    if not isinstance(value, Apply):
        return value
    inner = tuple((name, _component(part, named)) for name, part in value.named)
    return Apply(named(value.fn), value.args, inner)


def with_own_formats(plan: Plan) -> Plan:
    """The formats that occur, each once, without names, sorted by content."""
    bare = {index: _bare(plan.formats[index]) for index in _used(plan)}
    keys = {index: msgspec.json.encode(form) for index, form in bare.items()}
    order = sorted(set(keys.values()))
    by_key = {keys[index]: form for index, form in bare.items()}
    new = {index: order.index(key) for index, key in keys.items()}
    return replace(_retyped(plan, new), formats=tuple(by_key[key] for key in order))


def _bare(form: Format) -> Format:
    return replace(form, name="", doc="", origin=NOWHERE)


def format_of(name: str) -> int | None:
    """3 for `%f3`, None for any other name."""
    return int(name[2:]) if name.startswith("%f") else None


def _used(plan: Plan) -> set[int]:
    used = {item.type.format for item in _declared(plan)}
    for stage in plan.stages:
        for node, _ in nodes(stage.body):
            if isinstance(node, Step):
                used.update(kind.format for kind in node.types)
                used.update(
                    f for expr in _arguments(node) for f in map(format_of, references(expr)) if f is not None
                )
    return used


def _declared(plan: Plan) -> tuple[Declared, ...]:
    staged = tuple(item for stage in plan.stages for item in stage.inputs)
    return (*plan.inputs, *plan.weights, *plan.states, *staged)


def _arguments(step: Step) -> list[Expr]:
    use = step.use.params if step.use else ()
    return [value for _, value in (*step.params, *use)]


def _retyped(plan: Plan, new: Mapping[int, int]) -> Plan:
    def typed(kind: TensorType) -> TensorType:
        return TensorType(new[kind.format], kind.shape)

    def name(old: str) -> str:
        index = format_of(old)
        return old if index is None else f"%f{new[index]}"

    def pairs(params: tuple[tuple[str, Expr], ...]) -> tuple[tuple[str, Expr], ...]:
        return tuple((key, rename(value, name)) for key, value in params)

    def used(use: ComponentUse | None) -> ComponentUse | None:
        return use and replace(use, params=pairs(use.params))

    def change(step: Step) -> Step:
        types = tuple(map(typed, step.types))
        return replace(step, types=types, params=pairs(step.params), use=used(step.use))

    def inputs(items: tuple[Input, ...]) -> tuple[Input, ...]:
        return tuple(replace(item, type=typed(item.type)) for item in items)

    return replace(
        plan,
        inputs=inputs(plan.inputs),
        weights=tuple(replace(item, type=typed(item.type)) for item in plan.weights),
        states=tuple(replace(item, type=typed(item.type)) for item in plan.states),
        stages=tuple(
            replace(stage, body=map_steps(stage.body, change), inputs=inputs(stage.inputs))
            for stage in plan.stages
        ),
    )
