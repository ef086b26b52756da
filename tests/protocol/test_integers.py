"""Integers beside residues: how large one can be, what its residue is, and which of them are one value."""

from __future__ import annotations

from pllm_lang.ir import protocol as p
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.protocol.prove import prove_protocol
from pllm_lang.verify.protocol.report import ProtocolReport

A, B, C = (p.Party(name) for name in "abc")
WIDE, NARROW = p.Ring(1 << 64), p.Ring(1 << 32)


def _row(number: p.Number) -> p.TensorType:
    return p.TensorType(number, (1,))


def _given(name: str, number: p.Number, range_bits: int = 0) -> p.Input:
    return p.Input(name, _row(number), p.Clear(("a",)), range_bits=range_bits)


def _opened_behind_a_mask(given: p.Input, value: p.Expr, *before: p.Statement) -> ProtocolReport:
    """`a` sends `value` behind a mask of 48 bits to `c`."""
    mask = p.Draw("m", _row(p.Integer(48)), ("a",))
    sent = (p.Assign("a", "u", p.Add((value, p.Ref("m")))), p.Send("a", ("c",), "u"))
    text = p.Protocol("opened", (A, C), (given,), (), (mask, *before, *sent))
    return prove_protocol(text, [["c"]])


def test_a_shifted_integer_is_as_large_as_what_it_was_made_of() -> None:
    wide = _opened_behind_a_mask(_given("x", p.Integer(63, True)), p.Shift(p.Ref("x"), 8))
    assert wide.verdict is not Verdict.PROVED  # 55 bits behind a mask of 48
    small = _opened_behind_a_mask(_given("x", p.Integer(16, True)), p.Shift(p.Ref("x"), 8))
    assert [one.exponent <= 40 for one in small.views[0].statistical] == [True]


def test_one_function_of_two_widths_is_two_values() -> None:
    given = _given("x", p.Integer(8))
    narrow, wide = (p.Call("f", (p.Ref("x"),), _row(p.Integer(bits))) for bits in (4, 60))
    report = _opened_behind_a_mask(given, wide, p.Assign("a", "z", narrow))
    assert report.verdict is not Verdict.PROVED


def _cut(given: p.Input, meaning: p.Expr, value: p.Expr, failure: int = 40) -> ProtocolReport:
    """`y` is to be `meaning / 2^8` with one unit of error; `r` is uniform in the ring."""
    output = p.Output("y", _row(WIDE), p.Clear(("a",)), meaning, 8, 1, failure)
    body = (p.Draw("r", _row(WIDE), ("a",)), p.Assign("a", "y", value))
    return prove_protocol(p.Protocol("cut", (A, C), (given,), (output,), body), [["c"]])


def _difference(plus: p.Expr, minus: p.Expr) -> p.Expr:
    return p.Add((p.Shift(plus, 8), p.Scale(-1, minus)))


AS_INTEGER = p.Cast(p.Ref("r"), p.Integer(64))


def test_the_truncation_lemma_is_about_residues() -> None:
    given = _given("x", WIDE, 20)
    good = _difference(p.Add((p.Ref("x"), p.Ref("r"))), p.Shift(p.Ref("r"), 8))
    assert _cut(given, p.Ref("x"), good).verdict is Verdict.PROVED
    negative = p.Cast(p.Shift(p.Scale(-1, AS_INTEGER), 8), WIDE)
    turned = _difference(p.Add((p.Ref("x"), p.Scale(-1, p.Ref("r")))), negative)
    assert _cut(given, p.Ref("x"), turned).verdict is not Verdict.PROVED
    beyond = p.Add((AS_INTEGER, p.Const(1 << 64, _row(p.Integer(66)))))
    shifted = _difference(p.Add((p.Ref("x"), p.Ref("r"))), p.Cast(p.Shift(beyond, 8), WIDE))
    assert _cut(given, p.Ref("x"), shifted).verdict is not Verdict.PROVED


def test_a_stated_range_is_of_the_centred_value_and_not_of_its_representative() -> None:
    """-1 modulo 2^32 is 2^32 - 1 in the larger ring."""
    meaning = p.Scale(1 << 8, p.Cast(p.Ref("x"), WIDE))
    value = _difference(p.Add((meaning, p.Ref("r"))), p.Shift(p.Ref("r"), 8))
    assert _cut(_given("x", NARROW, 8), meaning, value, 47).verdict is not Verdict.PROVED


def test_a_result_made_of_fresh_pieces_is_no_value_that_may_be_learnt() -> None:
    """`s + x.a` has a uniform piece in it, so that it says nothing about `s`; `s` itself does."""
    pieces = p.Shared("additive", (p.Piece("a", ("a",)), p.Piece("b", ("b",))))
    given = (p.Input("x", _row(WIDE), pieces, fresh=True), _given("s", WIDE))
    told = p.Output("o", _row(WIDE), p.Clear(("c",)))
    hidden = (p.Assign("a", "o", p.Add((p.Ref("s"), p.Ref("x.a")))), p.Send("a", ("c",), "o"))
    text = p.Protocol("told", (A, B, C), given, (told,), hidden)
    assert prove_protocol(text, [["c"]]).verdict is Verdict.PROVED
    shown = p.Protocol("told", (A, B, C), given, (told,), (*hidden, p.Send("a", ("c",), "s")))
    assert prove_protocol(shown, [["c"]]).verdict is Verdict.REFUTED
