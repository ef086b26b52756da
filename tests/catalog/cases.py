"""Hypothesis strategies for uses of primitives: operand tensors with small exact entries, and parameters."""

from __future__ import annotations

from fractions import Fraction
from math import prod

from hypothesis import strategies as st

from pllm_lang.catalog.bounds import Arg, known_facts
from pllm_lang.catalog.facts import Exact, Facts, Interval, Known
from pllm_lang.catalog.primitives.primitive import Params
from pllm_lang.catalog.tensor import Shape, Tensor, of_known

Case = tuple[tuple[Known, ...], Params]

whole = st.integers(-6, 6)
entries = st.one_of(whole, st.fractions(min_value=-6, max_value=6, max_denominator=8))
positive = st.fractions(min_value=Fraction(1, 8), max_value=6, max_denominator=8)
sizes = st.integers(1, 3)
shapes = st.lists(sizes, min_size=0, max_size=3).map(tuple)
row_shapes = st.lists(sizes, min_size=1, max_size=3).map(tuple)


def tensors(shape: Shape, of: st.SearchStrategy[Exact] = entries) -> st.SearchStrategy[Known]:
    """Dense, constant and few-row tensors of one shape."""
    count = prod(shape)
    dense = st.lists(of, min_size=count, max_size=count).map(tuple)
    constant = of.map(lambda v: (v,) * count)
    return st.one_of(dense, constant).map(lambda found: Known(shape, found))


@st.composite
def alike(draw: st.DrawFn, count: int, of: st.SearchStrategy[Exact] = entries) -> Case:
    shape = draw(shapes)
    scalar = draw(st.integers(0, count))
    return tuple(draw(tensors(() if i == scalar and count > 1 else shape, of)) for i in range(count)), {}


@st.composite
def one(draw: st.DrawFn, of: st.SearchStrategy[Exact] = entries) -> Case:
    return (draw(tensors(draw(shapes), of)),), {}


@st.composite
def rows(draw: st.DrawFn) -> Case:
    return (draw(tensors(draw(row_shapes))),), {}


@st.composite
def divided(draw: st.DrawFn) -> Case:
    (x, y), params = draw(alike(2))
    sign = draw(st.sampled_from([1, -1]))
    return (x, Known(y.shape, tuple(sign * (abs(v) + Fraction(1, 2)) for v in y.entries))), params


@st.composite
def powers(draw: st.DrawFn) -> Case:
    return (draw(tensors(draw(shapes))), Known((), (draw(st.integers(0, 4)),))), {}


@st.composite
def clamped(draw: st.DrawFn) -> Case:
    low, high = sorted((draw(entries), draw(entries)))
    return (draw(tensors(draw(shapes))), Known((), (low,)), Known((), (high,))), {}


@st.composite
def chosen(draw: st.DrawFn) -> Case:
    shape = draw(shapes)
    return (draw(tensors(shape, st.integers(0, 1))), draw(tensors(shape)), draw(tensors(shape))), {}


@st.composite
def products(draw: st.DrawFn) -> Case:
    lead, (m, k, n) = draw(st.sampled_from([(), (2,)])), (draw(sizes), draw(sizes), draw(sizes))
    right = (*draw(st.sampled_from([lead, ()])), k, n)
    return (draw(tensors((*lead, m, k))), draw(tensors(right))), {}


@st.composite
def outers(draw: st.DrawFn) -> Case:
    return (draw(tensors(draw(row_shapes))), draw(tensors((draw(sizes),)))), {}


@st.composite
def matrices(draw: st.DrawFn) -> Case:
    return (draw(tensors((*draw(st.sampled_from([(), (2,)])), draw(sizes), draw(sizes)))),), {}


@st.composite
def rounded(draw: st.DrawFn) -> Case:
    step = draw(st.sampled_from([1, 2, Fraction(1, 2), Fraction(3, 4), Fraction(1, 8)]))
    return (draw(tensors(draw(shapes))), Known((), (step,))), {}


@st.composite
def polynomials(draw: st.DrawFn) -> Case:
    coefficients = tuple(draw(st.lists(entries, min_size=1, max_size=5)))
    return (draw(tensors(draw(shapes))),), {"coefficients": coefficients}


@st.composite
def permuted(draw: st.DrawFn) -> Case:
    shape = draw(row_shapes)
    return (draw(tensors(shape)),), {"order": tuple(draw(st.permutations(range(len(shape)))))}


@st.composite
def reshaped(draw: st.DrawFn) -> Case:
    shape = draw(row_shapes)
    new = draw(st.sampled_from([(prod(shape),), (1, *shape), (*shape, 1), shape[::-1]]))
    return (draw(tensors(shape)),), {"shape": new}


@st.composite
def sliced(draw: st.DrawFn) -> Case:
    shape = draw(row_shapes)
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    start, stop = sorted((draw(st.integers(0, shape[axis])), draw(st.integers(0, shape[axis]))))
    if start == stop:
        start, stop = 0, shape[axis]
    return (draw(tensors(shape)),), {"axis": axis, "from": start, "to": stop}


@st.composite
def gathered(draw: st.DrawFn) -> Case:
    n = draw(sizes)
    return (draw(tensors((n, draw(sizes)))), draw(tensors(draw(shapes), st.integers(0, n - 1)))), {}


@st.composite
def joined(draw: st.DrawFn) -> Case:
    shape = draw(row_shapes)
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    other = list(shape)
    other[axis] = draw(sizes)
    return (draw(tensors(shape)), draw(tensors(tuple(other)))), {"axis": axis}


@st.composite
def repeated(draw: st.DrawFn) -> Case:
    shape = draw(row_shapes)
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    return (draw(tensors(shape)),), {"axis": axis, "times": draw(sizes)}


@st.composite
def taken(draw: st.DrawFn) -> Case:
    shape = draw(row_shapes)
    places = st.integers(0, shape[-1] - 1)
    return (draw(tensors(shape)), draw(tensors((*shape[:-1], draw(sizes)), places))), {}


@st.composite
def marks(draw: st.DrawFn) -> Case:
    return (draw(tensors(draw(row_shapes), st.integers(0, 4))),), {"size": draw(st.integers(1, 5))}


@st.composite
def windowed(draw: st.DrawFn) -> Case:
    (x,), _ = draw(matrices())
    return (x,), {"size": draw(st.integers(1, x.shape[-2]))}


@st.composite
def biased(draw: st.DrawFn) -> Case:
    shape = (*draw(st.sampled_from([(), (2,)])), *(draw(sizes) for _ in range(3)))
    return (draw(tensors(shape)),), {"max_bias": draw(st.sampled_from([0, 8, Fraction(7, 2)]))}


@st.composite
def recurrences(draw: st.DrawFn) -> Case:
    lead, steps = draw(st.sampled_from([(), (2,)])), draw(sizes)
    state = (draw(sizes), draw(sizes))
    factors = draw(st.sampled_from([entries, st.fractions(-1, 1, max_denominator=4)]))
    factor = draw(tensors((*lead, steps), factors))
    return (draw(tensors((*lead, *state))), factor, draw(tensors((*lead, steps, *state)))), {}


@st.composite
def delta_steps(draw: st.DrawFn) -> Case:
    lead, steps, a, c = draw(st.sampled_from([(), (2,)])), draw(sizes), draw(sizes), draw(sizes)
    rows = ((*lead, a, c), (*lead, steps, a), (*lead, steps, c), (*lead, steps), (*lead, steps))
    return tuple(draw(tensors(shape)) for shape in rows), {}


@st.composite
def ranked(draw: st.DrawFn) -> Case:
    shape = draw(row_shapes)
    return (draw(tensors(shape)),), {"k": draw(st.integers(1, shape[-1]))}


@st.composite
def masked(draw: st.DrawFn) -> Case:
    (x,), _ = draw(matrices())
    params = {"offset": draw(st.integers(0, 2)), "window": draw(st.integers(0, 2))}
    return (x, Known((), (draw(entries),))), params


@st.composite
def masked_by_position(draw: st.DrawFn) -> Case:
    (x,), _ = draw(matrices())
    last = draw(st.integers(0, 6))
    places = Known((x.shape[-2],), tuple(max(0, last - i) for i in reversed(range(x.shape[-2]))))
    return (x, places, Known((), (draw(entries),))), {
        "window": draw(st.integers(0, 3)),
        "chunk": draw(st.integers(0, 3)),
    }


@st.composite
def turned(draw: st.DrawFn) -> Case:
    height, width = draw(sizes), draw(st.sampled_from([2, 4, 5]))
    dims = draw(st.sampled_from([2, width - width % 2]))
    pairing = draw(st.sampled_from(["split_half", "interleaved"]))
    shape = (*draw(st.sampled_from([(), (2,)])), height, width)
    places = draw(tensors((height,), st.integers(0, 50)))
    divisors = (3, Fraction(1, 2))[: dims // 2]
    scaling = draw(
        st.sampled_from(
            [
                {},
                {"divisors": divisors},
                {"factor": Fraction(5, 2)},
                {"turning": 1},
                {"factor": 4, "original": 100, "fast": 8, "slow": 1},
                {"factor": 4, "original": 100, "fast": 3, "slow": 3},
                {"factor": 8, "original": 100, "low": 1, "high": 4},
                {"factor": 8, "original": 100, "low": 1, "high": 1},
            ],
        )
    )
    return (draw(tensors(shape)), places), {"theta": 10000, "dims": dims, "pairing": pairing, **scaling}


CASES: dict[str, st.SearchStrategy[Case]] = {
    **dict.fromkeys(("+", "-", "*", "min", "max", "<", "<=", ">", ">=", "==", "!="), alike(2)),
    **dict.fromkeys(("neg", "abs", "exp", "tanh", "erf", "cos", "sin", "floor"), one()),
    **dict.fromkeys(("sqrt", "log"), one(positive)),
    **dict.fromkeys(("sum", "row_sum", "row_mean", "row_max", "subtract_row_max"), rows()),
    **dict.fromkeys(("row_broadcast", "col_broadcast"), rows()),
    **dict.fromkeys(("top_values", "top_indices"), ranked()),
    "/": divided(),
    "^": powers(),
    "clamp": clamped(),
    "where": chosen(),
    "matmul": products(),
    "outer": outers(),
    "transpose": matrices(),
    "round_to": rounded(),
    "polynomial": polynomials(),
    "permute": permuted(),
    "reshape": reshaped(),
    "slice": sliced(),
    "gather": gathered(),
    "concat": joined(),
    "repeat": repeated(),
    "take": taken(),
    "marked": marks(),
    "windows": windowed(),
    "alibi": biased(),
    "linear_recurrence": recurrences(),
    "delta_rule": delta_steps(),
    "causal": masked(),
    "causal_at": masked_by_position(),
    "rotary": turned(),
}
"""One strategy for every primitive of the table; a test sees that none is missing."""

EXACT_OPERANDS = {
    "^": (1,),
    "clamp": (1, 2),
    "round_to": (1,),
    "gather": (1,),
    "take": (1,),
    "marked": (0,),
    "causal": (1,),
    "causal_at": (1, 2),
    "rotary": (1,),
    "where": (0,),
}
"""Operands that are parameters or choices: they carry no error in the error tests."""


@st.composite
def facts_about(draw: st.DrawFn, known: Known) -> Facts:
    """True facts of a tensor, some dropped, some loosened; its value never among them."""
    full = known_facts(known)
    slack = draw(st.sampled_from([0, 0, Fraction(1, 3), 2]))
    keep = draw(st.lists(st.booleans(), min_size=5, max_size=5))
    assert full.range is not None
    return Facts(
        range=Interval(full.range.low - slack, full.range.high + slack),
        row_norm2_sq=loosened(full.row_norm2_sq, slack, keep[0]),
        row_norm1=loosened(full.row_norm1, slack, keep[1]),
        col_norm2_sq=loosened(full.col_norm2_sq, slack, keep[2]),
        col_norm1=loosened(full.col_norm1, slack, keep[3]),
        row_max_low=full.row_max_low if keep[4] else None,
        unit=full.unit if keep[4] else None,
        error=0,
    )


def loosened(value: Exact | None, slack: Exact, keep: bool) -> Exact | None:
    return None if value is None or not keep else value + slack


def scalar_value(known: Known, facts: Facts) -> Facts:
    """A parameter's facts hold its value, as a literal's do."""
    return known_facts(known) if known.shape == () else facts


def args_of(case: tuple[Known, ...], facts: list[Facts]) -> tuple[Arg, ...]:
    return tuple(Arg(known.shape, found) for known, found in zip(case, facts, strict=True))


def tensors_of(case: tuple[Known, ...]) -> tuple[Tensor, ...]:
    return tuple(of_known(known) for known in case)
