"""Whatever a plan says, lowering ends in findings and a plan whose every value is made somewhere; never in an error."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pllm_lang.ir.digest import plan_digest
from pllm_lang.ir.plan import UNKNOWN, Plan, Repeat, StateWrite, Step
from pllm_lang.ir.show import show_plan
from pllm_lang.ir.walk import family, nodes, reads
from tests.ir.lowering import Case, lower

BLOCKS = """block twice {F} (x: F[m, k], by: integer = 2) -> (y) { t = scale(x, by: by) y = add(t, x) }
block none (x: fx[m, m]) -> (y: fx[m, m], z) { y = add(x, x) }
block around (x: fx[m, k]) -> (y) { y = around(x) }
block deep (x: fx[m, k]) -> (y) { repeat i in 0..<2 carrying [x] { x = twice(x) } y = neg(x) }
"""
VALUES = (
    "x",
    "z",
    "w",
    "v",
    "q",
    "s",
    "kv",
    "a",
    "b",
    "c",
    "i",
    "j",
    "nothing",
    "masked",
    "pol",
    "fx",
    "add",
    "n_layers",
)
FUNCTIONS = (
    "add", "mul", "linear", "matmul", "transpose", "outer", "quantize", "rescale", "cast", "encode", "scale", "split",
    "twice", "none", "around", "deep", "masked", "addd", "slice", "concat", "polynomial", "top_k", "x",
)  # fmt: skip
NUMBERS = ("0", "1", "3", "4", "1/2", "-1", "2^70", "10^9999", "0.25")

names = st.sampled_from(VALUES)
simple = st.one_of(
    names, st.sampled_from(NUMBERS), st.sampled_from(("true", "row", '"text"', "[1, 2]", "[[1, 2], [3]]"))
)


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, inner)
    named = st.tuples(
        st.sampled_from(("to", "by", "per", "saturate", "bits", "axis", "k", "x", "y", "foo")), inner
    )
    argument = st.one_of(inner, named.map(lambda p: f"{p[0]}: {p[1]}"))
    arguments = st.lists(argument, max_size=4).map(", ".join)
    return st.one_of(
        st.tuples(st.sampled_from(FUNCTIONS), arguments).map(lambda p: f"{p[0]}({p[1]})"),
        pair.map(lambda p: f"{p[0]}[{p[1]}]"),
        inner.map(lambda e: f"{e}.scale"),
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        st.tuples(inner, st.sampled_from(("<=", "==", "and", "in")), inner).map(
            lambda p: f"({p[0]} {p[1]} {p[2]})"
        ),
        st.tuples(inner, st.sampled_from(("..", "..<")), inner).map(lambda p: f"[{p[0]} {p[1]} {p[2]}]"),
    )


expressions = st.recursive(simple, compound, max_leaves=6)
calls = st.tuples(st.sampled_from(FUNCTIONS), st.lists(expressions, max_size=3)).map(
    lambda p: f"{p[0]}({', '.join(p[1])})"
)
clauses = st.one_of(
    st.just(""),
    st.just(" @ client"),
    st.just(" @ nobody"),
    expressions.map(lambda e: f" using {e}"),
    st.just(" using masked(bits: 32)"),
    expressions.map(lambda e: f" assume {e}"),
    st.just(" assume abs(a) <= 3"),
)
targets = st.one_of(
    names,
    st.tuples(names, names).map(", ".join),
    st.tuples(names, expressions).map(lambda p: f"{p[0]}[{p[1]}]"),
)
steps = st.tuples(targets, st.one_of(calls, calls, expressions), clauses).map(
    lambda p: f"{p[0]} = {p[1]}{p[2]}"
)
ranges = st.sampled_from(("0..<4", "1..3", "3..1", "0..<n_layers", "0..<10^12", "x", "0..<i"))
declarations = st.one_of(
    st.tuples(names, expressions).map(lambda p: f"input {p[0]}: fx[{p[1]}] from client"),
    st.tuples(names, expressions).map(lambda p: f"weight {p[0]}[0..<{p[1]}]: fx[2, 2] public"),
    st.tuples(names, expressions).map(lambda p: f"state {p[0]}: fx[2, 2] where {p[1]}"),
    names.map(lambda n: f"output {n} to client"),
    expressions.map(lambda e: f"requires {e}"),
)


def repeated(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    bodies = st.lists(inner, max_size=4).map("\n".join)
    carried = st.lists(names, max_size=2).map(", ".join)
    repeat = st.tuples(st.sampled_from("ij"), ranges, carried, bodies)
    return repeat.map(lambda p: f"repeat {p[0]} in {p[1]} carrying [{p[2]}] {{\n{p[3]}\n}}")


# Half of the steps fit, so that what follows them is lowered too.
fitting = st.tuples(
    st.sampled_from("abc"),
    st.sampled_from(("add", "mul", "sub", "linear", "twice", "deep")),
    st.sampled_from(("x", "z", "w", "v[1]", "v[i]", "s", "a", "b", "transpose(x)")),
    st.sampled_from(("x", "z", "w", "v[0]", "kv[i]", "a")),
    st.sampled_from(("", " @ client", " using masked(bits: 32)")),
).map(lambda p: f"{p[0]} = {p[1]}({p[2]}{'' if p[1] in ('twice', 'deep') else ', ' + p[3]}){p[4]}")
writes = st.tuples(st.sampled_from(("s", "kv[1]", "kv[i]")), st.sampled_from("xzab")).map(
    lambda p: f"{p[0]} = {p[1]}"
)
statements = st.recursive(st.one_of(fitting, fitting, steps, writes), repeated, max_leaves=5)
bodies = st.lists(st.one_of(statements, statements, statements, declarations), max_size=7).map("\n".join)
staged = st.lists(bodies, min_size=1, max_size=2).map(
    lambda parts: "\n".join(f"stage part{k} {{\n{part}\n}}" for k, part in enumerate(parts))
)
texts = st.one_of(bodies, staged)


def plan(text: str) -> Case:
    return lower(
        f"""{BLOCKS}
plan p under pol {{
  input x: fx[3, 3] from client where abs(x) <= 12
  input z: fx[3, 3] from client
  weight w: fx[3, 3] public
  weight v[0..<n_layers]: fx[3, 3] public
  weight q: w8[3, 3] public
  state s: fx[3, 3] where abs(s) <= 100
  state kv[0..<n_layers]: fx[3, 3]
{text}
}}"""
    )


def check_made(plan: Plan) -> None:
    """Every value that a node reads is declared or made before it, in its body or around it."""
    declared = {item.value for item in (*plan.inputs, *plan.weights, *plan.states, *plan.constants)}
    for stage in plan.stages:
        made = declared | {item.value for item in stage.inputs}
        for node, loops in nodes(stage.body):
            inner = {carried.inner for loop in loops for carried in loop.carried}
            assert set(reads(node)) <= made | inner
            match node:
                case Step():
                    made |= set(node.results)
                    assert len(node.results) == len(node.types)
                case Repeat():
                    made |= {carried.inner for carried in node.carried} | {c.final for c in node.carried}
                case StateWrite():
                    assert family(node.state) in {state.value for state in plan.states}
                case _:
                    pass
        assert {output.value for output in stage.outputs} <= made


@settings(max_examples=150, deadline=None)
@given(texts)
def test_any_plan_is_lowered(text: str) -> None:
    case = plan(text)
    check_made(case.plan)
    assert show_plan(case.plan, case.lowered.source_map)
    assert plan_digest(case.plan, case.library)
    unknown = any(UNKNOWN in step.types for step in case.steps())
    assert case.findings or not unknown
