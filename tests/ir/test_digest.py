"""The digest of a plan: what leaves no trace in it, and that everything else does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pllm_lang.ir.canonical import canonical_plan
from pllm_lang.ir.digest import plan_digest
from pllm_lang.ir.plan import Repeat, StateWrite
from pllm_lang.ir.walk import free, writes
from tests.ir.lowering import Case, lower
from tests.ir.random_plans import Line, Loop, Text, Writing, texts, write

FLAGS = ("rename", "reorder", "layout", "split")


def lowered(text: Text, how: Writing) -> Case:
    main, files = write(text, how)
    case = lower(main, "", files)
    assert case.codes == [], (main, case.findings)
    return case


def digest(case: Case) -> str:
    return plan_digest(case.plan, case.library)


@pytest.mark.parametrize("flag", FLAGS)
@settings(max_examples=25, deadline=None)
@given(text=texts(), seed=st.integers(1, 1000))
def test_one_way_of_writing_leaves_no_trace(flag: str, text: Text, seed: int) -> None:
    assert digest(lowered(text, Writing(seed, **{flag: True}))) == digest(lowered(text, Writing()))


@settings(max_examples=40, deadline=None)
@given(text=texts(), seed=st.integers(1, 1000))
def test_all_ways_of_writing_together_leave_no_trace(text: Text, seed: int) -> None:
    how = Writing(seed, rename=True, reorder=True, layout=True, split=True)
    assert digest(lowered(text, how)) == digest(lowered(text, Writing()))


TIED = Text(
    (1,),
    (),
    (
        Line("neg", (0,), 0),
        Line("neg", (0,), 0),
        Loop(2, 0, tuple(Line("square", (i,), 0) for i in (1, 2, 0))),
    ),
    (1, 2),
)
"""Two values alike in everything, put out and read in a repeat: the order inside has to follow the order outside."""


def test_symmetric_values_in_and_around_a_repeat_leave_no_trace() -> None:
    ways = {digest(lowered(TIED, Writing(seed, reorder=True))) for seed in range(12)}
    assert ways == {digest(lowered(TIED, Writing()))}


@settings(max_examples=30, deadline=None)
@given(text=texts())
def test_the_canonical_form_is_its_own(text: Text) -> None:
    form = canonical_plan(lowered(text, Writing()).plan)
    assert canonical_plan(form) == form


PLAN = """plan p under pol {
  input x: fx[3, 3] from client where abs(x) <= 12
  input z: fx[3, 3] from client where abs(z) <= 12
  weight w[0..<4]: fx[3, 3] public
  state s: fx[3, 3] where abs(s) <= 9
  a = sub(x, z) @ client assume abs(a) <= 20
  b = linear(a, w[1]) using masked(bits: 32)
  c = scale(a, by: 2)
  repeat i in 0..<4 carrying [c] {
    d = mul(c, w[i])
    c = add(d, x)
  }
  s = c
  requires error(a) <= 1/2
  output c to client
}
"""

CHANGES = {
    "operands exchanged": ("sub(x, z)", "sub(z, x)"),
    "another operator": ("sub(x, z)", "add(x, z)"),
    "another bound": ("abs(x) <= 12", "abs(x) <= 13"),
    "another assumption": ("abs(a) <= 20", "abs(a) <= 21"),
    "another party": ("@ client assume", "@ inference assume"),
    "another parameter": ("by: 2", "by: 3"),
    "another component parameter": ("bits: 32", "bits: 64"),
    "another member": ("w[1]", "w[2]"),
    "another index": ("mul(c, w[i])", "mul(c, w[3 - i])"),
    "another turn": ("0..<4 carrying", "0..<3 carrying"),
    "another value in a turn": ("add(d, x)", "add(d, z)"),
    "another invariant": ("abs(s) <= 9", "abs(s) <= 8"),
    "another state value": ("s = c", "s = a"),
    "another requirement": ("1/2", "1/4"),
    "another output": ("output c to client", "output a to client"),
    "another receiver": ("output c to client", "output c to inference"),
    "no component": (" using masked(bits: 32)", ""),
    "another family": ("w[0..<4]: fx", "w[0..<5]: fx"),
    "owned weight": ("[3, 3] public", "[3, 3] secret from [inference]"),
    "another format": ("fixed(64, 18)", "fixed(64, 17)"),
    "another rule of the component": ("integer in [16, 32, 64]", "integer in [32, 64]"),
    "another adversary": ("corrupts 1 of [preparation, inference]", "corrupts 1 of [client, inference]"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_meaning_shows(name: str) -> None:
    old, new = CHANGES[name]
    before = lower(PLAN)
    head = before.module.source.text.removesuffix(PLAN)
    after = lower(PLAN.replace(old, new), head.replace(old, new))
    assert before.codes == after.codes == []
    assert digest(before) != digest(after)


SAME = {
    "defaults written out": ("bits: 32)", "bits: 32, mode: fast)"),
    "a constant written out": ("w[0..<4]", "w[0..<n_layers]"),
    "a bound said twice": ("abs(x) <= 12", "abs(x) <= 12 and abs(x) <= 12"),
    "an index otherwise": ("mul(c, w[i])", "mul(c, w[2 * i - i])"),
    "a number otherwise": ("1/2", "0.5"),
    "operands by name": ("sub(x, z)", "sub(y: z, x: x)"),
    "a parameter's name in another order": ("masked(bits: 32)", "masked(mode: fast, bits: 32)"),
    "documentation": ("plan p", "## What it is for.\nplan p"),
}


@pytest.mark.parametrize("name", SAME)
def test_another_way_to_say_it_does_not_show(name: str) -> None:
    old, new = SAME[name]
    before, after = lower(PLAN), lower(PLAN.replace(old, new))
    assert before.codes == after.codes == []
    assert digest(before) == digest(after)


def test_equal_inputs_used_alike_are_exchangeable_and_others_are_not() -> None:
    alike = (
        "plan p {{ input x: fx[2] from client input z: fx[2] from client y = add({0}) output y to client }}"
    )
    assert digest(lower(alike.format("x, z"))) == digest(lower(alike.format("z, x")))
    apart = alike.replace("input z: fx[2] from client", "input z: fx[2] from client where abs(z) <= 1")
    assert digest(lower(apart.format("x, z"))) != digest(lower(apart.format("z, x")))


SCALES = """plan p {
  input x: fx[2, 3] from client
  weight q: w8[4, 3] public where abs(q) <= 9
  weight r: w8[5, 3] public where abs(r) <= 9
  k = encode([[1, 2, 3], [4, 5, 6]], to: fx)
  l = encode([[7, 2, 3], [4, 5, 6]], to: fx)
  s = outer(q.scale, r.scale)
  y = sub(k, l)
  output s to client
  output y to client
}
"""

SCALES_AGAIN = """plan again {
  l = encode([[7, 2, 3], [4, 5, 6]], to: fx)
  k = encode([[1, 2, 3], [4, 5, 6]], to: fx)
  y = sub(k, l)
  s = outer(q.scale, r.scale)
  output y to client
  output s to client
  weight r: w8[5, 3] public where abs(r) <= 9
  weight q: w8[4, 3] public where abs(q) <= 9
  input x: fx[2, 3] from client
}
"""


STATES = """plan p {
  input x: fx[3, 3] from client
  state s: fx[3, 3]
  state kv[0..<4]: fx[3, 3]
  stage a {
    b = add(s, x)
    c = sub(kv[1], x)
    d = mul(b, c)
    repeat i in 0..<4 { kv[i] = d }
    s = c
    output d to client
  }
}
"""


def test_the_canonical_form_reads_a_state_before_it_writes_it() -> None:
    body = canonical_plan(lower(STATES).plan).stages[0].body
    written: set[int] = set()
    for node in body:
        if not isinstance(node, StateWrite):
            assert written.isdisjoint(free(node)) or isinstance(node, Repeat)
        written |= writes(node)
    assert len(written) == 2
    first = STATES.replace("    s = c\n", "").replace("c = sub(kv[1], x)\n", "c = sub(kv[1], x)\n    s = c\n")
    assert first != STATES
    assert digest(lower(first)) == digest(lower(STATES))


def test_a_call_inside_another_is_a_step_on_a_line_of_its_own() -> None:
    inside = (
        "plan p { input x: fx[3, 2] from client y = matmul(x, transpose(x)) @ client output y to client }"
    )
    before = inside.replace("y = matmul(x, transpose(x))", "t = transpose(x) @ client y = matmul(x, t)")
    assert before != inside
    assert digest(lower(before)) == digest(lower(inside))


def test_literals_and_stored_scales_count_by_what_they_are() -> None:
    first, second = lower(SCALES), lower(SCALES_AGAIN)
    assert first.codes == second.codes == []
    assert digest(first) == digest(second)
    for old, new in (("[[7, 2", "[[8, 2"), ("outer(q.scale, r.scale)", "outer(r.scale, q.scale)")):
        assert digest(lower(SCALES.replace(old, new))) != digest(first)


def test_long_chains_do_not_exhaust_the_stack() -> None:
    steps = "\n".join(f"y{k + 1} = add(y{k}, x)" for k in range(3000))
    case = lower(
        f"plan p {{ input x: fx[2] from client\n y0 = add(x, x)\n{steps}\n output y3000 to client }}"
    )
    assert case.codes == []
    assert digest(case).startswith("sha256:")
