"""Lifetimes, loops, branches, integer masks, primitives, keys, limits: one property each."""

from __future__ import annotations

from collections import Counter
from random import Random

import msgspec
import numpy as np
import pytest

from pllm_lang.ir import protocol as ir
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.protocol import search
from pllm_lang.verify.protocol.counting import counted_leak
from pllm_lang.verify.protocol.narration import narrate
from pllm_lang.verify.protocol.prove import prove_protocol
from pllm_lang.verify.protocol.report import View
from pllm_lang.verify.protocol.sizes import Sizes
from pllm_lang.verify.protocol.views import prove_view
from tests.protocol import library as lib
from tests.protocol.enumeration import Run
from tests.protocol.library import Z64, X, add, parties, ref, sub, t
from tests.protocol.mutations import one_row
from tests.protocol.primitives import oblivious_transfer

V = t(("n",))
FROM_A = ir.Clear(("a",))


def two(
    body: tuple[ir.Statement, ...], *inputs: ir.Input, outputs: tuple[ir.Output, ...] = ()
) -> ir.Protocol:
    given = inputs or (ir.Input("x", V, FROM_A),)
    return ir.Protocol("two", parties("a", "b", "c"), given, outputs, body)


def view(protocol: ir.Protocol, party: str = "b") -> View:
    return prove_protocol(protocol, [[party]]).views[0]


def masked(name: str = "u", value: ir.Expr = X, mask: str = "r") -> tuple[ir.Statement, ...]:
    return ir.Assign("a", name, sub(value, ref(mask)), origin=2), ir.Send("a", ("b",), name, origin=3)


# ---- lifetimes ----
def test_a_draw_for_one_execution_masks() -> None:
    assert view(two((ir.Draw("r", V, ("a",)), *masked()))).verdict is Verdict.PROVED


def test_a_draw_for_a_session_does_not() -> None:
    found = view(two((ir.Draw("r", V, ("a",), lifetime="session"), *masked())))
    assert found.verdict is Verdict.REFUTED
    assert found.leak is not None
    assert (found.leak.combination, found.leak.secret) == ("u1 - u2", "x1 - x2")


def test_a_leak_of_shares_says_which_executions_it_is_of() -> None:
    shares = ir.Shared("additive", (ir.Piece("a", ("a",)), ir.Piece("b", ("b",))))
    body = (ir.Draw("r", V, ("a",), lifetime="session"), *masked(value=ref("x.a")))
    found = view(two(body, ir.Input("x", V, shares)))
    assert found.leak is not None
    assert (found.leak.combination, found.leak.secret) == ("u1 - u2 + x.b1 - x.b2", "x1 - x2")


def test_a_session_draw_masks_what_lives_as_long() -> None:
    weights = ir.Input("x", V, FROM_A, lifetime="session")
    body = (ir.Draw("r", V, ("a",), lifetime="session"), *masked())
    assert view(two(body, weights)).verdict is Verdict.PROVED


def test_a_mask_of_weights_does_not_mask_what_is_new_each_time() -> None:
    """w - r goes out once for the weights; x*w is masked anew."""
    w = ir.Input("w", V, FROM_A, lifetime="weights")
    body = (
        ir.Draw("r", V, ("a",), lifetime="weights"),
        *masked("e", ref("w")),
        ir.Draw("s", V, ("a",)),
        *masked("u", ir.Mul(X, ref("w")), "s"),
    )
    assert view(two(body, ir.Input("x", V, FROM_A), w)).verdict is Verdict.PROVED
    reused = (*body[:3], *masked("u", ir.Mul(X, ref("w")), "r"))
    assert view(two(reused, ir.Input("x", V, FROM_A), w)).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("label", "verdict"), [(("r", "counter"), Verdict.PROVED), (("r",), Verdict.REFUTED)]
)
def test_a_counter_makes_a_stream_new(label: tuple[str, ...], verdict: Verdict) -> None:
    body = (
        ir.KeyDraw("k", ("a", "c"), "session"),
        ir.Draw("r", V, ("a", "c"), ir.ViaPrf("k", label)),
        *masked(),
    )
    report = prove_protocol(two(body), [["b"]])
    assert report.views[0].verdict is verdict
    assert bool(report.findings) == (verdict is Verdict.REFUTED)
    assert "prf" in [a.name for a in report.assumptions]


def test_a_key_that_is_sent_opens_its_draws() -> None:
    body = (ir.KeyDraw("k", ("a", "c")), ir.Draw("r", V, ("a",), ir.ViaPrf("k", ("r",))), *masked())
    sent = (*body, ir.Send("c", ("b",), "k", origin=4))
    assert view(two(body)).verdict is Verdict.PROVED
    assert view(two(sent)).verdict is Verdict.REFUTED


def test_one_stream_under_two_lengths() -> None:
    long, short = t((4,)), t((2,))
    body = (
        ir.KeyDraw("k", ("a", "c")),
        ir.Draw("r", long, ("a",), ir.ViaPrf("k", ("r",))),
        ir.Draw("s", short, ("a",), ir.ViaPrf("k", ("r",))),
        *masked("u", X, "r"),
        *masked("v", ref("y"), "s"),
    )
    report = prove_protocol(two(body, ir.Input("x", long, FROM_A), ir.Input("y", short, FROM_A)), [["b"]])
    assert report.views[0].verdict is Verdict.REFUTED
    assert "protocol.reused-stream" in [f.code for f in report.findings]


# ---- loops ----
def loop(count: ir.Dim, inner: tuple[ir.Statement, ...], outer: tuple[ir.Statement, ...] = ()) -> ir.Protocol:
    return two((*outer, ir.Repeat(count, inner)))


@pytest.mark.parametrize("count", [3, "tokens"])
def test_a_draw_inside_a_loop_masks_each_time(count: ir.Dim) -> None:
    fresh = (ir.Draw("s", V, ("a",)), ir.Draw("r", V, ("a",)), *masked("u", add(X, ref("s"))))
    assert view(loop(count, fresh)).verdict is Verdict.PROVED


@pytest.mark.parametrize("count", [3, "tokens"])
def test_a_draw_outside_a_loop_does_not(count: ir.Dim) -> None:
    """Each time another value under the same mask."""
    inner = (ir.Draw("s", V, ("a",)), *masked("u", ir.Mul(X, ref("s"))))
    assert view(loop(count, inner, (ir.Draw("r", V, ("a",)),))).verdict is not Verdict.PROVED


def test_rows_of_one_draw_in_an_unrolled_loop() -> None:
    """r[0], r[1] for two rows are two masks; r[0] for both is one."""
    x, row = t((2, "n")), ir.Slice
    inner = [row(X, 0, i, i + 1) for i in range(2)]

    def rows(*taken: int) -> ir.Protocol:
        body: list[ir.Statement] = [ir.Draw("r", x, ("a",))]
        for i, part in enumerate(inner):
            mask = row(ref("r"), 0, taken[i], taken[i] + 1)
            body += [ir.Assign("a", f"u{i}", sub(part, mask)), ir.Send("a", ("b",), f"u{i}")]
        return two(tuple(body), ir.Input("x", x, FROM_A))

    assert view(rows(0, 1)).verdict is Verdict.PROVED
    assert view(rows(0, 0)).verdict is Verdict.REFUTED


# ---- structure ----
def test_a_mask_beside_its_transpose() -> None:
    square = t(("n", "n"))
    body = (
        ir.Draw("r", square, ("a",)),
        ir.Assign("a", "u", sub(X, ref("r"))),
        ir.Send("a", ("b",), "u"),
        ir.Assign("a", "v", ir.Transpose(ref("r"))),
        ir.Send("a", ("b",), "v"),
    )
    found = view(two(body, ir.Input("x", square, FROM_A)))
    assert found.verdict is Verdict.REFUTED


def test_overlapping_slices_of_one_mask() -> None:
    x, part = t((3,)), t((2,))
    body = (
        ir.Draw("r", x, ("a",)),
        ir.Assign("a", "u", sub(ref("p"), ir.Slice(ref("r"), 0, 0, 2))),
        ir.Send("a", ("b",), "u"),
        ir.Assign("a", "v", sub(ref("q"), ir.Slice(ref("r"), 0, 1, 3))),
        ir.Send("a", ("b",), "v"),
    )
    inputs = (ir.Input("p", part, FROM_A), ir.Input("q", part, FROM_A))
    found = view(two(body, *inputs))
    assert found.leak is not None
    assert (found.leak.combination, found.leak.secret) == ("u[1] - v[0]", "p[1] - q[0]")


def test_a_bit_lifted_to_a_ring_is_no_mask() -> None:
    z4, bit = t(("n",), ir.Ring(4)), t(("n",), ir.Ring(2))
    body = (
        ir.Draw("r", bit, ("a",)),
        ir.Assign("a", "u", add(X, ir.Cast(ref("r"), ir.Ring(4)))),
        ir.Send("a", ("b",), "u"),
    )
    assert view(two(body, ir.Input("x", z4, FROM_A))).verdict is not Verdict.PROVED


def test_an_output_to_another_party_is_no_excuse() -> None:
    output = ir.Output("y", V, ir.Clear(("c",)), X)
    body = (ir.Assign("a", "y", X), ir.Send("a", ("b", "c"), "y", origin=5))
    protocol = two(body, outputs=(output,))
    assert view(protocol, "c").verdict is Verdict.PROVED
    assert view(protocol, "b").verdict is Verdict.REFUTED


def test_an_output_with_draws_stays_in_the_view() -> None:
    output = ir.Output("y", V, ir.Clear(("b",)))
    body = (
        ir.Draw("r", V, ("a",)),
        ir.Assign("a", "y", add(X, ref("r"))),
        ir.Send("a", ("b",), "y"),
        ir.Assign("a", "u", ref("r")),
        ir.Send("a", ("b",), "u"),
    )
    assert view(two(body, outputs=(output,))).verdict is Verdict.REFUTED


def test_what_a_policy_lets_be_learnt() -> None:
    body = (ir.Send("a", ("b",), "x", origin=5),)
    protocol = two(body)
    assert view(protocol).verdict is Verdict.REFUTED
    assert prove_protocol(protocol, [["b"]], {"b": (X,)}).verdict is Verdict.PROVED
    assert prove_protocol(protocol, [["b"]], {"c": (X,)}).verdict is Verdict.REFUTED
    doubled = two((ir.Assign("a", "u", ir.Scale(2, X)), ir.Send("a", ("b",), "u")))
    assert prove_protocol(doubled, [["b"]], {"b": (X,)}).verdict is Verdict.PROVED
    assert prove_protocol(protocol, [["b"]], {"b": (ir.Scale(2, X),)}).verdict is not Verdict.PROVED


# ---- control ----
def test_a_branch_on_a_secret_is_seen() -> None:
    scalar = ir.Input("x", t(()), FROM_A)
    body = (ir.Draw("r", t(()), ("a",)), ir.When("a", X, (ir.Send("a", ("b",), "r"),), origin=9))
    found = view(two(body, scalar))
    assert found.verdict is not Verdict.PROVED
    assert found.origins == (9,)
    public = msgspec.structs.replace(scalar, holding=ir.Public())
    assert view(two(body, public)).verdict is Verdict.PROVED


def test_an_abort_that_depends_on_a_secret() -> None:
    report = prove_protocol(two((ir.Check("a", X, origin=9),)), [["b"]])
    assert report.verdict is not Verdict.PROVED
    assert report.views[0].verdict is not Verdict.PROVED
    assert [f.code for f in report.findings] == ["protocol.abort"]


def test_malicious_is_unproved_unless_declared_and_assured() -> None:
    protocol = lib.masked_linear()
    assert prove_protocol(protocol, adversary="malicious").verdict is Verdict.UNPROVED
    declared = msgspec.structs.replace(protocol, adversary="malicious")
    assert prove_protocol(declared, adversary="malicious").verdict is Verdict.UNPROVED
    assert prove_protocol(declared, adversary="malicious", assured=True).verdict is Verdict.PROVED
    assert prove_protocol(protocol, adversary="malicious", assured=True).verdict is Verdict.UNPROVED


def test_a_key_is_held_by_its_holders_only() -> None:
    """A server that uses the secret key of its client."""
    call = ir.Call("decrypt", (ref("ct"),), V, keys=("sk",))
    body = (ir.KeyDraw("sk", ("a",)), ir.Send("a", ("b",), "x"), ir.Assign("b", "y", call, origin=7))
    protocol = two((*body[:2], ir.Assign("b", "ct", X), body[2]))
    report = prove_protocol(protocol, [["c"]])
    assert [(f.code, f.origins) for f in report.findings] == [("protocol.knowledge", (7,))]
    at_client = (ir.KeyDraw("sk", ("a",)), ir.Assign("a", "ct", X), ir.Assign("a", "y", call, origin=7))
    assert prove_protocol(two(at_client), [["c"]]).findings == ()


@pytest.mark.parametrize("other", [False, True])
def test_a_key_that_a_function_takes_masks_nothing(other: bool) -> None:
    """Of the function nothing is known but its name: what it gives may be the stream itself."""
    call = ir.Call("encrypt", (ir.Const(0, V),), V, keys=("k2" if other else "k",))
    keys = (ir.KeyDraw("k", ("a",)), ir.KeyDraw("k2", ("a",)))
    drawn = ir.Draw("r", V, ("a",), ir.ViaPrf("k", ("mask",)))
    body = (*keys, drawn, *masked(), ir.Assign("a", "e", call), ir.Send("a", ("b",), "e"))
    assert (view(two(body)).verdict is Verdict.PROVED) is other


def test_a_key_is_no_number() -> None:
    body = (ir.KeyDraw("k", ("a",)), ir.Assign("a", "u", add(X, ref("k")), origin=7))
    report = prove_protocol(two(body), [["b"]])
    assert [f.code for f in report.findings] == ["protocol.knowledge"]


def test_limits_end_in_a_verdict() -> None:
    body: list[ir.Statement] = [ir.Assign("a", "u", add(X, ref("y")))]
    body += [ir.Assign("a", "u", ir.Mul(ref("u"), add(ref("u"), X, ref("y"), ref("z")))) for _ in range(12)]
    inputs = tuple(ir.Input(n, V, FROM_A) for n in "xyz")
    report = prove_protocol(two((*body, ir.Send("a", ("b",), "u")), *inputs), [["b"]])
    assert report.verdict is Verdict.UNPROVED
    assert [f.code for f in report.findings] == ["protocol.limit"]


# ---- integer masks ----
def test_the_distance_of_an_integer_mask() -> None:
    report = prove_protocol(lib.masked_truncation(16, 20, 62), [["p0"]])
    (distance,) = report.views[0].statistical
    assert (distance.exponent, distance.entries) == (42, "n")


@pytest.mark.parametrize("seed", range(60))
def test_integer_masks_hide_up_to_the_distance(seed: int) -> None:
    """The real distance of two views, counted, is at most the sum of what the proof says."""
    rng = Random(seed)
    bits, ring = rng.choice((3, 4, 5)), ir.Ring(8)
    number, mask = ir.TensorType(ir.Integer(1)), ir.TensorType(ir.Integer(bits))
    body: list[ir.Statement] = [ir.Draw("m", mask, ("a",)), ir.Draw("s", t((), ring), ("a",))]
    value = rng.choice((X, ir.Scale(2, X), ir.Mul(X, ref("y")), ir.Scale(-1, X)))
    opened: ir.Expr = add(value, ref("m")) if rng.random() < 0.7 else sub(value, ref("m"))
    body += [ir.Assign("a", "u", opened), ir.Send("a", ("b",), "u")]
    extra = rng.choice((sub(ref("s"), ir.Cast(ref("m"), ring)), add(ir.Cast(X, ring), ref("s")), ref("s")))
    body += [ir.Assign("a", "v", extra), ir.Send("a", ("b",), "v")]
    inputs = (ir.Input("x", number, FROM_A), ir.Input("y", number, FROM_A))
    protocol = two(tuple(body), *inputs)
    found = prove_view(narrate(protocol, Sizes()), frozenset(["b"]))
    assert found.verdict is Verdict.PROVED
    claimed = sum(2.0**-s.exponent for s in found.statistical)
    assert 0 < _distance(protocol) <= claimed or value is X


def _distance(protocol: ir.Protocol) -> float:
    run = Run(protocol, 1, 1 << 16)
    rows = run._codes([v for receivers, _, _, v in run.received if "b" in receivers])
    counts = [Counter(row.tolist()) for row in rows]
    total = rows.shape[1]
    pairs = [(p, q) for p in counts for q in counts]
    return max(sum(abs(p[k] - q[k]) for k in p | q) / 2 / total for p, q in pairs)


def test_enumeration_agrees_on_the_library() -> None:
    """The enumeration that the prover is held against finds known leaks and known proofs."""
    protocol = lib.masked_linear(ir.Ring(4), (1, 1, 1))
    assert Run(protocol, 1, 1 << 16).independent(frozenset(["inference"]))
    plain = tuple(
        msgspec.structs.replace(s, value=X) if isinstance(s, ir.Assign) and s.target == "u" else s
        for s in protocol.body
    )
    broken = msgspec.structs.replace(protocol, body=plain)
    assert not Run(broken, 1, 1 << 16).independent(frozenset(["inference"]))
    assert np.prod(Run(protocol, 1, 1 << 16).n_draws) == 16


# ---- cost and material ----
def test_cost_by_link_phase_and_round() -> None:
    cost = prove_protocol(lib.beaver_matmul()).cost
    assert dict(cost.rounds) == {"offline": 1, "online": 1}
    online = {(link.sender, link.receiver): dict(link.bits) for link in cost.links if link.phase == "online"}
    assert online["p0", "p1"] == {"k*m": 64, "k*n": 64}
    offline = {
        (link.sender, link.receiver): dict(link.bits) for link in cost.links if link.phase == "offline"
    }
    assert offline["dealer", "p0"] == {"": 128}
    assert offline["dealer", "p1"] == {"": 128, "m*n": 64}


def test_material_by_entry_row_and_call() -> None:
    units = {"entry": (("k*m", 1),), "row": (("m", 1),), "call": (("", 1),)}
    for unit, count in units.items():
        body = (ir.Draw("r", t(("m", "k")), ("a",)), ir.Bundle("mask", unit, ("r",)))  # type: ignore[arg-type]
        (need,) = prove_protocol(two(body), [["b"]]).cost.material
        assert (need.bundle, need.unit, need.count) == ("mask", unit, count)


def test_a_pattern_names_the_lengths() -> None:
    patterns = {p.party: p.lengths for p in prove_protocol(lib.masked_linear()).pattern}
    assert patterns == {"client": ("m", "n"), "preparation": (), "inference": ("k", "m", "n")}


def test_a_ring_must_fit() -> None:
    body = (ir.Draw("r", t(("n",), ir.Ring(1 << 32)), ("a",)), *masked())
    report = prove_protocol(two(body, ir.Input("x", t(("n",), Z64), FROM_A)), [["b"]])
    assert "protocol.misfit" in [f.code for f in report.findings]


def test_a_stranger_is_named() -> None:
    report = prove_protocol(two((ir.Send("a", ("d",), "x"),)), [["b"]])
    assert [(f.code, f.message) for f in report.findings] == [("protocol.unknown-party", "no party d")]
    assert prove_protocol(two(()), [["z"]]).verdict is Verdict.UNPROVED


def test_a_meaning_must_fit() -> None:
    output = ir.Output("y", V, ir.Clear(("b",)), ir.MatMul(X, ref("nothing")))
    report = prove_protocol(two((ir.Send("a", ("b",), "x"),), outputs=(output,)), [["b"]])
    assert [f.code for f in report.findings] == ["protocol.meaning"]


def test_a_primitive_is_not_corrupted() -> None:
    assert prove_protocol(oblivious_transfer(), [["ot"]]).verdict is Verdict.UNPROVED


@pytest.mark.parametrize(("factor", "fresh"), [(1, True), (-1, True), (2, False)])
def test_a_fresh_share_is_uniform_itself(factor: int, fresh: bool) -> None:
    """Pieces x - f*s, f*s: with an even f the second is no uniform value."""
    holding = lib.additive("a", "b", "c")
    body = (
        ir.Draw("s", V, ("a",)),
        ir.Draw("r", V, ("a",)),
        ir.Assign("a", "z.a", sub(sub(X, ir.Scale(factor, ref("s"))), ref("r"))),
        ir.Assign("a", "z.b", ref("r")),
        ir.Assign("a", "z.c", ir.Scale(factor, ref("s"))),
        ir.Send("a", ("b",), "z.b"),
        ir.Send("a", ("c",), "z.c"),
    )
    protocol = two(body, outputs=(ir.Output("z", V, holding, X),))
    (found,) = [v for v in prove_protocol(protocol).views if v.coalition == ("b",)]
    assert found.verdict is Verdict.PROVED
    assert ("z" in found.fresh) is fresh


def test_a_leak_of_large_sizes_is_shown_at_small_ones() -> None:
    """The same plan with concrete sizes: executed at two smaller ones, which the finding names."""
    broken = one_row("r")(lib.masked_linear(Z64, (64, 896, 4864)))
    (found,) = prove_protocol(broken, [["inference"]]).views
    assert found.leak is not None
    assert "896 reduced to 2" in found.leak.setting
    assert prove_protocol(lib.masked_linear(Z64, (64, 896, 4864))).verdict is Verdict.PROVED


def test_a_leak_that_a_linear_combination_does_not_show() -> None:
    """x * r tells how often 0 is seen."""
    body = (ir.Draw("r", V, ("a",)), ir.Assign("a", "u", ir.Mul(X, ref("r"))), ir.Send("a", ("b",), "u"))
    found = view(two(body))
    assert found.leak is not None
    assert found.leak.values == (4, 1)
    assert found.leak.setting == "n = 1; residues modulo 4"


def test_a_leak_of_smaller_residues_must_be_one_of_the_ring() -> None:
    """2x is allowed, which at modulo 2 looks like nothing; x*x + 2r says no more than 2x, and is not
    refuted."""
    z4 = t((1,), ir.Ring(4))
    body = (
        ir.Draw("r", z4, ("a",)),
        ir.Assign("a", "u", add(ir.Mul(X, X), ir.Scale(2, ref("r")))),
        ir.Send("a", ("b",), "u"),
    )
    protocol = two(body, ir.Input("x", z4, FROM_A))
    report = prove_protocol(protocol, [["b"]], {"b": (ir.Scale(2, X),)})
    assert Run(protocol, 1, 1 << 10).independent(frozenset(["b"]), (ir.Scale(2, X),))
    assert report.views[0].verdict is Verdict.UNPROVED


def test_an_allowed_output_changes_from_execution_to_execution() -> None:
    """w1 + s once, w2 + y*s + r with y new each time: two executions give s away, though y may be learnt."""
    kept = {"lifetime": "session"}
    body = (
        ir.Draw("s", V, ("a",), **kept),  # type: ignore[arg-type]
        ir.Draw("r", V, ("a",), **kept),  # type: ignore[arg-type]
        ir.Assign("a", "u", add(ref("w1"), ref("s"))),
        ir.Send("a", ("b",), "u"),
        ir.Assign("a", "v", add(ref("w2"), ir.Mul(X, ref("s")), ref("r"))),
        ir.Send("a", ("b",), "v"),
        ir.Assign("a", "y", X),
        ir.Send("a", ("b",), "y"),
    )
    secrets = tuple(ir.Input(n, V, FROM_A, lifetime="session") for n in ("w1", "w2"))
    for given in (ir.Input("x", V, FROM_A), ir.Input("x", V, ir.Clear(("a", "b")))):
        protocol = two(body, *secrets, given, outputs=(ir.Output("y", V, ir.Clear(("b",)), X),))
        assert view(protocol).verdict is not Verdict.PROVED
    constant = ir.Input("x", V, FROM_A, lifetime="session")
    protocol = two(body, *secrets, constant, outputs=(ir.Output("y", V, ir.Clear(("b",)), X),))
    assert view(protocol).verdict is Verdict.PROVED


def test_counting_takes_every_entry_of_a_stream() -> None:
    """x * x' + r has both its entries masked, by a stream: no view is more frequent, though the rule is stuck."""
    bits, bit = t((2,), ir.Ring(2)), t((1,), ir.Ring(2))
    body = (
        ir.KeyDraw("k", ("a", "c")),
        ir.Draw("s", bits, ("a",), ir.ViaPrf("k", ("s",))),
        ir.Draw("q", bit, ("a",)),
        ir.Assign("a", "u", add(X, ref("s"))),
        ir.Send("a", ("b",), "u"),
        ir.Assign("a", "v", ir.Mul(ref("q"), ir.Add((ref("q"), ir.Const(1, bit), ir.Slice(X, 0, 0, 1))))),
        ir.Send("a", ("b",), "v"),
    )
    protocol = two(body, ir.Input("x", bits, FROM_A))
    truth = Run(protocol, 1, 1 << 10).independent(frozenset(["b"]))
    assert (view(protocol).verdict is Verdict.REFUTED) == (not truth)
    masked_bits = two(body[:5], ir.Input("x", bits, FROM_A))
    assert counted_leak(masked_bits, frozenset(["b"])) is None
    assert Run(masked_bits, 1, 1 << 10).independent(frozenset(["b"]))


# ---- long texts ----
def chained(count: int, own: bool) -> ir.Protocol:
    """Messages `x - r_i`, or `x - r_i - r_(i + 1)` in a ring of draws, of which none is in one message alone."""
    draws = tuple(ir.Draw(f"r{i}", V, ("a",)) for i in range(count))
    lines: list[ir.Statement] = []
    for i in range(count):
        hidden = sub(X, ref(f"r{i}"))
        value = hidden if own else sub(hidden, ref(f"r{(i + 1) % count}"))
        lines += [ir.Assign("a", f"u{i}", value), ir.Send("a", ("b",), f"u{i}")]
    return two((*draws, *lines))


def test_messages_with_draws_of_their_own_are_no_search() -> None:
    assert view(chained(1200, own=True)).verdict is Verdict.PROVED


@pytest.mark.parametrize(
    ("limit", "most", "why"),
    [("MAX_NODES", 20, "ends after 20"), ("MAX_TERMS", 30, "30 messages at most")],
)
def test_a_search_that_ends_early_says_so(
    limit: str, most: int, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = narrate(chained(40, own=False), Sizes())
    assert prove_view(trace, frozenset({"b"})).verdict is Verdict.PROVED
    monkeypatch.setattr(search, limit, most)
    found = prove_view(trace, frozenset({"b"}), look_for_leaks=False)
    assert found.verdict is Verdict.UNPROVED
    assert why in found.reason
