"""Replay: what follows of a tensor whose entries move, by a primitive with parameters: its shape, and which norms stay."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import prod

import msgspec

from pllm_lang.artifacts.replay import facts as f
from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay.facts import Fact


# ---- entries moved, with parameters ----
def _whole(params: dict[str, object], name: str, default: int | None = None) -> int | None:
    found = params.get(name, default)
    return int(found) if isinstance(found, Fraction | int) and found.denominator == 1 else None


def _sizes(params: dict[str, object], name: str) -> tuple[int, ...] | None:
    found = params.get(name)
    return tuple(int(one) for one in found) if isinstance(found, tuple) else None  # pyright: ignore


def _reshaped(args: list[Fact], params: dict[str, object]) -> Fact | None:
    old, new = args[0].shape, _sizes(params, "shape")
    if new is None or min(new, default=0) < 0 or prod(new) != prod(old):
        return None
    rows = new[-1:] == old[-1:]
    return f.moved(args[0], new, rows, rows and len(new) > 1 and new[-2:] == old[-2:])


def _permuted(args: list[Fact], params: dict[str, object]) -> Fact | None:
    x, order = args[0], _sizes(params, "order")
    if order is None or sorted(order) != list(range(len(x.shape))):
        return None
    shape, rank = tuple(x.shape[axis] for axis in order), len(order)
    norms = {rank - 1: x.rows, rank - 2: x.cols}
    rows, cols = (
        norms.get(order[-1], f.OPEN) if rank else f.OPEN,
        norms.get(order[-2], f.OPEN) if rank > 1 else f.OPEN,
    )
    return Fact(shape, x.range, rows, cols, x.unit, x.peak if rank and order[-1] == rank - 1 else None)


def _sliced(args: list[Fact], params: dict[str, object]) -> Fact | None:
    x, axis, low, high = args[0], _whole(params, "axis", -1), _whole(params, "from", 0), _whole(params, "to")
    if axis is None or low is None or high is None or not -len(x.shape) <= axis < len(x.shape):
        return None
    axis %= len(x.shape)
    if not 0 <= low <= high <= x.shape[axis]:
        return None
    kept = f.moved(x, (*x.shape[:axis], high - low, *x.shape[axis + 1 :]), True, True)
    return kept if axis < len(x.shape) - 1 else msgspec.structs.replace(kept, peak=None)


def _chained(args: list[Fact], params: dict[str, object]) -> Fact | None:
    (a, b), axis = args, _whole(params, "axis", -1)
    if axis is None or len(a.shape) != len(b.shape) or not -len(a.shape) <= axis < len(a.shape):
        return None
    axis %= len(a.shape)
    if a.shape[:axis] != b.shape[:axis] or a.shape[axis + 1 :] != b.shape[axis + 1 :]:
        return None

    def norm(along: int) -> f.Norms:
        ends = zip(f.norms(a, along), f.norms(b, along), strict=True)
        pairs = [
            n.total(x, y) if axis == len(a.shape) + along else None if x is None or y is None else max(x, y)
            for x, y in ends
        ]
        return pairs[0], pairs[1]

    shape = (*a.shape[:axis], a.shape[axis] + b.shape[axis], *a.shape[axis + 1 :])
    return Fact(shape, n.hull(a.range, b.range), norm(-1), norm(-2), f.common(a.unit, b.unit))


def _repeated(args: list[Fact], params: dict[str, object]) -> Fact | None:
    x, axis, times = args[0], _whole(params, "axis", -1), _whole(params, "times")
    if axis is None or times is None or times < 1 or not -len(x.shape) <= axis < len(x.shape):
        return None
    axis %= len(x.shape)
    along = [times if axis == len(x.shape) + end else 1 for end in (-1, -2)]
    rows, cols = (
        (n.product(two, k), n.product(one, k)) for (two, one), k in zip((x.rows, x.cols), along, strict=True)
    )
    return Fact(
        (*x.shape[:axis], x.shape[axis] * times, *x.shape[axis + 1 :]), x.range, rows, cols, x.unit, x.peak
    )


def _rotated(args: list[Fact], _: dict[str, object]) -> Fact:
    """Pairs of entries turn: the norm of each stays, and no entry exceeds its pair's."""
    top = n.largest(args[0].range)
    limit = n.around(n.root_above(n.product(2, top, top)))
    return Fact(args[0].shape, limit, (f.norms(args[0], -1)[0], None))


def _masked(args: list[Fact], _: dict[str, object]) -> Fact:
    return Fact(
        args[0].shape, n.hull(args[0].range, args[-1].range), unit=f.common(args[0].unit, args[-1].unit)
    )


def _gathered(args: list[Fact], _: dict[str, object]) -> Fact | None:
    table, places = args
    return f.moved(table, (*places.shape, table.shape[1]), True, False) if len(table.shape) == 2 else None


def _ranked(args: list[Fact], params: dict[str, object]) -> Fact | None:
    k = _whole(params, "k")
    if k is None or not args[0].shape or not 1 <= k <= args[0].shape[-1]:
        return None
    return f.moved(args[0], (*args[0].shape[:-1], k), True, False)


def _places(args: list[Fact], params: dict[str, object]) -> Fact | None:
    found = _ranked(args, params)
    top = args[0].shape[-1] - 1 if args[0].shape else 0
    return None if found is None else Fact(found.shape, (0, top), unit=1)


MOVES: dict[str, Callable[[list[Fact], dict[str, object]], Fact | None]] = {
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
