"""A plan run in numpy by what the library says that its operators mean, apart from the exact evaluator of the product.

Floats stand for all formats. Every step is the `means` expression of its operator's record; the table below is a plain
second implementation of the primitives that those expressions use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil, erf, log, log2, pi
from typing import Any

import numpy as np

from pllm_lang.catalog import expr as ex
from pllm_lang.catalog.library import Library
from pllm_lang.ir.plan import Member, Node, Operand, Plan, Repeat, Stage, StateWrite, Step

Array = Any
Scope = dict[str, Any]


class Machine:
    """`families[value]` holds a weight or state: an array, or a list of them for a family."""

    def __init__(self, plan: Plan, library: Library, families: Mapping[int, Any]) -> None:
        self.library = library
        self.plan = plan
        self.families = dict(families)
        self.pending: list[tuple[int, int | None, Array]] = []

    def run(self, stage: Stage, inputs: list[Array]) -> list[Array]:
        """Outputs of one run of a stage; states change when it is over."""
        values = {given.value: value for given, value in zip(stage.inputs, inputs, strict=True)}
        self._body(stage.body, values, ())
        for family, index, value in self.pending:
            if index is None:
                self.families[family] = value
            else:
                self.families[family][index] = value
        self.pending = []
        return [values[output.value] for output in stage.outputs]

    def _body(self, body: tuple[Node, ...], values: dict[int, Array], turns: tuple[int, ...]) -> None:
        for node in body:
            match node:
                case Step():
                    self._step(node, values, turns)
                case Repeat():
                    self._repeat(node, values, turns)
                case StateWrite():
                    family, index = self._place(node.state, turns)
                    self.pending.append((family, index, values[node.value]))
                case _:
                    raise AssertionError(node)

    def _repeat(self, node: Repeat, values: dict[int, Array], turns: tuple[int, ...]) -> None:
        current = [values[one.initial] for one in node.carried]
        for turn in range(node.low, node.high):
            inner = dict(values)
            inner.update({one.inner: value for one, value in zip(node.carried, current, strict=True)})
            self._body(node.body, inner, (*turns, turn))
            current = [inner[one.next] for one in node.carried]
        values.update({one.final: value for one, value in zip(node.carried, current, strict=True)})

    def _place(self, operand: Operand, turns: tuple[int, ...]) -> tuple[int, int | None]:
        if not isinstance(operand, Member):
            return operand, None
        scope: Scope = {f"%{depth}": turn for depth, turn in enumerate(turns)}
        return operand.family, int(evaluated(operand.index, scope))

    def _step(self, step: Step, values: dict[int, Array], turns: tuple[int, ...]) -> None:
        operator = self.library.operator(step.operator)
        assert operator is not None
        scope: Scope = {name: parameter(value) for name, value in step.params}
        for spec, operand in zip(operator.operands, step.operands, strict=True):
            family, index = self._place(operand, turns)
            held = values[family] if family in values else self.families[family]
            value = held if index is None else held[index]
            scope[spec.name] = value
            bind(scope, spec.shape, value.shape)
        means = {clause.name: clause.expr for clause in operator.means}
        for spec, result, kind in zip(operator.results, step.results, step.types, strict=True):
            values[result] = evaluated(means[spec.name], scope)
            assert values[result].shape == kind.shape, (step.operator, values[result].shape, kind.shape)


def bind(scope: Scope, dims: tuple[ex.Expr, ...], shape: tuple[int, ...]) -> None:
    rest = len(shape) - sum(not isinstance(dim, ex.AnyRank) for dim in dims)
    at = 0
    for dim in dims:
        if isinstance(dim, ex.AnyRank):
            at += rest
        else:
            if isinstance(dim, ex.Ref):
                scope[dim.name] = shape[at]
            at += 1


def parameter(value: ex.Expr) -> Any:
    match value:
        case ex.Num(value=text):
            return float(Fraction(text))
        case ex.ListOf(items=items):
            return [parameter(item) for item in items]
        case ex.Ref(name=name):
            return name
        case _:
            raise AssertionError(value)


def evaluated(expr: ex.Expr, scope: Scope) -> Any:
    match expr:
        case ex.Num(value=text):
            return float(Fraction(text))
        case ex.Ref(name="pi"):
            return pi
        case ex.Ref(name=name):
            return scope.get(name, name)
        case ex.ListOf(items=items):
            return [evaluated(item, scope) for item in items]
        case ex.Apply(fn=fn, args=args, named=named):
            return PRIMITIVES[fn](
                *(evaluated(arg, scope) for arg in args),
                **{NAMES.get(name, name): evaluated(value, scope) for name, value in named},
            )
        case _:
            raise AssertionError(expr)


NAMES = {"from": "start", "to": "stop"}


def ints(values: list[Any]) -> list[int]:
    return [round(value) for value in values]


def cut(x: Array, axis: float, start: float, stop: float) -> Array:
    return np.take(x, range(round(start), round(stop)), axis=round(axis))


def causal_at(scores: Array, positions: Array, fill: float, window: float = 0, chunk: float = 0) -> Array:
    keys = positions[-1] - (scores.shape[-1] - 1) + np.arange(scores.shape[-1])
    seen = (keys[None, :] >= 0) & (keys[None, :] <= positions[:, None])
    if window:
        seen &= keys[None, :] > positions[:, None] - window
    if chunk:
        seen &= keys[None, :] // chunk == positions[:, None] // chunk
    return np.where(seen, scores, fill)


def rotary(x: Array, positions: Array, theta: float, dims: float, pairing: str, **scaling: float) -> Array:
    r = round(dims)
    turning = round(scaling.pop("turning", r // 2))
    rates = scaled(theta ** (-2 * np.arange(r // 2) / r), **scaling)[:turning]
    result = x.copy()
    for pair, rate in enumerate(rates):
        i, j = (pair, pair + r // 2) if pairing == "split_half" else (2 * pair, 2 * pair + 1)
        cos, sin = np.cos(positions * rate), np.sin(positions * rate)
        result[..., i] = x[..., i] * cos - x[..., j] * sin
        result[..., j] = x[..., j] * cos + x[..., i] * sin
    return result


def scaled(
    rates: Array,
    factor: float = 1,
    original: float = 0,
    low: float = 0,
    high: float = 0,
    divisors: list[float] | None = None,
    fast: float = 0,
    slow: float = 0,
) -> Array:
    if divisors is not None:
        return rates / np.array(divisors)
    if fast:
        pairs = np.arange(len(rates))
        first, last = (
            len(rates) * log(original / (turns * 2 * pi)) / -log(rates[1] ** len(rates))
            for turns in (fast, slow)
        )
        first, last = max(first, 0), min(last, 2 * len(rates) - 1)
        ramp = np.clip((pairs - first) / ((last - first) or 0.001), 0, 1)
        return rates * (1 - ramp + ramp / factor)
    if not original:
        return rates / factor
    wavelengths = 2 * pi / rates
    slow, fast = original / low, original / high
    mixed = (original / wavelengths - low) / ((high - low) or 1)
    between = (1 - mixed) * rates / factor + mixed * rates
    return np.where(wavelengths > slow, rates / factor, np.where(wavelengths < fast, rates, between))


def marked(indices: Array, size: float) -> Array:
    return (indices[..., None] == np.arange(round(size))).any(-2).astype(float)


def windows(x: Array, size: float) -> Array:
    return np.lib.stride_tricks.sliding_window_view(x, round(size), axis=-2)


def alibi(x: Array, max_bias: float) -> Array:
    heads, _, keys = x.shape[-3:]
    size = 2 ** ceil(log2(heads))
    slopes = 2 ** (-max_bias * np.arange(1, size + 1) / size)
    slopes = slopes if size == heads else np.concatenate([slopes[1::2], slopes[::2]])[:heads]
    return x + slopes[:, None, None] * (np.arange(keys) - (keys - 1))


def linear_recurrence(start: Array, factor: Array, added: Array) -> Array:
    states = []
    for t in range(factor.shape[-1]):
        start = factor[..., t, None, None] * start + added[..., t, :, :]
        states.append(start)
    return np.stack(states, axis=-3)


def delta_rule(start: Array, keys: Array, values: Array, factor: Array, rate: Array) -> Array:
    states = []
    for t in range(factor.shape[-1]):
        start = factor[..., t, None, None] * start
        key, read = keys[..., t, :], (keys[..., t, :, None] * start).sum(-2)
        change = rate[..., t, None] * (values[..., t, :] - read)
        start = start + key[..., :, None] * change[..., None, :]
        states.append(start)
    return np.stack(states, axis=-3)


PRIMITIVES: dict[str, Callable[..., Any]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y=None: -x if y is None else x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "^": lambda x, y: x**y,
    "==": lambda x, y: x == y,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "erf": np.vectorize(erf, otypes=[float]),
    "max": np.maximum,
    "clamp": np.clip,
    "where": np.where,
    "nearest": lambda x, _format: x,
    "matmul": np.matmul,
    "transpose": lambda x: np.swapaxes(x, -1, -2),
    "row_sum": lambda x: x.sum(-1),
    "row_mean": lambda x: x.mean(-1),
    "row_max": lambda x: x.max(-1),
    "row_broadcast": lambda x: x,
    "col_broadcast": lambda x: x[..., None],
    "subtract_row_max": lambda x: x - x.max(-1, keepdims=True),
    "top_values": lambda x, k: -np.sort(-x, axis=-1)[..., : round(k)],
    "top_indices": lambda x, k: np.argsort(-x, axis=-1, kind="stable")[..., : round(k)],
    "gather": lambda table, indices: table[indices.astype(int)],
    "permute": lambda x, order: np.transpose(x, ints(order)),
    "reshape": lambda x, shape: np.reshape(x, ints(shape)),
    "slice": cut,
    "concat": lambda x, y, axis=-1: np.concatenate([x, y], axis=round(axis)),
    "repeat": lambda x, axis, times: np.repeat(x, round(times), axis=round(axis)),
    ">": lambda x, y: x > y,
    "abs": np.abs,
    "min": np.minimum,
    "floor": np.floor,
    "sum": np.sum,
    "take": lambda x, indices: np.take_along_axis(x, indices.astype(int), axis=-1),
    "marked": marked,
    "windows": windows,
    "alibi": alibi,
    "linear_recurrence": linear_recurrence,
    "delta_rule": delta_rule,
    "causal_at": causal_at,
    "rotary": rotary,
}
