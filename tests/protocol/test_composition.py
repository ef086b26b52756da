"""Whole plans from the proofs of their parts: fast, and only where the rule allows it."""

from __future__ import annotations

import time

import msgspec
import pytest

from pllm_lang.ir import protocol as ir
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.protocol import compose
from pllm_lang.verify.protocol.compose import prove_composed_view, prove_composition
from pllm_lang.verify.protocol.composed_cost import cost_of_composition
from pllm_lang.verify.protocol.inlining import Composition, Instance, inlined
from pllm_lang.verify.protocol.prove import prove_protocol
from tests.protocol import library as lib
from tests.protocol.decoder import decoder
from tests.protocol.library import Z64, parties, t
from tests.protocol.primitives import garbled_table

COALITIONS = [frozenset([p]) for p in ("client", "preparation", "inference")]
BY_PARTS = "every protocol by its own proof"


def test_an_80_layer_decoder_within_a_second() -> None:
    plan = decoder(80)
    compose._own_view.cache_clear()
    compose._exact.cache_clear()
    start = time.process_time()
    views = prove_composition(plan, COALITIONS)
    spent = time.process_time() - start
    assert [v.verdict for v in views] == [Verdict.PROVED] * 3
    assert spent < 1
    assert compose._own_view.cache_info().misses <= 60


def test_equal_layers_are_proved_once() -> None:
    misses: list[int] = []
    for layers in (2, 80):
        compose._own_view.cache_clear()
        prove_composed_view(decoder(layers), COALITIONS[2])
        misses.append(compose._own_view.cache_info().misses)
    assert misses[0] == misses[1]


TWO = (("p0", "p0"), ("p1", "p1"))
DEALT = (*TWO, ("dealer", "dealer"))


def block(dealer: str = "dealer", names: tuple[str, ...] = ("p0", "p1", "dealer", "client")) -> Composition:
    """Share, multiply with a triple, open to the client."""
    v = t(("n",))
    roles = {"client": "client", "p0": "p0", "p1": "p1"}
    share, open_ = lib.additive_share(), lib.additive_reveal()
    wires = tuple(roles.items())
    steps = (
        Instance(share, wires, (("x", "x"),), (("z", "xs"),)),
        Instance(share, wires, (("x", "y"),), (("z", "ys"),)),
        Instance(lib.beaver(), (*TWO, ("dealer", dealer)), (("x", "xs"), ("y", "ys")), (("z", "zs"),)),
        Instance(open_, wires, (("x", "zs"),), (("z", "z"),)),
    )
    inputs = (ir.Input("x", v, ir.Clear(("client",))), ir.Input("y", v, ir.Clear(("client",))))
    output = ir.Output("z", v, ir.Clear(("client",)))
    return Composition("block", parties(*names), inputs, (output,), steps)


@pytest.mark.parametrize("party", ["client", "p0", "p1", "dealer"])
def test_a_beaver_block(party: str) -> None:
    view = prove_composed_view(block(), frozenset([party]))
    assert view.verdict is Verdict.PROVED
    assert view.reason == BY_PARTS


def test_the_first_party_as_the_dealer_learns_every_operand() -> None:
    view = prove_composed_view(block("p0", ("p0", "p1", "client")), frozenset(["p0"]))
    assert view.verdict is Verdict.REFUTED
    assert view.leak is not None
    assert "x" in view.leak.secret or "y" in view.leak.secret


def test_two_corrupted_parties_see_everything() -> None:
    assert prove_composed_view(block(), frozenset(["p0", "p1"])).verdict is not Verdict.PROVED


def test_a_triple_used_twice() -> None:
    """Two products from one tuple: the difference of two operands is seen."""
    v = t(("n",))
    holding = lib.additive("p0", "p1")
    draws = tuple((d, f"tuple:{d}") for p in TWO for d in (f"a_{p[0]}", f"b_{p[0]}"))
    names = ("x", "y", "u")
    inputs = tuple(ir.Input(n, v, holding) for n in names)

    def step(one: str, two: str, out: str) -> Instance:
        protocol = _dealt_by_message(lib.beaver())
        return Instance(protocol, DEALT, (("x", one), ("y", two)), (("z", out),), draws)

    steps = (step("x", "y", "z1"), step("u", "y", "z2"))
    outputs = (ir.Output("z1", v, holding), ir.Output("z2", v, holding))
    plan = Composition("reuse", parties("p0", "p1", "dealer"), inputs, outputs, steps)
    view = prove_composed_view(plan, frozenset(["p0"]))
    assert view.verdict is Verdict.REFUTED
    assert view.leak is not None
    assert prove_composed_view(_apart(plan), frozenset(["p0"])).verdict is Verdict.PROVED


def _apart(plan: Composition) -> Composition:
    steps = tuple(msgspec.structs.replace(s, draws=()) for s in plan.instances)
    return msgspec.structs.replace(plan, instances=steps)


def _dealt_by_message(protocol: ir.Protocol) -> ir.Protocol:
    body = tuple(
        msgspec.structs.replace(s, via=ir.ViaMessage()) if isinstance(s, ir.Draw) else s
        for s in protocol.body
    )
    return msgspec.structs.replace(protocol, body=tuple(s for s in body if not isinstance(s, ir.KeyDraw)))


def test_needs_fresh_is_not_met_by_a_sum_of_old_shares() -> None:
    """z = x + x has the pieces of x doubled: they are even, and p0's view of both openings tells."""
    v = t(("n",))
    wires = (("client", "client"), *TWO)
    steps = (
        Instance(lib.additive_reveal(), wires, (("x", "x"),), (("z", "o1"),)),
        Instance(lib.additive_reveal(), wires, (("x", "x"),), (("z", "o2"),)),
    )
    inputs = (ir.Input("x", v, lib.additive("p0", "p1"), fresh=True),)
    outputs = (ir.Output("o1", v, ir.Clear(("client",))), ir.Output("o2", v, ir.Clear(("client",))))
    plan = Composition("twice", parties("client", "p0", "p1"), inputs, outputs, steps)
    view = prove_composed_view(plan, frozenset(["client"]))
    assert view.reason != BY_PARTS


def test_an_intermediate_opening_is_not_for_free() -> None:
    """Opening the product's operand to p0 on the way, which nobody allowed."""
    v = t(("n",))
    roles = (("client", "p0"), *TWO)
    to_p0 = lib.replicated_reveal(Z64)
    inputs = (ir.Input("x", v, lib.replicated()),)
    steps = (Instance(to_p0, tuple((p, p) for p in lib.THREE), (("x", "x"),), (("z", "o"),)),)
    silent = Composition("opened", parties(*lib.THREE), inputs, (), steps)
    assert roles
    assert prove_composed_view(silent, frozenset(["p0"])).verdict is Verdict.REFUTED
    told = msgspec.structs.replace(silent, outputs=(ir.Output("o", v, ir.Clear(("p0",)), lib.ref("x")),))
    assert prove_composed_view(told, frozenset(["p0"])).verdict is Verdict.PROVED


def test_the_cost_of_a_decoder_is_that_of_its_layers() -> None:
    one, many = cost_of_composition(decoder(1)), cost_of_composition(decoder(80))
    assert [(k.sender, k.receiver, k.phase) for k in one.links] == [
        (k.sender, k.receiver, k.phase) for k in many.links
    ]
    for small, large in zip(one.links, many.links, strict=True):
        assert large.messages == 80 * small.messages
        assert dict(large.bits) == {s: 80 * n for s, n in small.bits}
    online = next(
        k for k in one.links if (k.sender, k.receiver, k.phase) == ("client", "inference", "online")
    )
    inputs = 4 * 8192 + 28672
    assert dict(online.bits) == {"m": 64 * inputs, "": 64 * inputs}


def test_material_adds_up() -> None:
    """Two products of n entries burn two triples."""
    plan = block()
    (need,) = cost_of_composition(plan).material
    assert (need.bundle, need.unit, need.count) == ("beaver_multiply.triple", "call", (("", 1),))
    twice = msgspec.structs.replace(plan, instances=(*plan.instances, plan.instances[2]))
    assert cost_of_composition(twice).material[0].count == (("", 2),)


def test_what_a_policy_lets_be_learnt_on_the_way() -> None:
    """The same opening as above, allowed by name and not by an output."""
    v = t(("n",))
    steps = (
        Instance(lib.replicated_reveal(), tuple((p, p) for p in lib.THREE), (("x", "x"),), (("z", "o"),)),
    )
    plan = Composition("opened", parties(*lib.THREE), (ir.Input("x", v, lib.replicated()),), (), steps)
    refused, allowed = (prove_composition(plan, [["p0"]], a)[0] for a in (None, {"p0": (lib.X,)}))
    assert refused.verdict is Verdict.REFUTED
    assert allowed.verdict is Verdict.PROVED


def test_a_value_must_live_as_long_as_its_protocol_takes_it_to() -> None:
    """A mask for the session hides weights, not what is new in every execution."""
    v, kept = t(("n",)), ir.Input("x", t(("n",)), ir.Clear(("client",)), lifetime="session")
    body = (
        ir.Draw("r", v, ("client",), lifetime="session"),
        ir.Assign("client", "u", lib.sub(lib.X, lib.ref("r"))),
        ir.Send("client", ("p0",), "u"),
        ir.Assign("client", "y", lib.X),
    )
    output = ir.Output("y", v, ir.Clear(("client",)), lib.X)
    once = ir.Protocol("once", parties("client", "p0"), (kept,), (output,), body)
    roles = (("client", "client"), ("p0", "p0"))
    steps = (Instance(once, roles, (("x", "w"),), (("y", "y"),)),)
    given = msgspec.structs.replace(kept, name="w")
    plan = Composition("kept", parties("client", "p0"), (given,), (), steps)
    assert prove_composed_view(plan, frozenset(["p0"])).reason == BY_PARTS
    anew = msgspec.structs.replace(plan, inputs=(msgspec.structs.replace(given, lifetime="execution"),))
    assert prove_composed_view(anew, frozenset(["p0"])).verdict is Verdict.REFUTED


def test_a_value_must_be_where_its_protocol_takes_it_to_be() -> None:
    """`public` in the protocol, a secret in the plan."""
    v = t(("n", "k"))
    inputs = (ir.Input("x", t(("m", "k")), ir.Clear(("client",))), ir.Input("w", v, ir.Clear(("client",))))
    roles = tuple((p, p) for p in ("client", "preparation", "inference"))
    steps = (Instance(lib.masked_linear(), roles, (("x", "x"), ("w", "w")), (("y", "y"),)),)
    plan = Composition("secret", parties("client", "preparation", "inference"), inputs, (), steps)
    view = prove_composed_view(plan, frozenset(["inference"]))
    assert view.verdict is Verdict.UNPROVED
    assert "does not hold w" in view.reason


def test_a_primitive_in_a_plan() -> None:
    """A masked table result, opened to the client again: by parts, and as one text."""
    q7 = t(("n",), ir.Ring(256))
    sharing = ir.Shared("masked", (ir.Piece("e", ("evaluator",)), ir.Piece("c", ("client",))))
    body = (
        ir.Send("evaluator", ("client",), "y.e"),
        ir.Assign("client", "o", lib.add(lib.ref("y.e"), lib.ref("y.c"))),
    )
    output = ir.Output("o", q7, ir.Clear(("client",)), lib.Y)
    two = parties("client", "evaluator")
    back = ir.Protocol("back", two, (ir.Input("y", q7, sharing),), (output,), body)
    roles = (("client", "client"), ("evaluator", "evaluator"))
    steps = (
        Instance(garbled_table(), roles, (("x", "x"),), (("y", "ys"),)),
        Instance(back, roles, (("y", "ys"),), (("o", "o"),)),
    )
    plan = Composition(
        "table",
        two,
        (ir.Input("x", q7, ir.Clear(("client",))),),
        (ir.Output("o", q7, ir.Clear(("client",))),),
        steps,
    )
    for party in ("client", "evaluator"):
        assert prove_composed_view(plan, frozenset([party])).reason == BY_PARTS
    report = prove_protocol(inlined(plan))
    assert [v.verdict for v in report.views] == [Verdict.PROVED] * 2
    assert [a.name for a in report.assumptions] == ["garbled-table"]
