"""Repeats stay one body with affine indices; states are read before they are written, once a stage."""

from __future__ import annotations

import pytest

from pllm_lang.catalog.expr import Apply, Num, Ref
from pllm_lang.ir.plan import Carried, Member, Repeat, StateWrite
from tests.ir.lowering import Case, lower


def plan(text: str) -> Case:
    return lower(
        f"""plan p under pol {{
  input h: fx[3, 3] from client
  weight w[0..<8]: fx[3, 3] public
  {text}
}}"""
    )


def test_a_repeat_keeps_one_body_and_carries_names() -> None:
    case = plan(
        "repeat i in 0..<4 carrying [h] {\n a = mul(h, w[2 * i + 1])\n h = add(a, h)\n }\n output h to client"
    )
    assert case.codes == []
    (node,) = case.plan.stages[0].body
    assert isinstance(node, Repeat)
    (carried,) = node.carried
    first, second = case.steps()
    assert (node.depth, node.low, node.high) == (0, 0, 4)
    assert first.operands[0] == carried.inner
    assert first.operands[1] == Member(1, Apply("+", (Apply("*", (Num("2"), Ref("%0"))), Num("1"))))
    assert carried == Carried(0, carried.inner, second.results[0], carried.final)
    assert case.plan.stages[0].outputs[0].value == carried.final


def test_equal_indices_have_one_form() -> None:
    case = plan("repeat i in 0..<3 carrying [h] {\n a = mul(w[i + i + 1], w[1 + 2 * i])\n h = add(a, h)\n }")
    left, right = case.steps()[0].operands
    assert left == right


def test_repeats_inside_each_other() -> None:
    inner_text = "repeat j in 0..<4 carrying [h] {\n h = mul(h, w[4 * i + j])\n }"
    case = plan(f"repeat i in 0..<2 carrying [h] {{\n {inner_text}\n }}")
    assert case.codes == []
    outer = case.plan.stages[0].body[0]
    assert isinstance(outer, Repeat)
    inner = outer.body[0]
    assert isinstance(inner, Repeat)
    assert inner.depth == 1
    assert outer.carried[0].next == inner.carried[0].final
    assert inner.carried[0].initial == outer.carried[0].inner


REFUSED = {
    "index too high": ("repeat i in 0..<9 carrying [h] { h = mul(h, w[i]) }", "types.index", "i"),
    "index too low": ("repeat i in 0..<8 carrying [h] { h = mul(h, w[i - 1]) }", "types.index", "i - 1"),
    "not affine": ("repeat i in 0..<2 carrying [h] { h = mul(h, w[i * i]) }", "types.index", "i * i"),
    "empty": ("repeat i in 3..<3 carrying [h] { h = mul(h, w[0]) }", "types.index", "3..<3"),
    "not carried": ("repeat i in 0..<3 { h = mul(h, w[0]) }", "names.duplicate", "h"),
    "carried, not renewed": ("repeat i in 0..<3 carrying [h] { a = mul(h, w[0]) }", "types.carried", "h"),
    "renewed twice": (
        "repeat i in 0..<3 carrying [h] { h = mul(h, w[0]) h = mul(h, w[0]) }",
        "names.duplicate",
        "h",
    ),
    "another type": ("repeat i in 0..<3 carrying [h] { h = linear(h, w[0]) }", "types.carried", "h"),
    "carrying nothing known": ("repeat i in 0..<3 carrying [k] { a = mul(h, h) }", "names.unknown", "k"),
    "carried inside only": (
        "repeat i in 0..<3 { repeat j in 0..<3 carrying [h] { h = mul(h, h) } }",
        "types.carried",
        "h",
    ),
    "carrying a family": ("repeat i in 0..<3 carrying [w] { a = mul(h, h) }", "types.carried", "w"),
    "the variable as a value": (
        "repeat i in 0..<3 carrying [h] { h = mul(h, i) }",
        "types.not_an_operand",
        "i",
    ),
    "a name of the body outside": (
        "repeat i in 0..<3 carrying [h] { a = mul(h, h) h = add(a, a) }\n b = add(a, h)",
        "names.unknown",
        "a",
    ),
    "a declaration inside": (
        "repeat i in 0..<3 { weight u: fx[2] public }",
        "stages.misplaced",
        "weight u: fx[2] public",
    ),
    "too many turns": ("repeat i in 0..<10^12 carrying [h] { h = mul(h, h) }", "limits.repeat", "0..<10^12"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_repeats_that_do_not_fit(name: str) -> None:
    text, code, place = REFUSED[name]
    assert plan(text).told() == [(code, place)]


# ---- states ------------------------------------------------------------------------------------------


def staged(first: str, second: str = "y = add(x, kv[0])\n output y to client") -> Case:
    return lower(
        f"""plan p under pol {{
  input x: fx[3, 3] from client
  state kv[0..<8]: fx[3, 3] where abs(kv) <= 100
  state one: fx[3, 3]
  stage prefill {{
    {first}
  }}
  stage decode {{
    {second}
  }}
}}"""
    )


def test_states_are_written_and_read() -> None:
    case = staged("repeat i in 0..<8 { a = add(x, kv[i])\n kv[i] = a }\n one = add(x, one)")
    assert case.codes == []
    repeat, step, write = case.plan.stages[0].body
    assert isinstance(repeat, Repeat)
    assert repeat.body[1] == StateWrite(Member(1, Ref("%0")), case.steps()[0].results[0])
    assert write == StateWrite(2, step.results[0])  # type: ignore[union-attr]
    assert [stage.name for stage in case.plan.stages] == ["prefill", "decode"]


ACCEPTED = {
    "other members": "kv[0] = x\n a = add(kv[1], x)\n kv[1] = a",
    "even and odd": "repeat i in 0..<4 { kv[2 * i] = x\n a = add(x, kv[2 * i + 1])\n kv[2 * i + 1] = a }",
    "read, then write": "a = add(one, one)\n one = a",
    "two variables": "repeat i in 0..<2 { repeat j in 0..<4 { kv[4 * i + j] = x } }",
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accesses_that_do_not_meet(name: str) -> None:
    assert staged(ACCEPTED[name]).codes == []


MEETING = {
    "twice": ("one = x\n one = x", "stages.written_twice"),
    "twice by index": ("kv[1] = x\n repeat i in 0..<2 { kv[i] = x }", "stages.written_twice"),
    "every turn": ("repeat i in 0..<3 { one = x }", "stages.written_twice"),
    "one member every turn": (
        "repeat i in 0..<2 { repeat j in 0..<4 { kv[i + j] = x } }",
        "stages.written_twice",
    ),
    "read after": ("one = x\n a = add(one, x)", "stages.read_after_write"),
    "an earlier turn's": (
        "repeat i in 1..<8 { a = add(x, kv[i - 1])\n kv[i] = a }",
        "stages.read_after_write",
    ),
    "another type": ("one = linear(x, x)", "types.format_mismatch"),
    "a whole family": ("kv = x", "types.index"),
    "beyond the family": ("kv[8] = x", "types.index"),
    "a single state by index": ("one[0] = x", "types.index"),
}


@pytest.mark.parametrize("name", MEETING)
def test_accesses_that_meet(name: str) -> None:
    text, code = MEETING[name]
    assert staged(text).codes == [code]


def test_a_stage_does_not_see_into_another() -> None:
    case = staged("a = add(x, x)\n one = a", "b = add(a, x)\n output b to client")
    assert case.told() == [("names.unknown", "a")]
