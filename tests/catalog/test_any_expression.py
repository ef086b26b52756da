"""A record may hold any expression: evaluating one never raises, and unknown stays unknown."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from pllm_lang.catalog.apply import claim, execute, result_facts
from pllm_lang.catalog.bounds import known_facts
from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import SPECIAL, holds, square_high, tensor, term
from pllm_lang.catalog.expand import expand
from pllm_lang.catalog.expr import Apply, Attr, Between, Expr, ListOf, Num, Ref, Text
from pllm_lang.catalog.facts import Facts, Interval, Known
from pllm_lang.catalog.names import is_exact
from pllm_lang.catalog.primitives.table import PRIMITIVES
from pllm_lang.catalog.records import Clause, OperandSpec, Operator
from pllm_lang.catalog.shapes import meaning_shape
from pllm_lang.catalog.slots import FORMAT_READS, SLOTS
from pllm_lang.catalog.tensor import of_known
from tests.catalog.library import FIXED

FUNCTIONS = sorted(
    {*PRIMITIVES, *SLOTS, *FORMAT_READS, *(fn for fn, _ in SPECIAL), "and", "or", "not", "in", "what"}
)
NAMES = ("x", "w", "v", "s", "n", "F", "l", "row", "pi", "nobody")
PARAMS = (
    "axis",
    "from",
    "to",
    "order",
    "shape",
    "k",
    "times",
    "coefficients",
    "theta",
    "dims",
    "pairing",
    "offset",
)
X = Known((2, 3), (1, 2, 3, 0, -1, Fraction(1, 2)))
VALUES = {"x": of_known(X), "w": of_known(Known((3, 2), (2,) * 6)), "v": of_known(Known((3,), (0, 1, 2)))}

leaves = st.one_of(
    st.sampled_from(NAMES).map(Ref),
    st.sampled_from(["0", "1", "-2", "1/3", "64", "1099511627776"]).map(Num),
    st.just(Text("t")),
    st.just(Attr(Ref("w"), "scale")),
)


def calls(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    args = st.lists(inner, max_size=3).map(tuple)
    named = st.lists(st.tuples(st.sampled_from(PARAMS), inner), max_size=2).map(tuple)
    return st.one_of(
        st.builds(Apply, st.sampled_from(FUNCTIONS), args, named),
        st.builds(Apply, st.sampled_from(FUNCTIONS), args),
        st.builds(ListOf, args),
        st.builds(Between, inner, inner, st.booleans()),
    )


expressions = st.recursive(leaves, calls, max_leaves=8)


def place() -> Env:
    return Env(
        facts={
            "x": known_facts(X),
            "w": Facts(range=Interval(-1, 4), error=Fraction(1, 8)),
            "v": Facts(),
            "s": Facts(),
        },
        exact={"n": 3},
        formats={"F": FIXED, "x": FIXED},
        words={"per": "row"},
        shapes={"x": (2, 3), "w": (3, 2), "v": (3,), "s": ()},
        lists={"l": (2, 1)},
    )


@settings(max_examples=1500, deadline=None)
@given(expressions)
def test_no_expression_raises(expr) -> None:
    env = place()
    found = term(expr, env)
    assert found is None or found.low <= found.high
    assert holds(expr, env) in (True, False, None)
    arg = tensor(expr, env)
    shape = meaning_shape(expr, env)
    if arg is not None and isinstance(expr, Apply):
        assert arg.shape == shape
    square_high(expr, env)
    expand(expr, env)
    is_exact(expr, env)
    claim(Clause(expr))


@settings(max_examples=500, deadline=None)
@given(expressions)
def test_no_meaning_raises(expr) -> None:
    x, y = OperandSpec("x", Ref("F")), OperandSpec("y", Ref("F"))
    operator = Operator("any", "tests", ("F",), (x,), (), (y,), (Clause(expr, "y"),))
    result_facts(operator, place())
    execute(operator, place(), VALUES)
