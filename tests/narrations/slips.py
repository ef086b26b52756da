"""Broken copies of a component's narration: one slip each, of the sorts that people make."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from pllm_lang.catalog.expr import Apply, Expr, Num, Ref, Text
from pllm_lang.catalog.records import Component, ProtocolLine, ProtocolText


def slips(component: Component) -> Iterator[tuple[str, Component]]:
    """What was done and the broken copy. Bundles only count material, so they are left alone."""
    text = component.protocol
    assert text is not None
    for phase in ("offline", "online"):
        lines: tuple[ProtocolLine, ...] = getattr(text, phase)
        for place, line in enumerate(lines):
            for what, changed in _slips_of(line, lines, component):
                broken = (*lines[:place], *changed, *lines[place + 1 :])
                yield f"{what}: {phase} {place}", replace(component, protocol=_with(text, phase, broken))
    for role in component.roles:
        output = text.outputs[0]
        if output.placement[0] == "to" and output.placement[1] != Ref(role):
            elsewhere = (replace(output, placement=("to", Ref(role))), *text.outputs[1:])
            yield f"result to {role}", replace(component, protocol=replace(text, outputs=elsewhere))


def _with(text: ProtocolText, phase: str, lines: tuple[ProtocolLine, ...]) -> ProtocolText:
    return replace(text, **{phase: lines})


def _slips_of(
    line: ProtocolLine, lines: tuple[ProtocolLine, ...], component: Component
) -> Iterator[tuple[str, tuple[ProtocolLine, ...]]]:
    if line.kind == "bundle":
        return
    yield "left out", ()
    if line.kind == "local":
        yield from _local(line, component)
    if line.kind == "send":
        others = [role for role in component.roles if role not in line.parties]
        for other in others:
            yield f"to {other} instead", (replace(line, parties=(*line.parties[:-1], other)),)
        for other in others:
            yield f"to {other} as well", (replace(line, parties=(*line.parties, other)),)
    if line.kind == "fresh":
        yield from _fresh(line, lines)


def _local(line: ProtocolLine, component: Component) -> Iterator[tuple[str, tuple[ProtocolLine, ...]]]:
    target, value = line.exprs
    for number, other in enumerate(_flipped(value)):
        yield f"sign {number} flipped", (replace(line, exprs=(target, other)),)
    for what, other in (
        ("doubled", Apply("*", (Num("2"), value))),
        ("negated", Apply("-", (value,))),
        ("squared", Apply("*", (value, value))),
    ):
        yield what, (replace(line, exprs=(target, other)),)
    for role in component.roles:
        if role != line.parties[0]:
            yield f"computed by {role}", (replace(line, parties=(role,)),)


def _flipped(expr: Expr) -> Iterator[Expr]:
    """The expression with one sign flipped, each in turn."""
    if not isinstance(expr, Apply):
        return
    if expr.fn in ("+", "-") and len(expr.args) == 2:
        yield Apply("-" if expr.fn == "+" else "+", expr.args)
    for place, arg in enumerate(expr.args):
        for other in _flipped(arg):
            yield Apply(expr.fn, (*expr.args[:place], other, *expr.args[place + 1 :]), expr.named)


def _fresh(
    line: ProtocolLine, lines: tuple[ProtocolLine, ...]
) -> Iterator[tuple[str, tuple[ProtocolLine, ...]]]:
    if line.exprs[0] != Ref("key") and line.word == "execution" and len(line.exprs) < 2:
        yield "drawn once a session", (replace(line, word="session"),)
    match line.exprs[1:]:
        case (Apply(fn="prf", args=(key, *_)),):
            for other in lines:
                via = other.exprs[1:]
                if other.name != line.name and via and isinstance(via[0], Apply) and via[0].args[0] == key:
                    yield f"the label of {other.name}", (replace(line, exprs=(line.exprs[0], via[0])),)
                    return
            if len(line.exprs[1].args) == 3:
                yield (
                    "without a counter",
                    (replace(line, exprs=(line.exprs[0], Apply("prf", (key, Text("x"))))),),
                )
        case _:
            pass
