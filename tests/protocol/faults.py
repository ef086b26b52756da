"""Ways to break a protocol, and the broken copies of every library protocol with the reason each must be
refused for.

A reason is `view:<party>` (that party learns something), `output` (it computes something else), `knowledge`
(a party computes from what it does not hold), `reused` (a PRF stream repeats), `abort` (an honest run may
abort), `misfit` (shapes or rings), `missing` (an output is not where it should be), `open-sharing` (one
party has every piece).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from pllm_lang.ir import protocol as ir
from pllm_lang.verify.protocol.compose import with_names
from tests.protocol import library as lib
from tests.protocol.library import add, ref, sub

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


def _check(p: ir.Protocol, value: ir.Expr) -> ir.Protocol:
    change: Callable[[ir.Statement], list[ir.Statement]] = lambda st: [  # noqa: E731
        msgspec.structs.replace(st, value=value) if isinstance(st, ir.Check) else st
    ]
    return _body(p, change)


def _secret_w(p: ir.Protocol) -> ir.Protocol:
    given = msgspec.structs.replace(p.inputs[1], holding=ir.Clear(("server",)))
    return msgspec.structs.replace(p, inputs=(p.inputs[0], given))


X, Y = ref("x"), ref("y")
MINUS = ir.Scale(-1, X)


def _beaver_faults() -> list[tuple[str, Fault, str]]:
    return [
        ("mask reused across rows", one_row("a_p0"), "view:p1"),
        ("mask reused across calls", long_lived("k_p0", "k_p1"), "view:p1"),
        ("two masks from one stream", same_label("b_p0", "a"), "reused"),
        ("correction to the wrong party", sent_to("c_p1", "p0"), "knowledge"),
        ("the dealer's seed to the other party", seed_to("dealer", "k_p0", "p1"), "view:p1"),
        ("sign flipped", flipped("z.p1"), "output"),
        ("missing message", dropped("d_p1"), "knowledge"),
        ("unused draw", without("d_p0", "a_p0"), "view:p1"),
        ("the first party deals", merged("dealer", "p0"), "view:p0"),
        ("a share to the dealer", leaked("p0", "x.p0", "dealer"), "view:dealer"),
        (
            "opened to the dealer too",
            all_of(leaked("p0", "d_p0", "dealer"), leaked("p1", "d_p1", "dealer")),
            "view:dealer",
        ),
        ("the product of the openings left out", without("z.p0", "e", "d"), "output"),
    ]


def _replicated_faults() -> list[tuple[str, Fault, str]]:
    return [
        ("zero share left out", all_of(*(without(f"z.{i}", "f0", "f1", "f2") for i in range(3))), "view:p0"),
        ("zero share reused across rows", all_of(*(one_row(f"f{i}") for i in range(3))), "view:p0"),
        ("zero share reused across calls", no_counter("f0", "f1", "f2"), "reused"),
        ("one seed to the third party", seed_to("p1", "k1", "p2"), "view:p2"),
        ("sign flipped", flipped("z.1"), "output"),
        ("message to the wrong neighbour", sent_to("z.1", "p2"), "missing"),
        ("missing message", dropped("z.2"), "missing"),
        ("two roles merged", merged("p2", "p1"), "open-sharing"),
        ("an input piece to the third party", leaked("p1", "x.2", "p0"), "view:p0"),
        ("zero shares do not cancel", renamed("f2", ref("f1"), "z.1"), "output"),
        ("output to another party", leaked("p1", "z.2", "p0"), "view:p0"),
    ]


w = ir.Transpose(ref("w"))
FAULTS: dict[str, list[tuple[str, Fault, str]]] = {
    "masked_linear": [
        ("mask reused across rows", one_row("r"), "view:inference"),
        ("mask reused across calls", long_lived("seed"), "view:inference"),
        ("output mask reused across rows", one_row("s"), "view:inference"),
        ("correction to the wrong party", sent_to("c", "client"), "knowledge"),
        ("seed to the evaluator", seed_to("preparation", "seed", "inference"), "view:inference"),
        ("one stream for both masks", same_label("s", "r"), "reused"),
        ("sign flipped", computed("y", sub(ref("v"), ref("s"))), "output"),
        ("operand not transposed", computed("v", add(ir.MatMul(ref("u"), ref("w")), ref("c"))), "misfit"),
        ("missing message", dropped("u"), "knowledge"),
        ("unused draw", computed("u", X), "view:inference"),
        ("two roles merged", merged("preparation", "inference"), "view:inference"),
        ("output to another party", leaked("client", "y", "preparation"), "view:preparation"),
    ],
    "additive_share": [
        ("mask reused across entries", one_row("r"), "view:p0"),
        ("mask reused across calls", long_lived("seed"), "view:p0"),
        ("seed to the other party", seed_to("client", "seed", "p0"), "view:p0"),
        ("unused draw", computed("z.p0", X), "view:p0"),
        ("sign flipped", computed("z.p0", add(X, ref("r"))), "output"),
        ("missing message", dropped("z.p0"), "output"),
        ("to the wrong party", sent_to("z.p0", "p1"), "view:p1"),
        ("two roles merged", merged("p1", "p0"), "view:p0"),
        (
            "an even mask",
            all_of(computed("z.p0", sub(X, ir.Scale(2, ref("r")))), computed("z.p1", ir.Scale(2, ref("r")))),
            "view:p0",
        ),
        ("both pieces to one party", leaked("p1", "z.p1", "p0"), "view:p0"),
    ],
    "additive_add": [
        ("sign flipped", flipped("z.p1"), "output"),
        ("an operand twice", renamed("y.p0", ref("x.p0"), "z.p0"), "output"),
        ("an operand left out", computed("z.p0", ref("x.p0")), "output"),
        ("a share to the other party", leaked("p1", "x.p1", "p0"), "view:p0"),
        ("a result share to the other party", leaked("p1", "z.p1", "p0"), "view:p0"),
        ("the other way round", leaked("p0", "z.p0", "p1"), "view:p1"),
        ("roles merged", merged("p1", "p0"), "open-sharing"),
        ("a piece from the other party", computed("z.p0", add(ref("x.p1"), ref("y.p0"))), "knowledge"),
        ("nobody adds", lambda p: msgspec.structs.replace(p, body=p.body[:1]), "missing"),
    ],
    "additive_reveal": [
        ("shares that are not fresh", stale_shares, "view:client"),
        ("missing message", dropped("x.p1"), "knowledge"),
        ("output to another party", leaked("p1", "x.p1", "p0"), "view:p0"),
        ("opened to the wrong party", sent_to("x.p0", "p1"), "view:p1"),
        ("sign flipped", flipped("z"), "output"),
        ("a share counted twice", computed("z", add(ref("x.p0"), ref("x.p0"))), "output"),
        ("result handed on", leaked("client", "z", "p0"), "view:p0"),
        (
            "one share sent twice as large",
            computed("z", add(ref("x.p0"), ir.Scale(2, ref("x.p1")))),
            "output",
        ),
        ("nobody computes", lambda p: msgspec.structs.replace(p, body=p.body[:2]), "missing"),
    ],
    "beaver_multiply": _beaver_faults(),
    "beaver_matmul": [
        *_beaver_faults()[1:],
        (
            "product the other way round",
            computed(
                "c_p1",
                sub(ir.MatMul(add(ref("b_p0"), ref("b_p1")), add(ref("a_p0"), ref("a_p1"))), ref("c_p0")),
            ),
            "misfit",
        ),
    ],
    "replicated_share": [
        ("mask reused across entries", one_row("z.1"), "view:p2"),
        ("mask reused across calls", long_lived("z.1", "z.2"), "view:p0"),
        ("mask left out", computed("z.0", sub(X, ref("z.1"))), "view:p0"),
        ("sign flipped", computed("z.0", sub(add(X, ref("z.1")), ref("z.2"))), "output"),
        ("missing message", dropped("z.0"), "missing"),
        ("to the wrong party", sent_to("z.0", "p0", "p1"), "view:p1"),
        ("third piece to p0", leaked("p1", "z.2", "p0"), "view:p0"),
        ("roles merged", merged("p2", "p1"), "view:p1"),
        ("one mask twice", computed("z.0", sub(sub(X, ref("z.1")), ref("z.1"))), "output"),
    ],
    "replicated_multiply": _replicated_faults(),
    "replicated_matmul": _replicated_faults(),
    "replicated_reveal": [
        ("output to another party", leaked("p0", "z", "p1"), "view:p1"),
        ("a piece to another party", leaked("p0", "x.0", "p1"), "view:p1"),
        ("missing message", dropped("x.2"), "knowledge"),
        ("the wrong piece", computed("z", add(ref("x.0"), ref("x.1"), ref("x.1"))), "output"),
        ("sign flipped", flipped("z"), "output"),
        ("to the wrong party", sent_to("x.2", "p2"), "knowledge"),
        ("p2 gets its missing piece", leaked("p0", "x.1", "p2"), "view:p2"),
        ("a piece left out", computed("z", add(ref("x.0"), ref("x.2"))), "output"),
        ("roles merged", merged("p2", "p1"), "open-sharing"),
    ],
    "local_truncation": [
        ("three parties", third_piece, "output"),
        ("share not negated", computed("z.p1", ir.Shift(ref("x.p1"), 16)), "output"),
        ("another shift", computed("z.p0", ir.Shift(ref("x.p0"), 15)), "output"),
        ("no range stated", wide_range, "output"),
        ("a smaller failure claimed", claims(failure=40), "output"),
        ("no error claimed", claims(error=0), "output"),
        ("another scale claimed", claims(scale_bits=17), "output"),
        ("not claimed to round", claims(scale_bits=0, error=0, failure=0), "output"),
        ("a share to the other party", leaked("p1", "x.p1", "p0"), "view:p0"),
        ("a result share to the other party", leaked("p1", "z.p1", "p0"), "view:p0"),
    ],
    "masked_truncation": [
        ("mask too narrow", narrow("m", 20), "view:p0"),
        ("mask wider than the ring", narrow("m", 64), "output"),
        ("mask reused across entries", one_row("m"), "view:p0"),
        ("mask reused across calls", long_lived("m", "m_p0", "h_p0"), "view:p0"),
        ("no range stated", wide_range, "view:p0"),
        ("mask left out", all_of(computed("o_p0", ref("x.p0")), computed("o_p1", ref("x.p1"))), "view:p0"),
        ("shift of the mask sent open", leaked("p0", "h_p0", "p1"), "view:p1"),
        ("correction to the wrong party", sent_to("m_p1", "p0"), "knowledge"),
        ("the first party deals", merged("dealer", "p0"), "view:p0"),
        ("no offset for negative values", computed("o_p0", add(ref("x.p0"), ref("m_p0"))), "output"),
        ("missing message", dropped("o_p1"), "knowledge"),
        ("sign flipped", computed("z.p1", ref("h_p1")), "output"),
    ],
    "additive_to_replicated": [
        ("mask reused across entries", one_row("z.0"), "view:p1"),
        ("mask reused across calls", long_lived("z.0", "z.2"), "view:p0"),
        ("unused draw", computed("u", ref("x.p0")), "view:p1"),
        ("sign flipped", flipped("z.1"), "output"),
        ("missing message", dropped("v"), "knowledge"),
        ("opening to the helper", leaked("p0", "u", "p2"), "view:p2"),
        ("correction to the wrong party", sent_to("u", "p2"), "knowledge"),
        ("helper is the first party", merged("p2", "p0"), "view:p0"),
        ("one mask for both", renamed("z.2", ref("z.0"), "v"), "knowledge"),
    ],
    "arithmetic_to_boolean": [
        (
            "no mask on the result",
            computed("z.p1", ir.Call("bits", (add(ref("x.p0"), ref("x.p1")),), lib.t(("n", 8), ir.Ring(2)))),
            "view:p1",
        ),
        ("mask reused across words", one_row("z.p0"), "view:p1"),
        ("mask reused across calls", long_lived("z.p0"), "view:p1"),
        ("a share to the other party", leaked("p1", "x.p1", "p0"), "view:p0"),
        ("result shares to one party", leaked("p1", "z.p1", "p0"), "view:p0"),
        ("missing message", dropped("x.p1"), "knowledge"),
        (
            "one share only",
            computed(
                "z.p1",
                sub(
                    ir.Call("bits", (add(ref("x.p0"), ref("x.p0")),), lib.t(("n", 8), ir.Ring(2))),
                    ref("z.p0"),
                ),
            ),
            "output",
        ),
        ("both pieces to p0", sent_to("z.p1", "p0"), "view:p0"),
    ],
    "freivalds": [
        ("wrong product", computed("y", ir.MatMul(ir.Scale(2, X), ref("w"))), "output"),
        (
            "check of another vector",
            lambda p: _check(p, sub(ir.MatMul(ref("y"), ref("r")), ref("r"))),
            "misfit",
        ),
        (
            "check against twice the product",
            lambda p: _check(
                p,
                sub(ir.Scale(2, ir.MatMul(ref("y"), ref("r"))), ir.MatMul(X, ir.MatMul(ref("w"), ref("r")))),
            ),
            "abort",
        ),
        ("missing message", dropped("y"), "knowledge"),
        ("to nobody who needs it", sent_to("y", "server"), "knowledge"),
        (
            "the server does not have x",
            lambda p: msgspec.structs.replace(
                p, inputs=(msgspec.structs.replace(p.inputs[0], holding=ir.Clear(("client",))), *p.inputs[1:])
            ),
            "knowledge",
        ),
        ("the check reveals w", _secret_w, "knowledge"),
        ("operand transposed", computed("y", ir.MatMul(ir.Transpose(X), ref("w"))), "misfit"),
    ],
    "garbled_table": [
        (
            "mask left out",
            computed(
                "y.e",
                ir.Call(
                    "square",
                    (X,),
                    lib.t(("n",), ir.Ring(256)),
                    table=tuple((i * i) % 256 for i in range(256)),
                ),
            ),
            "view:evaluator",
        ),
        ("mask reused across entries", one_row("y.c"), "view:evaluator"),
        ("mask reused across calls", long_lived("y.c"), "view:evaluator"),
        ("mask to the evaluator", leaked("client", "y.c", "evaluator"), "view:evaluator"),
        ("input to the evaluator", leaked("client", "x", "evaluator"), "view:evaluator"),
        (
            "sign flipped",
            computed(
                "y.e",
                add(
                    ir.Call(
                        "square",
                        (X,),
                        lib.t(("n",), ir.Ring(256)),
                        table=tuple((i * i) % 256 for i in range(256)),
                    ),
                    ref("y.c"),
                ),
            ),
            "output",
        ),
        (
            "another table",
            computed(
                "y.e",
                sub(
                    ir.Call(
                        "cube",
                        (X,),
                        lib.t(("n",), ir.Ring(256)),
                        table=tuple((i * i * i) % 256 for i in range(256)),
                    ),
                    ref("y.c"),
                ),
            ),
            "output",
        ),
        ("missing message", dropped("x"), "knowledge"),
        ("roles merged", merged("client", "evaluator"), "open-sharing"),
    ],
    "crt_lookup": [
        ("mask reused across entries", one_row("y.client"), "view:evaluator"),
        ("mask reused across calls", long_lived("y.client"), "view:evaluator"),
        (
            "residues swapped",
            computed(
                "joined",
                add(
                    ir.Scale(6, ir.Cast(ref("x3"), ir.Ring(15))),
                    ir.Scale(10, ir.Cast(ref("x5"), ir.Ring(15))),
                ),
            ),
            "output",
        ),
        ("a residue to the evaluator", leaked("client", "x3", "evaluator"), "view:evaluator"),
        ("missing message", dropped("x5"), "knowledge"),
        ("both pieces to the evaluator", sent_to("y.client", "evaluator"), "view:evaluator"),
        ("sign flipped", flipped("joined"), "output"),
        ("one residue twice", computed("x5", ir.Cast(ir.Scale(2, X), ir.Ring(5))), "output"),
        ("mask left out", computed("y.evaluator", ir.Cast(ref("joined"), ir.Ring(16))), "view:evaluator"),
    ],
    "oblivious_transfer": [
        ("both messages to the receiver", leaked("sender", "m1", "receiver"), "view:receiver"),
        ("the other message too", leaked("sender", "m0", "receiver"), "view:receiver"),
        ("choice to the sender", leaked("receiver", "b", "sender"), "view:sender"),
        ("result to the sender", leaked("receiver", "m", "sender"), "view:sender"),
        (
            "messages swapped",
            computed("m", add(ref("m1"), ir.Mul(ir.Cast(ref("b"), lib.Z64), sub(ref("m0"), ref("m1"))))),
            "output",
        ),
        ("missing choice", dropped("b"), "knowledge"),
        ("missing message", dropped("m1"), "knowledge"),
        ("sum of both", computed("m", add(ref("m0"), ref("m1"))), "output"),
        (
            "choice in the wrong ring",
            computed("m", add(ref("m0"), ir.Mul(ref("b"), sub(ref("m1"), ref("m0"))))),
            "misfit",
        ),
    ],
    "encrypted_linear": [
        ("the server decrypts", leaked("client", "x", "server"), "view:server"),
        ("result to the server", leaked("client", "y", "server"), "view:server"),
        ("weights to the client", leaked("server", "w", "client"), "view:client"),
        ("missing ciphertext", dropped("x"), "knowledge"),
        ("missing weights", dropped("w"), "knowledge"),
        ("sign flipped", computed("y", ir.Scale(-1, ir.MatMul(X, ref("w")))), "output"),
        ("result to the wrong party", sent_to("y", "server"), "view:server"),
        ("operand transposed", computed("y", ir.MatMul(X, ir.Transpose(ref("w")))), "misfit"),
        ("twice", computed("y", ir.Scale(2, ir.MatMul(X, ref("w")))), "output"),
    ],
}
