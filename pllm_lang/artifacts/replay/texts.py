"""Replay: the text that parties run is the narration of the record that it is said to be.

In: a lock. A text of a component has its record's name, roles and operands, and line by line the same statement: who draws,
computes, sends or checks what, in which phase, how long it lives, what a computation reads, how a stream is labelled, what
material is issued together. A primitive that takes part is assumed as its own record says. What a line computes is not compared:
the text is proved by itself to give what the operator means. ReplayError where a text is another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay.kernels import words
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.run import names_of
from pllm_lang.artifacts.replay.walked import Walked, record
from pllm_lang.catalog.expr import Apply, Attr, Expr, Item, ListOf, Num, Ref, Text
from pllm_lang.catalog.records import Component, ProtocolLine, ProtocolText, Record
from pllm_lang.ir import protocol as p

LIVES = {"session": "session", "request": "request", "weights": "weights"}
MESSAGE = "message"
Line = tuple[object, ...]


def are_narrations(walked: Walked) -> None:
    """Texts of one component that read the same names have the same lines, whatever their sizes are."""
    told: dict[tuple[str, frozenset[str]], list[Line]] = {}
    for text in walked.lock.documents.protocols:
        if not text.component:
            continue
        component = record(walked, text.component)
        if not isinstance(component, Component) or component.protocol is None:
            raise ReplayError("certificate.program", f"the lock holds no narration of `{text.component}`")
        _is_headed(walked, text.protocol, component, component.protocol)
        lines = list(_run(text.protocol))
        _burnt_once(lines, component.name)
        read = frozenset(
            name
            for line in lines
            if line[0] in ("assign", "check")
            for name in cast("frozenset[str]", line[-1])
        )
        if (text.component, read) not in told:
            told[text.component, read] = list(_told(component.protocol, read))
        if lines != told[text.component, read]:
            raise ReplayError("certificate.program", "it is not the narration of its record", component.name)


def _burnt_once(lines: list[Line], name: str) -> None:
    """What is one-use is drawn anew in every execution."""
    lasting = {line[1] for line in lines if line[0] == "draw" and line[3] != "execution"}
    for line in lines:
        if line[0] == "bundle" and lasting & set(cast("tuple[str, ...]", line[3])):
            raise ReplayError(
                "certificate.material", "one-use material is drawn for several executions", name
            )


def _is_headed(walked: Walked, text: p.Protocol, component: Component, said: ProtocolText) -> None:
    roles = tuple(party.name for party in text.parties if party.ideal is None)
    strongest = "malicious" if "malicious" in component.adversaries else "semi_honest"
    fresh = {line.name for line in (*said.offline, *said.online) if line.kind == "needs"}
    alike = (
        (text.name, roles, text.adversary) == (component.name, component.roles, strongest)
        and [one.name for one in text.inputs] == [spec.name for spec in said.inputs]
        and [one.name for one in text.outputs] == [spec.name for spec in said.outputs]
        and {one.name for one in text.inputs if one.fresh} == fresh
    )
    if not alike:
        raise ReplayError(
            "certificate.program", "it has other roles or operands than its record", component.name
        )
    for party in text.parties:
        if party.ideal is not None:
            _assumed_so(walked, component, party.name, party.ideal)


def _assumed_so(walked: Walked, component: Component, name: str, ideal: p.Assumption) -> None:
    """The primitive is the component's, and its record, beside the component's or the library's, says level and adversary."""
    own = record(walked, f"{component.module}.{name}") or record(walked, f"std.primitives.{name}")
    fields = own.fields if isinstance(own, Record) and own.kind == "primitive" else {}
    level, against = fields.get("security"), set(words(fields.get("adversary")))
    strongest = "malicious" if "malicious" in against else "semi_honest"
    bits = n.number(level.value) if isinstance(level, Num) else 0
    if (
        not name == component.primitive == ideal.name
        or not against
        or (bits, strongest) != (ideal.security, ideal.adversary)
    ):
        raise ReplayError(
            "certificate.assumed", f"`{name}` is not assumed as its record says", component.name
        )


# ---- lines ----
def _run(text: p.Protocol) -> Iterator[Line]:
    for line in text.body:
        match line:
            case p.KeyDraw():
                yield "key", line.name, line.holders, line.lifetime, line.phase
            case p.Draw(via=p.ViaPrf() as via):
                yield "draw", line.name, line.holders, line.lifetime, line.phase, via.key, via.label
            case p.Draw():
                yield "draw", line.name, line.holders, line.lifetime, line.phase
            case p.Assign():
                yield "assign", line.party, _plain(line.target), line.phase, frozenset(names_of(line.value))
            case p.Send():
                yield "send", line.sender, line.receivers, _plain(line.name), line.phase
            case p.Check():
                yield "check", line.party, line.phase, frozenset(names_of(line.value))
            case p.Bundle():
                yield "bundle", line.name, line.unit, line.members
            case _:
                yield (type(line).__name__,)


def _plain(name: str) -> str:
    """A value that is sent as it is computed has a name of its own."""
    return MESSAGE if name.startswith(f"{MESSAGE} ") else name


def _told(said: ProtocolText, variables: frozenset[str]) -> Iterator[Line]:
    phases: tuple[tuple[p.Phase, tuple[ProtocolLine, ...]], ...] = (
        ("offline", said.offline),
        ("online", said.online),
    )
    for phase, lines in phases:
        for line in lines:
            yield from _said(line, phase, variables)


def _said(line: ProtocolLine, phase: p.Phase, variables: frozenset[str]) -> Iterator[Line]:
    lives = LIVES.get(line.word, "execution")
    match line.kind:
        case "fresh" if line.exprs[0] == Ref("key"):
            yield "key", line.name, line.parties, lives, phase
        case "fresh":
            yield "draw", line.name, line.parties, lives, phase, *_stream(line.exprs[1:])
        case "local":
            target, value = line.exprs
            reads = frozenset(_reads(value)) & variables
            if target == Num("0"):
                yield "check", line.parties[0], phase, reads
            else:
                yield "assign", line.parties[0], _variable(target), phase, reads
        case "send":
            for one in line.exprs:
                if not isinstance(one, Ref | Attr):
                    yield "assign", line.parties[0], MESSAGE, phase, frozenset(_reads(one)) & variables
                name = _variable(one) if isinstance(one, Ref | Attr) else MESSAGE
                yield "send", line.parties[0], line.parties[1:], name, phase
        case "bundle":
            yield "bundle", line.name, line.word, tuple(map(_variable, line.exprs))
        case "needs":
            return


def _stream(via: tuple[Expr, ...]) -> Iterator[object]:
    """Key and labels of a stream; `counter` counts, and a text that reads the same is quoted."""
    for one in via:
        if isinstance(one, Apply) and one.fn == "prf" and isinstance(one.args[0], Ref):
            yield one.args[0].name
            yield tuple(_label(label) for label in one.args[1:])


def _label(label: Expr) -> str:
    if isinstance(label, Text):
        return label.value if label.value != "counter" else '"counter"'
    return label.name if isinstance(label, Ref) else ""


def _variable(expr: Expr) -> str:
    if isinstance(expr, Attr) and isinstance(expr.base, Ref):
        return f"{expr.base.name}.{expr.name}"
    return expr.name if isinstance(expr, Ref) else ""


def _reads(expr: Expr) -> Iterator[str]:
    yield _variable(expr)
    match expr:
        case Apply():
            parts = *expr.args, *(value for _, value in expr.named)
        case Item():
            parts = expr.base, *expr.items
        case ListOf():
            parts = expr.items
        case _:
            parts = ()
    for part in parts:
        yield from _reads(part)
