"""The view rule of replay, condition by condition, on protocols written out: the move that each forbids is refused."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from pllm_lang.artifacts.lock_data import Move
from pllm_lang.artifacts.replay.outputs import proves_outputs
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.run import PARTS, run
from pllm_lang.artifacts.replay.view_rule import proves_view
from pllm_lang.ir import protocol as p

BIG = p.Ring(1 << 64)
M = str(1 << 64)
MINUS = str((1 << 64) - 1)


def typed(*shape: int, number: p.Number = BIG) -> p.TensorType:
    return p.TensorType(number, shape)


def masked(u: p.Expr, *draws: p.Statement, x: p.TensorType | None = None, **given: Any) -> p.Protocol:
    """`a` sends `u`, made of its `x` and the draws, to `b`."""
    inputs = (p.Input("x", x or typed(2, 2), p.Clear(("a",)), **given),)
    body = (*draws, p.Assign("a", "u", u), p.Send("a", ("b",), "u"))
    return p.Protocol("text", (p.Party("a"), p.Party("b")), inputs, (), body)


def drawn(type_: p.TensorType | None = None, *holders: str, **given: Any) -> p.Draw:
    return p.Draw("r", type_ or typed(2, 2), holders or ("a",), **given)


X, R = p.Ref("x"), p.Ref("r")
DIFFERENCE = p.Add((X, p.Scale(-1, R)))
MOVE = Move(0, "r", MINUS, "1", M)


def shows(protocol: p.Protocol, *moves: Move, members: tuple[str, ...] = ("b",)) -> str:
    """ "" where the view is proved, else why not."""
    try:
        proves_view(run(protocol), members, moves)
    except ReplayError as problem:
        return problem.message
    return ""


def test_a_mask_hides() -> None:
    assert shows(masked(DIFFERENCE, drawn()), MOVE) == ""
    assert "shows something of `x`" in shows(masked(DIFFERENCE, drawn()))


TURNED = p.Add((X, p.Transpose(R)))
LIFTED = p.Cast(p.Ref("r"), BIG)
REFUSED: dict[str, tuple[p.Protocol, Move, str]] = {
    "a broadcast draw": (masked(p.Add((X, p.Broadcast(R, 0, 2))), drawn(typed(2))), Move(0, "r", "1", "1", M), "(a)"),
    "a slice of a draw": (masked(p.Add((X, p.Slice(R, 0, 0, 2))), drawn(typed(3, 2))), Move(0, "r", "1", "1", M), "(a)"),
    "a draw of a smaller ring": (
        masked(p.Add((X, LIFTED)), drawn(typed(2, 2, number=p.Ring(1 << 16)))), Move(0, "r", "1", "1", M), "(a)"),
    "a stated ring that is not the message's": (masked(DIFFERENCE, drawn()), Move(0, "r", MINUS, "1", str(1 << 32)), "(b)"),
    "twice the draw": (masked(p.Add((X, p.Scale(2, R))), drawn()), Move(0, "r", "2", "1", M), "(c)"),
    "another coefficient than is there": (masked(DIFFERENCE, drawn()), Move(0, "r", "1", "1", M), "(c)"),
    "the draw twice": (masked(p.Add((p.Mul(X, R), R)), drawn()), Move(0, "r", "1", "1", M), "(d)"),
    "the draw inside a call": (
        masked(p.Add((p.Call("f", (R,), typed(2, 2)), R)), drawn()), Move(0, "r", "1", "1", M), "(d)"),
    "a factor that does not divide all": (masked(p.Add((X, p.Scale(2, R))), drawn()), Move(0, "r", "1", "2", M), "(c)"),
    "three times an integer": (
        masked(p.Add((X, p.Scale(3, p.Cast(R, BIG)))), drawn(typed(2, 2, number=p.Integer(50))), range_bits=10),
        Move(0, "r", "3", "1", "0", 30), "(b)"),
    "a draw of a ring as an integer": (masked(DIFFERENCE, drawn(), range_bits=10), Move(0, "r", "-1", "1", "0", 30), "(b)"),
    "a draw whose key a function takes": (
        masked(DIFFERENCE, p.KeyDraw("k", ("a",)), drawn(via=p.ViaPrf("k", ("l",))),
               p.Assign("a", "e", p.Call("encrypt", (X,), typed(2, 2), ("k",)))), MOVE, "(e)"),
    "a draw that is known": (masked(DIFFERENCE, drawn(None, "a", "b")), MOVE, "(e)"),
    "a draw that outlives the message": (masked(DIFFERENCE, drawn(None, lifetime="session")), MOVE, "(f)"),
    "a message that is not there": (masked(DIFFERENCE, drawn()), Move(1, "r", MINUS, "1", M), "no such message"),
    "an integer mask that is too narrow": (
        masked(p.Add((X, p.Cast(R, BIG))), drawn(typed(2, 2, number=p.Integer(20))), range_bits=10),
        Move(0, "r", "1", "1", "0", 11), "so small"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_move_that_a_condition_forbids(case: str) -> None:
    protocol, move, why = REFUSED[case]
    assert why in shows(protocol, move)


def test_a_block_of_a_draw_is_beyond_replay() -> None:
    """The verifier cuts draws where blocks of them mask different messages."""
    with pytest.raises(ReplayError, match="cuts a draw into blocks") as refused:
        proves_view(run(masked(DIFFERENCE, drawn())), ("b",), (Move(0, "r[0:1]", MINUS, "1", M),))
    assert refused.value.code == "certificate.beyond"


def test_an_integer_mask_hides_up_to_its_distance() -> None:
    wide = masked(p.Add((X, p.Cast(R, BIG))), drawn(typed(2, 2, number=p.Integer(50))), range_bits=10)
    assert shows(wide, Move(0, "r", "1", "1", "0", 40)) == ""
    assert proves_view(run(wide), ("b",), (Move(0, "r", "1", "1", "0", 40),)) * 2**40 == 4
    assert "so small" in shows(wide, Move(0, "r", "1", "1", "0", 41))


def test_a_draw_beside_its_transpose_hides_one_of_them() -> None:
    """`x - r` and `transpose(r)` give x away."""
    text = masked(DIFFERENCE, drawn())
    more = (p.Assign("a", "t", p.Transpose(R)), p.Send("a", ("b",), "t"))
    assert "shows something of `x`" in shows(msgspec.structs.replace(text, body=(*text.body, *more)), MOVE)
    assert shows(masked(TURNED, drawn()), Move(0, "r", "1", "1", M)) == ""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (p.ViaPrf("k", ("l",)), p.ViaPrf("k", ("l",))),
        (p.ViaPrf("k", ("l", "counter")), p.ViaPrf("k", ("l", "counter"))),
    ],
)
def test_one_stream_twice_is_refused(first: p.ViaPrf, second: p.ViaPrf) -> None:
    key = p.KeyDraw("k", ("a",))
    draws = (p.Draw("r", typed(2, 2), ("a",), first), p.Draw("s", typed(4), ("a",), second))
    with pytest.raises(ReplayError, match="repeats a stream"):
        run(masked(DIFFERENCE, key, *draws))


def test_a_key_that_is_sent_opens_its_streams() -> None:
    key = p.KeyDraw("k", ("a",))
    text = masked(DIFFERENCE, key, p.Draw("r", typed(2, 2), ("a",), p.ViaPrf("k", ("l",))))
    assert shows(text, MOVE) == ""
    sent = msgspec.structs.replace(text, body=(*text.body, p.Send("a", ("b",), "k")))
    assert "(e)" in shows(sent, MOVE)


def test_a_session_key_without_a_counter_repeats() -> None:
    key = p.KeyDraw("k", ("a",), lifetime="session")
    with pytest.raises(ReplayError, match="repeats a stream"):
        run(masked(DIFFERENCE, key, p.Draw("r", typed(2, 2), ("a",), p.ViaPrf("k", ("l",)))))


def test_nobody_computes_with_what_it_does_not_hold() -> None:
    text = masked(DIFFERENCE, drawn(None, "b"))
    with pytest.raises(ReplayError, match="`a` does not hold `r`"):
        run(text)


def test_a_result_that_is_not_what_it_means() -> None:
    out = p.Output("u", typed(2, 2), p.Clear(("b",)), X)
    wrong = msgspec.structs.replace(masked(DIFFERENCE, drawn()), outputs=(out,))
    with pytest.raises(ReplayError, match="not shown to be what it means"):
        proves_outputs(run(wrong))
    proves_outputs(run(msgspec.structs.replace(masked(X), outputs=(out,))))


def test_what_may_be_learnt_is_no_secret() -> None:
    out = p.Output("u", typed(2, 2), p.Clear(("b",)), X)
    assert shows(msgspec.structs.replace(masked(X), outputs=(out,))) == ""
    elsewhere = p.Output("u", typed(2, 2), p.Clear(("a",)), X)
    assert "shows something" in shows(msgspec.structs.replace(masked(X), outputs=(elsewhere,)))


def test_a_variable_called_like_a_result_of_somebody_else_is_none() -> None:
    """`c` gets `y`, which is 0; the `y` that `b` is sent is the secret."""
    out = p.Output("y", typed(2, 2), p.Clear(("c",)))
    body = (p.Assign("a", "y", X), p.Send("a", ("b",), "y"), p.Assign("c", "y", p.Const(0, typed(2, 2))))
    text = msgspec.structs.replace(masked(X), outputs=(out,), body=body)
    text = msgspec.structs.replace(text, parties=(*text.parties, p.Party("c")))
    assert "shows something of `x`" in shows(text, members=("b", "c"))
    assert shows(text, members=("c",)) == ""


# ---- results that give no secret alone ----
SQUARE, OWN = p.Mul(X, X), p.Ref("w")


def beside(u: p.Expr, *meanings: p.Expr, holder: str = "b", shape: tuple[int, ...] = (2, 2)) -> p.Protocol:
    """`b`, who has `w`, gets `u`, and as results what is meant."""
    text = masked(u)
    names = [f"v{place}" for place, _ in enumerate(meanings)]
    outputs = tuple(
        p.Output(name, typed(*shape), p.Clear((holder,)), meant)
        for name, meant in zip(names, meanings, strict=True)
    )
    given = (*text.inputs, p.Input("w", typed(2, 2), p.Clear(("a", "b"))))
    results: list[p.Statement] = []
    for name, meant in zip(names, meanings, strict=True):
        results += [p.Assign("a", name, meant), p.Send("a", ("b",), name)]
    return msgspec.structs.replace(text, inputs=given, outputs=outputs, body=(*text.body, *results))


@pytest.mark.parametrize(
    ("u", "meanings"),
    [
        (SQUARE, [SQUARE]),
        (p.Add((p.Scale(6, SQUARE), OWN)), [SQUARE]),
        (SQUARE, [p.Add((SQUARE, p.Mul(OWN, OWN)))]),
        (p.Scale(-4, SQUARE), [p.Scale(2, SQUARE)]),
        (p.Add((p.Scale(-2, X), p.Scale(-4, SQUARE))), [p.Add((p.Scale(2, X), p.Scale(4, SQUARE)))]),
        (p.Scale(2, p.Mul(SQUARE, X)), [p.Add((SQUARE, p.Mul(SQUARE, X))), SQUARE]),
    ],
)
def test_a_message_made_of_results_and_what_is_known(u: p.Expr, meanings: list[p.Expr]) -> None:
    assert shows(beside(u, *meanings)) == ""


@pytest.mark.parametrize(
    ("u", "meanings"),
    [
        (X, [SQUARE]),
        (p.Add((SQUARE, X)), [SQUARE]),
        (SQUARE, [p.Scale(2, SQUARE)]),
        (p.Transpose(SQUARE), [SQUARE]),
        (SQUARE, [p.Mul(SQUARE, OWN)]),
        (SQUARE, [p.Add((SQUARE, p.Mul(X, OWN)))]),
        (SQUARE, [p.Add((SQUARE, p.Mul(SQUARE, X)))]),
    ],
)
def test_a_message_that_results_do_not_make(u: p.Expr, meanings: list[p.Expr]) -> None:
    assert "shows something of `x`" in shows(beside(u, *meanings))


def test_a_result_of_somebody_else_makes_nothing() -> None:
    assert "shows something of `x`" in shows(beside(SQUARE, SQUARE, holder="a"))


KEY, HALF = p.KeyDraw("k", ("a",)), p.Piece("r", ("a",))


@pytest.mark.parametrize(
    ("inputs", "body"),
    [
        ((), (p.Draw("x", typed(2, 2), ("a",)),)),
        ((p.Input("x", typed(2, 2), p.Clear(("a",))),), ()),
        ((p.Input("\0x", typed(2, 2), p.Clear(("a",))),), ()),
        ((p.Input("y", typed(2, 2), p.Shared("additive", (HALF, HALF))),), ()),
        (
            (
                p.Input("y", typed(2, 2), p.Shared("additive", (HALF,))),
                p.Input("y.r", typed(2, 2), p.Public()),
            ),
            (),
        ),
        ((), (KEY, KEY)),
        ((), (drawn(), drawn())),
        ((), (KEY, p.Draw("k", typed(2, 2), ("a",)))),
    ],
)
def test_names_that_are_two_things(inputs: tuple[p.Input, ...], body: tuple[p.Statement, ...]) -> None:
    text = masked(X)
    with pytest.raises(ReplayError, match="names two things"):
        run(msgspec.structs.replace(text, inputs=(*text.inputs, *inputs), body=body))


# ---- what is equal has equal values ----
def means(value: p.Expr, meaning: p.Expr, *shape: int) -> str:
    """ "" where a text that computes one is shown to compute the other."""
    out = p.Output("u", typed(*shape), p.Clear(("a",)), meaning)
    text = p.Protocol("text", (p.Party("a"),), (p.Input("x", typed(2, 2), p.Clear(("a",))),), (out,), ())
    try:
        proves_outputs(run(msgspec.structs.replace(text, body=(p.Assign("a", "u", value),))))
    except ReplayError as problem:
        return problem.message
    return ""


def constants(*lengths: int) -> p.Expr:
    """As many ones as the first says, then zeros, then ones."""
    return p.Concat(tuple(p.Const(1 - i % 2, typed(n)) for i, n in enumerate(lengths)), 0)


def called(table: tuple[int, ...], *keys: str) -> p.Expr:
    return p.Call("f", (X,), typed(2, 2), keys, table)


@pytest.mark.parametrize(
    ("value", "meaning", "shape"),
    [
        (constants(2, 3), constants(3, 2), (5,)),
        (constants(0, 3, 2), constants(0, 1, 4), (5,)),
        (called((0, 1)), called((1, 0)), (2, 2)),
        (p.Concat((X, p.Scale(0, X)), 0), p.Concat((p.Scale(0, X), X), 0), (4, 2)),
    ],
)
def test_what_differs_is_not_shown_to_be_equal(
    value: p.Expr, meaning: p.Expr, shape: tuple[int, ...]
) -> None:
    assert means(value, value, *shape) == ""
    assert "not shown to be what it means" in means(value, meaning, *shape)


@pytest.mark.parametrize(
    "moved",
    [
        p.Reshape(R, (2, 2, 2)),
        p.Slice(R, 0, 0, 9),
        p.Slice(R, 5, 0, 1),
        p.Slice(R, -1, 0, 2),
        p.Gather(R, 0, (0, 2)),
        p.Gather(R, 0, (-1, 0)),
        p.Transpose(R, (0, 0)),
        p.Sum(R, -1),
        p.Broadcast(R, -1, 2),
        p.Concat((R, p.Const(0, typed(2, 3))), 0),
    ],
)
def test_maps_that_do_not_fit_what_they_take_are_refused(moved: p.Expr) -> None:
    """A reshape to more entries than there are hid all of them."""
    with pytest.raises(ReplayError):
        run(masked(moved, drawn()))


def test_a_distance_is_counted_over_entries_that_are_known() -> None:
    wide = p.TensorType(p.Integer(50), ("n", 2))
    text = masked(p.Add((X, p.Cast(R, BIG))), drawn(wide), x=p.TensorType(BIG, ("n", 2)), range_bits=10)
    with pytest.raises(ReplayError, match="unknown size"):
        run(text)


@pytest.mark.parametrize("bits", [-1, 1 << 60])
def test_bits_that_nobody_counts_with_are_refused(bits: int) -> None:
    with pytest.raises(ReplayError, match="more bits than are followed"):
        run(masked(X, drawn(typed(2, 2, number=p.Integer(bits)))))


def test_no_part_of_an_expression_is_passed_over() -> None:
    for kind in get_args(p.Expr):
        for name, hint in get_type_hints(kind).items():
            assert (name in PARTS) == (p.Ref in (*get_args(hint), *get_args((*get_args(hint), None)[0])))


def test_a_key_is_used_by_who_holds_it() -> None:
    sealed = p.Call("encrypt", (X,), typed(2, 2), ("k",))
    with pytest.raises(ReplayError, match="a key that it uses"):
        run(masked(sealed, p.KeyDraw("k", ("b",))))
    with pytest.raises(ReplayError, match="a key that it uses"):
        run(masked(p.Add((X, p.Scale(2, sealed)))))
    run(masked(sealed, p.KeyDraw("k", ("a",))))


def test_a_branch_is_not_followed() -> None:
    with pytest.raises(ReplayError, match="no branches") as refused:
        run(masked(X, p.Check("a", p.Scale(0, X)), p.When("a", X, ())))
    assert refused.value.code == "certificate.beyond"


def test_a_check_that_tells_something_is_refused() -> None:
    with pytest.raises(ReplayError, match="tells something"):
        run(masked(X, p.Check("a", X)))


def test_a_stream_is_expanded_and_a_key_sent_by_who_has_it() -> None:
    key, via = p.KeyDraw("k", ("b",)), p.ViaPrf("k", ("l",))
    with pytest.raises(ReplayError, match="expanded without its key"):
        run(masked(DIFFERENCE, key, drawn(via=via)))
    with pytest.raises(ReplayError, match="expanded without its key"):
        run(masked(DIFFERENCE, drawn(via=via)))
    with pytest.raises(ReplayError, match="sends a key that it does not hold"):
        run(masked(X, key, p.Send("a", ("b",), "k")))


def test_what_is_burnt_is_drawn_anew() -> None:
    made = p.Bundle("triple", "entry", ("r",))
    run(masked(DIFFERENCE, drawn(), made))
    with pytest.raises(ReplayError, match="outlives an execution"):
        run(masked(DIFFERENCE, drawn(lifetime="session"), made))


@pytest.mark.parametrize(
    "value",
    [
        p.Add((X, p.Const(1, typed(2, 2, number=p.Ring(1 << 32))))),
        p.Add((X, p.Const(1, typed(2)))),
        p.Mul(X, p.Const(1, typed(2))),
        p.MatMul(X, p.Const(1, typed(3, 2))),
        p.MatMul(X, p.Const(1, typed(2, 2, number=p.Ring(1 << 32)))),
        p.Concat((X, X), 2),
    ],
)
def test_values_of_other_rings_or_shapes_are_not_put_together(value: p.Expr) -> None:
    with pytest.raises(ReplayError, match="do not fit"):
        run(masked(value))


def test_holders_hold_the_same() -> None:
    out = p.Output("u", typed(2, 2), p.Clear(("a", "b")), X)
    body = (p.Assign("a", "u", X), p.Send("a", ("b",), "x"), p.Assign("b", "u", p.Scale(3, X)))
    with pytest.raises(ReplayError, match="do not hold the same"):
        proves_outputs(run(msgspec.structs.replace(masked(X), outputs=(out,), body=body)))


def test_an_integer_mask_is_used_again_by_its_residue_only() -> None:
    """x + r hides x up to a distance; r itself, modulo 3, is u - x modulo 3 for an integer x only."""
    integer = drawn(typed(2, 2, number=p.Integer(50)))
    text, move = masked(p.Add((X, p.Cast(R, BIG))), integer, range_bits=10), Move(0, "r", "1", "1", "0", 40)
    for number, why in ((p.Ring(3), "more than its residue"), (p.Ring(8), "shows something")):
        again = (p.Assign("a", "t", p.Cast(R, number)), p.Send("a", ("b",), "t"))
        assert why in shows(msgspec.structs.replace(text, body=(*text.body, *again)), move)
