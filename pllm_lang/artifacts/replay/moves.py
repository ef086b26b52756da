"""Replay: what follows of a tensor whose entries move, by a primitive with parameters: its shape, and which norms stay.

None where parameters do not fit: then nothing is known of the result, not even its shape. No operand has an open axis (`terms`).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import prod
from typing import TypeAlias, cast

from pllm_lang.artifacts.replay import facts as f
from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay.facts import Fact

Params: TypeAlias = dict[str, object]


def _whole(params: Params, name: str, default: int | None = None) -> int | None:
    found = params.get(name, default)
    return int(found) if isinstance(found, Fraction | int) and found.denominator == 1 else None


def _list(params: Params, name: str) -> tuple[int, ...] | None:
    found = params.get(name)
    return tuple(map(int, cast("tuple[int, ...]", found))) if isinstance(found, tuple) else None


def _axis(x: Fact, params: Params) -> int | None:
    axis, rank = _whole(params, "axis", -1), len(x.shape)
    return None if axis is None or not -rank <= axis < rank else axis % rank


def _resized(x: Fact, axis: int, size: int) -> f.Shape:
    return (*x.shape[:axis], size, *x.shape[axis + 1 :])


def _reshaped(args: list[Fact], params: Params) -> Fact | None:
    """Rows stay where their size does, columns where rows and their number do."""
    old, new = args[0].shape, _list(params, "shape")
    if new is None or min(new, default=0) < 0 or prod(new) != prod(old):
        return None
    rows = new[-1:] == old[-1:]
    return f.moved(args[0], new, rows, rows and len(new) > 1 and new[-2:] == old[-2:])


def _permuted(args: list[Fact], params: Params) -> Fact | None:
    """What is known along an axis goes with it."""
    x, order = args[0], _list(params, "order")
    rank = len(x.shape)
    if order is None or sorted(order) != list(range(rank)):
        return None
    known = {rank - 1: x.rows, rank - 2: x.cols}
    rows, cols = (known.get(order[end], f.OPEN) if rank >= -end else f.OPEN for end in (-1, -2))
    peak = x.peak if order[-1:] == (rank - 1,) else None
    return Fact(tuple(x.shape[axis] for axis in order), x.range, rows, cols, x.unit, peak)


def _sliced(args: list[Fact], params: Params) -> Fact | None:
    """Part of a vector has no larger norm; only its largest entry may be cut off."""
    x, low, high = args[0], _whole(params, "from", 0), _whole(params, "to")
    axis = _axis(x, params)
    if axis is None or low is None or high is None or not 0 <= low <= high <= x.shape[axis]:
        return None
    kept = f.moved(x, _resized(x, axis, high - low), True, True)
    return kept if axis < len(x.shape) - 1 else f.changed(kept, peak=None)


def _chained(args: list[Fact], params: Params) -> Fact | None:
    """Norms of vectors along the axis add up, others are those of one part or the other."""
    a, b = args
    axis = _axis(a, params)
    if axis is None or len(a.shape) != len(b.shape) or a.shape != _resized(b, axis, a.shape[axis]):
        return None

    def norm(end: int) -> f.Norms:
        join = n.total if axis == len(a.shape) + end else n.most
        two, one = (join(x, y) for x, y in zip(f.norms(a, end), f.norms(b, end), strict=True))
        return two, one

    shape = _resized(a, axis, a.shape[axis] + b.shape[axis])
    return Fact(shape, n.hull(a.range, b.range), norm(-1), norm(-2), f.common(a.unit, b.unit))


def _repeated(args: list[Fact], params: Params) -> Fact | None:
    x, times = args[0], _whole(params, "times")
    axis = _axis(x, params)
    if axis is None or times is None or times < 1:
        return None

    def norm(known: f.Norms, end: int) -> f.Norms:
        k = times if axis == len(x.shape) + end else 1
        return n.product(known[0], k), n.product(known[1], k)

    shape = _resized(x, axis, x.shape[axis] * times)
    return Fact(shape, x.range, norm(x.rows, -1), norm(x.cols, -2), x.unit, x.peak)


def _rotated(args: list[Fact], _: Params) -> Fact:
    """Pairs of entries turn: the norm of each stays, and no entry exceeds its pair's."""
    top = n.largest(args[0].range)
    limit = n.around(n.root_above(n.product(2, top, top)))
    return Fact(args[0].shape, limit, (f.norms(args[0], -1)[0], None))


def _masked(args: list[Fact], _: Params) -> Fact:
    """Every entry is one of the first operand, or the last operand."""
    x, fill = args[0], args[-1]
    return Fact(x.shape, n.hull(x.range, fill.range), unit=f.common(x.unit, fill.unit))


def _gathered(args: list[Fact], _: Params) -> Fact | None:
    """Rows of a matrix; one may be taken twice, so columns are open."""
    table, places = args
    return f.moved(table, (*places.shape, table.shape[1]), True, False) if len(table.shape) == 2 else None


def _ranked(args: list[Fact], params: Params) -> Fact | None:
    """Part of each row, its largest entry with it."""
    x, k = args[0], _whole(params, "k")
    if k is None or not x.shape or not 1 <= k <= x.shape[-1]:
        return None
    return f.moved(x, (*x.shape[:-1], k), True, False)


def _places(args: list[Fact], params: Params) -> Fact | None:
    found = _ranked(args, params)
    return None if found is None else Fact(found.shape, (0, args[0].shape[-1] - 1), unit=1)


MOVES: dict[str, Callable[[list[Fact], Params], Fact | None]] = {
    "reshape": _reshaped,
    "permute": _permuted,
    "slice": _sliced,
    "concat": _chained,
    "repeat": _repeated,
    "rotary": _rotated,
    "causal": _masked,
    "causal_at": _masked,
    "gather": _gathered,
    "top_values": _ranked,
    "top_indices": _places,
}
