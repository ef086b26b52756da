"""The broken copies of every library protocol with the reason each must be
refused for.

A reason is `view:<party>` (that party learns something), `output` (it computes something else), `knowledge`
(a party computes from what it does not hold), `reused` (a PRF stream repeats), `abort` (an honest run may
abort), `misfit` (shapes or rings), `missing` (an output is not where it should be), `open-sharing` (one
party has every piece).
"""

from __future__ import annotations

import msgspec

from pllm_lang.ir import protocol as ir
from tests.protocol import library as lib
from tests.protocol.library import add, ref, sub
from tests.protocol.mutations import (
    Fault,
    all_of,
    checking,
    claims,
    computed,
    dropped,
    flipped,
    leaked,
    long_lived,
    merged,
    narrow,
    no_counter,
    one_row,
    renamed,
    same_label,
    secret_w,
    seed_to,
    sent_to,
    stale_shares,
    third_piece,
    wide_range,
    without,
)

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
            lambda p: checking(p, sub(ir.MatMul(ref("y"), ref("r")), ref("r"))),
            "misfit",
        ),
        (
            "check against twice the product",
            lambda p: checking(
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
        ("the check reveals w", secret_w, "knowledge"),
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
