"""Ways to break a protocol: each takes one and gives a copy with one fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from pllm_lang.ir import protocol as ir
from pllm_lang.verify.protocol.inlining import with_names
from tests.protocol import library as lib
from tests.protocol.library import add, ref

Fault = Callable[[ir.Protocol], ir.Protocol]


def _body(p: ir.Protocol, change: Callable[[ir.Statement], list[ir.Statement]]) -> ir.Protocol:
    return msgspec.structs.replace(p, body=tuple(new for st in p.body for new in change(st)))


def long_lived(*names: str) -> Fault:
    """Draws or keys that outlive an execution."""

    def change(st: ir.Statement) -> list[ir.Statement]:
        if isinstance(st, ir.Draw | ir.KeyDraw) and st.name in names:
            return [msgspec.structs.replace(st, lifetime="session")]
        return [st]

    return lambda p: _body(p, change)


def one_row(name: str) -> Fault:
    """One draw for all rows (or entries)."""

    def change(st: ir.Statement) -> list[ir.Statement]:
        if not (isinstance(st, ir.Draw) and st.name == name):
            return [st]
        size, rest = st.type.shape[0], st.type.shape[1:]
        row = msgspec.structs.replace(st, name=f"{name}_row", type=ir.TensorType(st.type.number, rest))
        grown = ir.Broadcast(ref(f"{name}_row"), 0, size)
        return [row, *(ir.Assign(h, name, grown, "offline", origin=st.origin) for h in st.holders)]

    return lambda p: _body(p, change)


def dropped(name: str) -> Fault:
    """A message that is not sent."""
    return lambda p: _body(p, lambda st: [] if isinstance(st, ir.Send) and st.name == name else [st])


def sent_to(name: str, *receivers: str) -> Fault:
    """A message to others instead."""

    def change(st: ir.Statement) -> list[ir.Statement]:
        if isinstance(st, ir.Send) and st.name == name:
            return [msgspec.structs.replace(st, receivers=receivers)]
        return [st]

    return lambda p: _body(p, change)


def leaked(sender: str, name: str, receiver: str) -> Fault:
    """Something is sent once more, at the end."""
    extra = ir.Send(sender, (receiver,), name, origin=99)
    return lambda p: msgspec.structs.replace(p, body=(*p.body, extra))


def seed_to(sender: str, key: str, receiver: str) -> Fault:
    return leaked(sender, key, receiver)


def computed(target: str, value: ir.Expr) -> Fault:
    """Another expression for a local step (everywhere that it is computed)."""

    def change(st: ir.Statement) -> list[ir.Statement]:
        if isinstance(st, ir.Assign) and st.target == target:
            return [msgspec.structs.replace(st, value=value)]
        return [st]

    return lambda p: _body(p, change)


def flipped(target: str) -> Fault:
    """The sign of the last term of a sum."""

    def change(st: ir.Statement) -> list[ir.Statement]:
        if isinstance(st, ir.Assign) and st.target == target and isinstance(st.value, ir.Add):
            *first, last = st.value.terms
            return [msgspec.structs.replace(st, value=add(*first, ir.Scale(-1, last)))]
        return [st]

    return lambda p: _body(p, change)


def without(target: str, *names: str) -> Fault:
    """A sum without the terms that mention a name."""

    def change(st: ir.Statement) -> list[ir.Statement]:
        if isinstance(st, ir.Assign) and st.target == target and isinstance(st.value, ir.Add):
            terms = [t for t in _terms(st.value) if not any(f"'{n}'" in repr(t) for n in names)]
            return [msgspec.structs.replace(st, value=add(*terms))]
        return [st]

    return lambda p: _body(p, change)


def _terms(expr: ir.Expr) -> list[ir.Expr]:
    if isinstance(expr, ir.Add):
        return [t for term in expr.terms for t in _terms(term)]
    if isinstance(expr, ir.Scale) and isinstance(expr.arg, ir.Add):
        return [ir.Scale(expr.factor, t) for t in _terms(expr.arg)]
    return [expr]


def renamed(old: str, new: ir.Expr, *targets: str) -> Fault:
    """A name replaced by an expression in some local steps."""
    names: dict[str, Any] = {old: new}

    def change(st: ir.Statement) -> list[ir.Statement]:
        if isinstance(st, ir.Assign) and st.target in targets:
            return [msgspec.structs.replace(st, value=with_names(st.value, names))]
        return [st]

    return lambda p: _body(p, change)


def merged(old: str, new: str) -> Fault:
    """Two roles in one hand."""

    def go(thing: Any) -> Any:
        match thing:
            case str():
                return new if thing == old else thing
            case ir.Party() | ir.Ref():
                return thing
            case msgspec.Struct():
                fields = {f: go(getattr(thing, f)) for f in thing.__struct_fields__}
                return msgspec.structs.replace(thing, **fields)
            case tuple():
                return tuple(go(x) for x in thing)
            case _:
                return thing

    def change(p: ir.Protocol) -> ir.Protocol:
        kept = tuple(q for q in p.parties if q.name != old)
        return msgspec.structs.replace(go(p), name=p.name, parties=kept)

    return change


def same_label(draw: str, label: str) -> Fault:
    """Two draws from one PRF stream."""

    def change(st: ir.Statement) -> list[ir.Statement]:
        if isinstance(st, ir.Draw) and st.name == draw and isinstance(st.via, ir.ViaPrf):
            label_ = (label, *st.via.label[1:])
            return [msgspec.structs.replace(st, via=ir.ViaPrf(st.via.key, label_))]
        return [st]

    return lambda p: _body(p, change)


def no_counter(*draws: str) -> Fault:
    def change(st: ir.Statement) -> list[ir.Statement]:
        if isinstance(st, ir.Draw) and st.name in draws and isinstance(st.via, ir.ViaPrf):
            return [msgspec.structs.replace(st, via=ir.ViaPrf(st.via.key, st.via.label[:1]))]
        return [st]

    return lambda p: _body(p, change)


def stale_shares(p: ir.Protocol) -> ir.Protocol:
    """Without `needs fresh`."""
    return msgspec.structs.replace(p, inputs=tuple(msgspec.structs.replace(i, fresh=False) for i in p.inputs))


def claims(**fields: Any) -> Fault:
    """The record claims something else of its first output."""

    def change(p: ir.Protocol) -> ir.Protocol:
        return msgspec.structs.replace(
            p, outputs=(msgspec.structs.replace(p.outputs[0], **fields), *p.outputs[1:])
        )

    return change


def narrow(name: str, bits: int) -> Fault:
    """An integer mask of fewer bits."""

    def change(st: ir.Statement) -> list[ir.Statement]:
        if isinstance(st, ir.Draw) and st.name == name:
            return [msgspec.structs.replace(st, type=ir.TensorType(ir.Integer(bits), st.type.shape))]
        return [st]

    return lambda p: _body(p, change)


def all_of(*faults: Fault) -> Fault:
    def change(p: ir.Protocol) -> ir.Protocol:
        for fault in faults:
            p = fault(p)
        return p

    return change


def wide_range(p: ir.Protocol) -> ir.Protocol:
    """Nothing is known of the range of the inputs."""
    return msgspec.structs.replace(
        p, inputs=tuple(msgspec.structs.replace(i, range_bits=0) for i in p.inputs)
    )


def third_piece(p: ir.Protocol) -> ir.Protocol:
    """A third share holder, who truncates as the second does."""
    holding = lib.additive("p0", "p1", "p2")
    given = msgspec.structs.replace(p.inputs[0], holding=holding)
    output = msgspec.structs.replace(p.outputs[0], holding=holding)
    more = [
        msgspec.structs.replace(
            st, party="p2", target="z.p2", value=with_names(st.value, {"x.p1": ref("x.p2")})
        )
        for st in p.body
        if isinstance(st, ir.Assign) and st.party == "p1"
    ]
    parties = lib.parties("p0", "p1", "p2")
    return msgspec.structs.replace(
        p, parties=parties, inputs=(given,), outputs=(output,), body=(*p.body, *more)
    )


def checking(p: ir.Protocol, value: ir.Expr) -> ir.Protocol:
    change: Callable[[ir.Statement], list[ir.Statement]] = lambda st: [  # noqa: E731
        msgspec.structs.replace(st, value=value) if isinstance(st, ir.Check) else st
    ]
    return _body(p, change)


def secret_w(p: ir.Protocol) -> ir.Protocol:
    given = msgspec.structs.replace(p.inputs[1], holding=ir.Clear(("server",)))
    return msgspec.structs.replace(p, inputs=(p.inputs[0], given))
