"""What elementwise primitives share: how two shapes fit, and running over entries row by row."""

from __future__ import annotations

from collections.abc import Callable

from pllm_lang.catalog.bounds import Arg
from pllm_lang.catalog.facts import Exact, Facts, Interval
from pllm_lang.catalog.primitives.primitive import Params
from pllm_lang.catalog.tensor import (
    STRETCH,
    Entry,
    Row,
    Shape,
    Tensor,
    n_rows,
    row_length,
    spend,
)

EntryFunction = Callable[[Entry], Entry]
EntryOperation = Callable[[Entry, Entry], Entry]


def same_shape(shapes: tuple[Shape, ...], _params: Params) -> Shape | str:
    """The shape column of an entrywise function of one tensor."""
    return shapes[0]


def fitting_shape(shapes: tuple[Shape, ...], _params: Params) -> Shape | str:
    """Equal shapes, a scalar with anything, or an explicit broadcast with what it stretches over."""
    result = shapes[0]
    for shape in shapes[1:]:
        joined = fit(result, shape)
        if joined is None:
            shown = f"{written(result)} and {written(shape)}"
            return f"shapes {shown} differ, and arithmetic never broadcasts by itself"
        result = joined
    return result


def fit(a: Shape, b: Shape) -> Shape | None:
    """The common shape, None where there is none."""
    if b in (a, ()):
        return a
    if a == ():
        return b
    if a[0] == STRETCH and len(a) <= len(b) + 1 and (b[0] != STRETCH or len(a) == len(b)):
        tail = fit(a[1:], b[len(b) - len(a) + 1 :])
        return None if tail is None else (*b[: len(b) - len(a) + 1], *tail)
    if b[0] == STRETCH and a[0] != STRETCH:
        return fit(b, a) if len(b) <= len(a) + 1 else None
    if len(a) != len(b) or a[:-1] != b[:-1] or not _meets(a[-1], b[-1]):
        return None
    return (*a[:-1], max(a[-1], b[-1]))


def written(shape: Shape) -> str:
    return "[" + ", ".join("any" if n == STRETCH else str(n) for n in shape) + "]"


def spread(args: tuple[Arg, ...]) -> tuple[Arg, ...]:
    """The operands over their common shape: norms of a row stay only where the row stays what it was."""
    shape = args[0].shape
    for arg in args[1:]:
        shape = fit(shape, arg.shape) or shape
    return tuple(arg if arg.shape == shape else _spread_one(arg, shape) for arg in args)


def _spread_one(arg: Arg, shape: Shape) -> Arg:
    old = arg.facts
    whole = arg.shape[-1:] == shape[-1:] and bool(shape)
    facts = Facts(
        range=old.range,
        row_norm2_sq=old.row_norm2_sq if whole else None,
        row_norm1=old.row_norm1 if whole else None,
        error=old.error,
        unit=old.unit,
    )
    return Arg(shape, facts)


def stretch(x: Tensor, shape: Shape) -> Tensor:
    """`x` spread to `shape`, which `fit` has found."""
    if x.shape == shape:
        return x
    length, count = row_length(shape), n_rows(shape)
    rows = x.rows if row_length(x.shape) == length else tuple(row * length for row in x.rows)
    which = x.which * (count // len(x.which)) if x.which else x.which
    return Tensor(shape, rows, which)


def enclosed(function: Callable[[Exact], Interval | None]) -> EntryFunction:
    """An increasing function of entries by its enclosures; ArithmeticError outside its domain or size."""

    def apply(x: Entry) -> Entry:
        low, high = (x.low, x.high) if isinstance(x, Interval) else (x, x)
        below = function(low)
        above = below if low == high else function(high)
        if below is None or above is None:
            raise ArithmeticError("outside the function's domain")
        return below.low if below.low == above.high else Interval(below.low, above.high)

    return apply


def enclosed_range(function: Callable[[Exact], Interval | None]) -> Callable[[Interval], Interval | None]:
    """The range of an increasing function by its enclosures."""

    def apply(x: Interval) -> Interval | None:
        below, above = function(x.low), function(x.high)
        return None if below is None or above is None else Interval(below.low, above.high)

    return apply


def map_entries(x: Tensor, function: EntryFunction) -> Tensor:
    """`function` of every entry; equal rows and equal entries are done once."""
    seen: dict[Entry, Entry] = {}
    spend(sum(len(row) for row in x.rows))
    rows: list[Row] = []
    for row in x.rows:
        for entry in row:
            if entry not in seen:
                seen[entry] = function(entry)
        rows.append(tuple(seen[entry] for entry in row))
    return Tensor(x.shape, tuple(rows), x.which)


def zip_entries(a: Tensor, b: Tensor, operation: EntryOperation) -> Tensor:
    """`operation` of entries at the same place; each distinct pair of rows is done once."""
    shape = fit(a.shape, b.shape)
    assert shape is not None, "shapes are inferred before execution"
    a, b = stretch(a, shape), stretch(b, shape)
    pairs: dict[tuple[int, int], int] = {}
    which = tuple(pairs.setdefault(pair, len(pairs)) for pair in zip(a.which, b.which, strict=True))
    spend(len(pairs) * row_length(shape))
    rows = tuple(tuple(operation(x, y) for x, y in zip(a.rows[i], b.rows[j], strict=True)) for i, j in pairs)
    return Tensor(shape, rows, which)


def range_of(x: Arg) -> Interval | None:
    return x.facts.range


def monotone(
    function: Callable[[Interval], Interval | None], rule: str
) -> Callable[[tuple[Arg, ...], Params], Facts]:
    """The facts column of an entrywise function whose range follows from the range alone."""

    def facts(args: tuple[Arg, ...], _params: Params) -> Facts:
        found = args[0].facts.range
        return Facts(range=None if found is None else function(found), rule=rule)

    return facts


def lipschitz(factor: Exact) -> Callable[[tuple[Arg, ...], Params], Exact | None]:
    """The error column of a function with slope at most `factor`, of its worst operand."""

    def error(args: tuple[Arg, ...], _params: Params) -> Exact | None:
        worst = largest_error(args)
        return None if worst is None else worst * factor

    return error


def largest_error(args: tuple[Arg, ...]) -> Exact | None:
    worst: Exact = 0
    for arg in args:
        if arg.facts.error is None:
            return None
        worst = max(worst, arg.facts.error)
    return worst


def _meets(a: int, b: int) -> bool:
    return a == b or STRETCH in (a, b)
