"""A plan as readable text, for `pllm show --stage ir`.

In: the plan, and its source map for names. Out: lines of text. One line a statement: `%3 y: exact[2, 4] =
linear(%0 x, %1 w) using masked_linear(bits: 32)`. Values show their number and, where the map has one,
their name; what blocks made shows its dotted name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from pllm_lang.catalog import expr as ex
from pllm_lang.ir.plan import (
    UNKNOWN,
    Bound,
    ComponentUse,
    Input,
    Member,
    Node,
    Operand,
    Placement,
    Plan,
    Repeat,
    Requirement,
    StateWrite,
    Step,
    TensorType,
    Weight,
)
from pllm_lang.ir.source_map import SourceMap
from pllm_lang.ir.walk import rename, substitute
from pllm_lang.ir.words import show_expr
from pllm_lang.text.visible import visible

INDENT = "  "


def show_plan(plan: Plan, names: SourceMap) -> str:
    """The plan as text, with a line end after every line."""
    lines = [f"plan {names.name}" + (f" under {plan.policy}" if plan.policy else "")]
    lines += _declarations(plan, names)
    for stage in plan.stages:
        inner = INDENT
        if stage.name:
            lines.append(f"{INDENT}stage {stage.name}")
            inner = INDENT * 2
        lines += [inner + _input(plan, names, item) for item in stage.inputs]
        lines += [inner + line for line in _body(plan, names, stage.body)]
        for output in stage.outputs:
            to = f" to {', '.join(output.to)}" if output.to else ""
            held = f" as {output.holding}({', '.join(output.holders)})" if output.holding else ""
            lines.append(f"{inner}output {_value(names, output.value)}{to}{held}")
    return "\n".join(map(visible, lines)) + "\n"


def _declarations(plan: Plan, names: SourceMap) -> Iterator[str]:
    for number, form in enumerate(plan.formats):
        ring = f" mod {form.modulus}" if form.modulus else ""
        held = f" {form.low}..{form.high} / 2^{form.frac}" if form.low else ""
        yield f"{INDENT}format %f{number} {form.name}: {form.kind}{held}{ring}"
    for item in plan.inputs:
        yield INDENT + _input(plan, names, item)
    for weight in plan.weights:
        yield INDENT + _weight(plan, names, weight)
    for state in plan.states:
        many = f"[0..<{state.count}]" if state.count else ""
        where = _where(state.bounds)
        yield f"{INDENT}state {_value(names, state.value)}{many}: {show_type(plan, state.type)}{where}"
    for constant in plan.constants:
        shown = ", ".join(constant.entries[:8]) + (", ..." if len(constant.entries) > 8 else "")
        yield f"{INDENT}constant {_value(names, constant.value)}: {show_type(plan, constant.type)} = {shown}"


def _input(plan: Plan, names: SourceMap, item: Input) -> str:
    owner = f" from {item.owner}" if item.owner else ""
    placed = _placement(item.placement)
    return (
        f"input {_value(names, item.value)}: {show_type(plan, item.type)}{owner}{placed}{_where(item.bounds)}"
    )


def _placement(placement: Placement) -> str:
    match placement.kind:
        case "unplaced":
            return ""
        case "public":
            return " public"
        case "party":
            return f" @ {', '.join(placement.parties)}"
        case "shared":
            return f" as {placement.holding.rsplit('.', 1)[-1]}({', '.join(placement.parties)})"


def _weight(plan: Plan, names: SourceMap, weight: Weight) -> str:
    many = f"[0..<{weight.count}]" if weight.count else ""
    owner = f" secret from [{', '.join(weight.secret_from)}]" if weight.secret_from else " public"
    stored = f" scale of {_value(names, weight.scale_of)}" if weight.scale_of >= 0 else ""
    kind = show_type(plan, weight.type)
    return f"weight {_value(names, weight.value)}{many}: {kind}{owner}{stored}{_where(weight.bounds)}"


def _where(bounds: Iterable[Bound]) -> str:
    said = " and ".join(f"{bound.slot} {bound.op} {bound.limit}" for bound in bounds)
    return f" where {said}" if said else ""


# ---- statements --------------------------------------------------------------------------------------


def _body(plan: Plan, names: SourceMap, body: tuple[Node, ...]) -> Iterator[str]:
    for node in body:
        match node:
            case Step():
                yield _step(plan, names, node)
            case Repeat():
                yield from _repeat(plan, names, node)
            case StateWrite():
                yield f"{_operand(names, node.state)} := {_value(names, node.value)}"
            case Requirement():
                reason = f' else "{node.reason}"' if node.reason else ""
                yield f"requires {_expr(plan, names, node.condition)}{reason}"
            case _:
                assert_never(node)


def _step(plan: Plan, names: SourceMap, step: Step) -> str:
    typed = [
        f"{_value(names, value)}: {show_type(plan, kind)}"
        for value, kind in zip(step.results, step.types, strict=True)
    ]
    operands = [_operand(names, operand) for operand in step.operands]
    params = [f"{name}: {_expr(plan, names, value)}" for name, value in step.params]
    call = f"{_short(step.operator)}({', '.join([*operands, *params])})"
    use = f" using {_use(plan, names, step.use)}" if step.use else ""
    party = f" @ {step.party}" if step.party else ""
    assumed = "".join(
        f" assume {b.slot}({_value(names, step.results[b.result])}) {b.op} {b.limit}" for b in step.assumes
    )
    return f"{', '.join(typed)} = {call}{use}{party}{assumed}"


def _use(plan: Plan, names: SourceMap, use: ComponentUse) -> str:
    params = [f"{name}: {_expr(plan, names, value)}" for name, value in use.params]
    roles = [f"{role}: {party}" for role, party in use.roles]
    return f"{_short(use.key)}({', '.join([*params, *roles])})"


def _repeat(plan: Plan, names: SourceMap, node: Repeat) -> Iterator[str]:
    yield f"repeat i{node.depth} in {node.low}..<{node.high}"
    for carried in node.carried:
        yield f"{INDENT}carry {_value(names, carried.inner)} from {_value(names, carried.initial)}"
    yield from (INDENT + line for line in _body(plan, names, node.body))
    for carried in node.carried:
        yield f"{INDENT}carry on {_value(names, carried.next)}; after it {_value(names, carried.final)}"


# ---- parts -------------------------------------------------------------------------------------------


def show_type(plan: Plan, kind: TensorType) -> str:
    if kind == UNKNOWN:
        return "unknown"
    name = plan.formats[kind.format].name
    return f"{name}[{', '.join(map(str, kind.shape))}]" if kind.shape else name


def _short(key: str) -> str:
    return key.rsplit(".", 1)[-1]


def _value(names: SourceMap, value: int) -> str:
    name = names.values[value][0] if value in names.values else ""
    return f"%{value} {name}".rstrip()


def _operand(names: SourceMap, operand: Operand) -> str:
    if isinstance(operand, Member):
        return f"{_value(names, operand.family)}[{show_expr(rename(operand.index, _variable))}]"
    return _value(names, operand)


def _variable(name: str) -> str:
    """`i0` for the variable of the outermost repeat."""
    return f"i{name[1:]}" if name.startswith("%") else name


def _expr(plan: Plan, names: SourceMap, expr: ex.Expr) -> str:
    def new(name: str) -> ex.Expr:
        if name.startswith("%f"):
            return ex.Ref(plan.formats[int(name[2:])].name)
        if name.startswith("%v"):
            return ex.Ref(_value(names, int(name[2:])))
        return ex.Ref(name)

    return show_expr(substitute(expr, new))
