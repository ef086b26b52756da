"""Random plans over fixed-point formats with other grids, stated norms and other shapes, and an execution of our own.

`draw_plan` gives a text and its steps; `run` computes every value twice, with fractions alone: as stored, rounded where the
plan rounds (to a neighbour, whichever a step chooses), and as meant, with nothing rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from random import Random

import numpy as np

Array = np.ndarray
"""Of Fractions."""
Shape = tuple[int, ...]
FORMATS = {"fa": (16, 4), "fb": (24, 8), "fc": (16, 0), "fd": (32, 12)}
"""Bits and fraction bits."""
SHAPES: tuple[Shape, ...] = ((3,), (2, 3), (3, 3), (1, 3), (2, 2, 3), (1,), (3, 1))
PER_LINE = {"norm2": -1, "row_norm1": -1, "col_norm1": -2}
"""Norms that are stated of inputs, with the axis that is summed over."""


@dataclass(frozen=True)
class Given:
    name: str
    format: str
    shape: Shape
    low: Fraction
    high: Fraction
    norm: str
    limit: int

    def line(self) -> str:
        sizes, norm = ", ".join(map(str, self.shape)), f" and {self.norm}({self.name}) <= {self.limit}"
        where = f"{self.name} in {self.low}..{self.high}{norm if self.norm else ''}"
        return f"input {self.name}: {self.format}[{sizes}] from client where {where}"


@dataclass(frozen=True)
class Step:
    name: str
    line: str
    operands: tuple[str, ...]
    format: str
    shape: Shape
    means: Callable[..., Array]
    nearest: bool = False


@dataclass(frozen=True)
class RandomPlan:
    given: tuple[Given, ...]
    steps: tuple[Step, ...]

    def text(self) -> str:
        methods = "fixed_linear_exact, fixed_mul_exact, fixed_square_exact"
        formats = "".join(
            f"format {name} = fixed({bits}, {frac})\n" for name, (bits, frac) in FORMATS.items()
        )
        names = [one.name for one in (*self.given, *self.steps) if not one.name.endswith("c")]
        lines = [
            *(g.line() for g in self.given),
            *(s.line for s in self.steps),
            *(f"output {n} to client" for n in names),
        ]
        return (
            f"pllm 1\n\nimport std.methods [{methods}]\n\n{formats}\nplan random {{\n  "
            + "\n  ".join(lines)
            + "\n}\n"
        )


def ends(format_: str) -> tuple[Fraction, Fraction]:
    bits, frac = FORMATS[format_]
    return Fraction(-(2 ** (bits - 1)), 2**frac), Fraction(2 ** (bits - 1) - 1, 2**frac)


def each(compute: Callable[..., Fraction], *arrays: Array) -> Array:
    found = np.empty(arrays[0].shape, dtype=object)
    for at in np.ndindex(*arrays[0].shape):
        found[at] = compute(*(array[at] for array in arrays))
    return found


def shaped(value: object, shape: Shape) -> Array:
    return np.asarray(value, dtype=object).reshape(shape)


# ---- plans ----
def draw_plan(random: Random) -> RandomPlan:
    given = tuple(_given(random, f"v{i}") for i in range(random.randint(1, 3)))
    values = {one.name: (one.format, one.shape) for one in given}
    steps: list[Step] = []
    for i in range(random.randint(1, 7)):
        for step in _step(random, values, f"w{i}"):
            steps.append(step)
            if step.format != "boolean":
                values[step.name] = (step.format, step.shape)
    return RandomPlan(given, tuple(steps))


def _given(random: Random, name: str) -> Given:
    shape, low = random.choice(SHAPES), Fraction(random.randint(-60, 60), random.choice((1, 2, 4)))
    high = low + Fraction(random.randint(0, 60), random.choice((1, 2, 4)))
    norm = random.choice(("", "", "norm2", "row_norm1", "col_norm1" if len(shape) > 1 else ""))
    return Given(name, random.choice(list(FORMATS)), shape, low, high, norm, random.randint(1, 40))


@dataclass(frozen=True)
class Drawn:
    """An operand and one like it, from which a step called `name` is made."""

    random: Random
    values: dict[str, tuple[str, Shape]]
    name: str
    operator: str
    x: str
    y: str

    @property
    def format(self) -> str:
        return self.values[self.x][0]

    @property
    def shape(self) -> Shape:
        return self.values[self.x][1]

    def clear(
        self,
        call: str,
        means: Callable[..., Array],
        *operands: str,
        to: str = "",
        at: Shape | None = None,
    ) -> list[Step]:
        line, form = f"{self.name} = {call} @ client", to or self.format
        shape = self.shape if at is None else at
        return [Step(self.name, line, operands or (self.x,), form, shape, means, nearest=bool(to))]

    def moved(self, call: str, means: Callable[..., Array], at: Shape, *operands: str) -> list[Step]:
        return [Step(self.name, f"{self.name} = {call}", operands or (self.x,), self.format, at, means)]

    def other_format(self) -> str:
        return self.random.choice([one for one in FORMATS if one != self.format])


def _step(random: Random, values: dict[str, tuple[str, Shape]], name: str) -> list[Step]:
    """One step, two where a comparison comes first, none where the operator drawn does not fit the value drawn."""
    x = random.choice(list(values))
    y = random.choice([one for one in values if values[one] == values[x]])
    drawn = Drawn(random, values, name, random.choice(OPERATORS), x, y)
    makers = (_of_entries, _with_numbers, _of_rows, _converted, _moved, _of_two)
    return next((found for make in makers if (found := make(drawn))), [])


def _of_entries(d: Drawn) -> list[Step]:
    x, y, operator = d.x, d.y, d.operator
    if operator in BINARY:
        return d.clear(f"{operator}({x}, {y})", lambda a, b: each(BINARY[operator], a, b), x, y)
    if operator in UNARY:
        return d.clear(f"{operator}({x})", lambda a: each(UNARY[operator], a))
    return []


def _with_numbers(d: Drawn) -> list[Step]:
    x, high = d.x, d.random.randint(0, 9)
    n = Fraction(d.random.randint(-20, 20), d.random.choice((1, 3, 16)))
    match d.operator:
        case "scale":
            return d.clear(f"scale({x}, by: {n})", lambda a: each(lambda p: p * n, a))
        case "at_least":
            return d.clear(f"at_least({x}, low: {n})", lambda a: each(lambda p: max(p, n), a))
        case "clamp":
            call = f"clamp({x}, low: {n}, high: {n + high})"
            return d.clear(call, lambda a: each(lambda p: min(max(p, n), n + high), a))
        case "polynomial":
            call = f"polynomial({x}, coefficients: [{n}, {high}, 1/2])"
            return d.clear(call, lambda a: each(lambda p: n + high * p + p * p / 2, a))
        case "truncate" if d.format in FORMATS:
            return d.clear(f"truncate({x}, bits: {high})", lambda a: each(lambda p: p / 2**high, a))
        case _:
            return []


def _of_rows(d: Drawn) -> list[Step]:
    x, operator, rows = d.x, d.operator, d.shape[:-1]
    if operator == "sum":
        return d.clear(f"sum({x})", lambda a: shaped(a.sum(), ()), at=())
    if operator in OF_ROWS and d.shape:
        return d.clear(f"{operator}({x})", lambda a: shaped(OF_ROWS[operator](a), rows), at=rows)
    if operator == "subtract_row_max" and d.shape:
        return d.clear(f"subtract_row_max({x})", lambda a: a - shaped(a.max(axis=-1), (*rows, 1)))
    return []


def _converted(d: Drawn) -> list[Step]:
    x, to = d.x, d.other_format()
    if d.operator in ("encode", "cast"):
        return d.clear(f"{d.operator}({x}, to: {to})", lambda a: a, to=to)
    if d.operator == "rescale":
        by = d.random.choice([one for one in d.values if d.values[one][1] == d.shape])
        product = lambda a, b: each(BINARY["mul"], a, b)  # noqa: E731
        return d.clear(f"rescale({x}, by: {by}, to: {to})", product, x, by, to=to)
    return []


def _moved(d: Drawn) -> list[Step]:
    x, y, shape = d.x, d.y, d.shape
    if not shape:
        return []
    axis, flat = d.random.randrange(len(shape)), int(np.prod(shape))
    start, to_shape = d.random.randrange(shape[axis]), d.random.choice(((flat,), (1, flat), (flat, 1)))
    before, after = shape[:axis], shape[axis + 1 :]
    match d.operator:
        case "transpose" if len(shape) > 1:
            turned = (*shape[:-2], shape[-1], shape[-2])
            return d.moved(f"transpose({x})", lambda a: a.swapaxes(-1, -2), turned)
        case "reshape":
            return d.moved(f"reshape({x}, shape: {list(to_shape)})", lambda a: a.reshape(to_shape), to_shape)
        case "concat":
            longer = (*before, 2 * shape[axis], *after)
            call = f"concat({x}, {y}, axis: {axis})"
            return d.moved(call, lambda a, b: np.concatenate((a, b), axis), longer, x, y)
        case "slice":
            call = f"slice({x}, axis: {axis}, start: {start}, stop: {shape[axis]})"
            part = (*before, shape[axis] - start, *after)
            return d.moved(call, lambda a: np.take(a, range(start, shape[axis]), axis), part)
        case _:
            return []


def _of_two(d: Drawn) -> list[Step]:
    x, y, name = d.x, d.y, d.name
    match d.operator:
        case "select":
            chosen, relation = f"{name}c", d.random.choice(list(RELATIONS))
            line = f"{chosen} = compare({x}, {y}, relation: {relation}) @ client"
            first = Step(
                chosen, line, (x, y), "boolean", d.shape, lambda a, b: each(RELATIONS[relation], a, b)
            )
            pick = lambda c, a, b: each(lambda c, p, q: p if c else q, c, a, b)  # noqa: E731
            return [first, *d.clear(f"select({chosen}, {x}, {y})", pick, chosen, x, y)]
        case "linear" if len(d.shape) == 2:
            w = d.random.choice([one for one in d.values if len(d.values[one][1]) == 2])
            return _linear(d, w) if d.values[w][1][1] == d.shape[1] else []
        case "mul_exact" if d.format in FORMATS:
            line = f"{name} = mul({x}, {y}) using fixed_mul_exact"
            return [Step(name, line, (x, y), d.format, d.shape, lambda a, b: each(BINARY["mul"], a, b))]
        case _:
            return []


def _linear(d: Drawn, w: str) -> list[Step]:
    exact = d.format not in FORMATS or d.values[w][0] != d.format
    how = "@ client" if exact else "using fixed_linear_exact"
    line, out = f"{d.name} = linear({d.x}, {w}) {how}", (d.shape[0], d.values[w][1][0])
    return [Step(d.name, line, (d.x, w), "exact" if exact else d.format, out, lambda a, b: a.dot(b.T))]


BINARY: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": lambda p, q: p + q, "sub": lambda p, q: p - q, "mul": lambda p, q: p * q, "divide": lambda p, q: p / q,
    "minimum": min, "maximum": max,
}  # fmt: skip
UNARY: dict[str, Callable[[Fraction], Fraction]] = {
    "neg": lambda p: -p, "square": lambda p: p * p, "relu": lambda p: max(p, Fraction(0)), "reciprocal": lambda p: 1 / p,
    "zeros_like": lambda p: p * 0,
}  # fmt: skip
RELATIONS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "less": lambda p, q: Fraction(p < q), "less_equal": lambda p, q: Fraction(p <= q), "equal": lambda p, q: Fraction(p == q),
}  # fmt: skip
OF_ROWS: dict[str, Callable[[Array], object]] = {
    "row_sum": lambda a: a.sum(axis=-1), "row_mean": lambda a: a.sum(axis=-1) / Fraction(a.shape[-1]),
    "row_max": lambda a: a.max(axis=-1),
}  # fmt: skip
OPERATORS = (
    *BINARY, *UNARY, *OF_ROWS, "scale", "at_least", "clamp", "polynomial", "sum", "subtract_row_max", "encode", "cast", "rescale",
    "truncate", "transpose", "reshape", "concat", "slice", "select", "linear", "mul_exact",
)  # fmt: skip


# ---- execution ----
def run(plan: RandomPlan, random: Random) -> dict[str, tuple[Array, Array]] | None:
    """Every value as stored and as meant; None where no input was found. Raises ZeroDivisionError."""
    values: dict[str, tuple[Array, Array]] = {}
    up = random.choice((True, False, None))
    for given in plan.given:
        found = _input(given, random)
        if found is None:
            return None
        values[given.name] = found, found
    for step in plan.steps:
        stored, meant = (step.means(*(values[one][i] for one in step.operands)) for i in (0, 1))
        if step.format in FORMATS:
            stored = each(lambda p, s=step: _rounded(p, FORMATS[s.format][1], s.nearest, up, random), stored)
        values[step.name] = stored, meant
    return values


def _rounded(value: Fraction, frac: int, nearest: bool, up: bool | None, random: Random) -> Fraction:
    raw = Fraction(value) * 2**frac
    if nearest:
        return Fraction(round(raw), 2**frac)
    higher = random.random() < 0.5 if up is None else up
    return Fraction(ceil(raw) if higher else floor(raw), 2**frac)


def _input(given: Given, random: Random) -> Array | None:
    frac = FORMATS[given.format][1]
    low, high = (max(ends(given.format)[0], given.low), min(ends(given.format)[1], given.high))
    least, most = ceil(low * 2**frac), floor(high * 2**frac)
    for _ in range(20 if least <= most else 0):
        entries = random.choice(
            ((least, most), (most,), (least,), range(least, most + 1), (min(max(0, least), most), most))
        )
        found = each(
            lambda _, e=entries: Fraction(random.choice(e), 2**frac), np.zeros(given.shape, dtype=object)
        )
        if not given.norm or norms(found)[given.norm] <= given.limit ** (2 if given.norm == "norm2" else 1):
            return found
    return None


def norms(array: Array) -> dict[str, Fraction]:
    """The largest of each, the Euclidean ones squared; columns only where there are any."""
    whole = array if array.ndim else array.reshape(1)
    found = {"norm2": (whole**2).sum(axis=-1).max(), "row_norm1": abs(whole).sum(axis=-1).max()} if whole.ndim > 1 else {
        "norm2": (whole**2).sum(), "row_norm1": abs(whole).sum()
    }  # fmt: skip
    if whole.ndim > 1:
        found |= {"col_norm2": np.max((whole**2).sum(axis=-2)), "col_norm1": np.max(abs(whole).sum(axis=-2))}
    return found
