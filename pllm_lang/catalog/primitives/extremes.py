"""`min(a, b)`, `max(a, b)`, `clamp(x, low, high)` entrywise, `row_max(x)` and `subtract_row_max(x)` along
the last axis."""

from __future__ import annotations

from pllm_lang.catalog.bounds import Arg, units_of
from pllm_lang.catalog.facts import Facts, Interval
from pllm_lang.catalog.primitives.elementwise import fitting_shape, lipschitz, zip_entries
from pllm_lang.catalog.primitives.primitive import Params, Primitive
from pllm_lang.catalog.primitives.sub import entry_difference
from pllm_lang.catalog.primitives.sum import rows_shape
from pllm_lang.catalog.tensor import Entry, Row, Shape, Tensor, ends, of_entries, spend
from pllm_lang.exact import interval


def min_facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    x, y = args[0].facts.range, args[1].facts.range
    return Facts(
        range=None if x is None or y is None else interval.minimum(x, y),
        unit=units_of(args),
        rule="min of ranges",
    )


def max_facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    x, y = args[0].facts.range, args[1].facts.range
    return Facts(
        range=None if x is None or y is None else interval.maximum(x, y),
        unit=units_of(args),
        rule="max of ranges",
    )


def clamp_facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    """Bounded even where nothing is known of what is clamped."""
    x, low, high = (arg.facts.range for arg in args)
    if low is None or high is None:
        return Facts()
    if x is None:
        return Facts(range=Interval(min(low.low, high.low), high.high), unit=units_of(args), rule="clamp")
    return Facts(range=interval.minimum(interval.maximum(x, low), high), unit=units_of(args), rule="clamp")


def row_max_facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    found, peak = args[0].facts.range, args[0].facts.row_max_low
    if found is None or peak is None or peak <= found.low:
        return Facts(range=found, unit=args[0].facts.unit, rule="range")
    return Facts(range=Interval(peak, max(peak, found.high)), unit=args[0].facts.unit, rule="row maximum")


def entry_min(x: Entry, y: Entry) -> Entry:
    if isinstance(x, Interval) or isinstance(y, Interval):
        return interval.minimum(ends(x), ends(y))
    return min(x, y)


def entry_max(x: Entry, y: Entry) -> Entry:
    if isinstance(x, Interval) or isinstance(y, Interval):
        return interval.maximum(ends(x), ends(y))
    return max(x, y)


def clamp(args: tuple[Tensor, ...], _params: Params) -> Tensor:
    return zip_entries(zip_entries(args[0], args[1], entry_max), args[2], entry_min)


def whole_rows_shape(shapes: tuple[Shape, ...], params: Params) -> Shape | str:
    reduced = rows_shape(shapes, params)
    return reduced if isinstance(reduced, str) else shapes[0]


def run_row_max(args: tuple[Tensor, ...], _params: Params) -> Tensor:
    x = args[0]
    peaks = [_peak(row) for row in x.rows]
    return of_entries(x.shape[:-1], [peaks[r] for r in x.which])


def below_facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    """`x - row_max(x)`: at most zero, and zero somewhere in every row."""
    found = args[0].facts.range
    width = None if found is None else found.high - found.low
    return Facts(
        range=None if width is None else Interval(-width, 0),
        row_max_low=0,
        unit=args[0].facts.unit,
        rule="below the row maximum",
    )


def run_below(args: tuple[Tensor, ...], _params: Params) -> Tensor:
    x = args[0]
    rows: list[Row] = []
    for row in x.rows:
        peak = _peak(row)
        rows.append(tuple(entry_min(entry_difference(entry, peak), 0) for entry in row))
    return Tensor(x.shape, tuple(rows), x.which)


def _peak(row: Row) -> Entry:
    spend(len(row))
    peak = row[0]
    for entry in row[1:]:
        peak = entry_max(peak, entry)
    return peak


MIN = Primitive(
    name="min",
    arity=2,
    shape=fitting_shape,
    facts=min_facts,
    execute=lambda args, _params: zip_entries(args[0], args[1], entry_min),
    error=lipschitz(1),
)
MAX = Primitive(
    name="max",
    arity=2,
    shape=fitting_shape,
    facts=max_facts,
    execute=lambda args, _params: zip_entries(args[0], args[1], entry_max),
    error=lipschitz(1),
)
CLAMP = Primitive(
    name="clamp", arity=3, shape=fitting_shape, facts=clamp_facts, execute=clamp, error=lipschitz(1)
)
BELOW_ROW_MAX = Primitive(
    name="subtract_row_max",
    shape=whole_rows_shape,
    facts=below_facts,
    execute=run_below,
    error=lipschitz(2),
)
ROW_MAX = Primitive(
    name="row_max", shape=rows_shape, facts=row_max_facts, execute=run_row_max, error=lipschitz(1)
)
