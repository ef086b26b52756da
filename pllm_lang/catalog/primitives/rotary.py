"""`rotary(x, positions, theta: t, dims: r, pairing: split_half)`: rotation of pairs by position times
frequency.

Pair i of the first r entries of a row turns by `position * theta^(-2i/r)`; the rest stay. `split_half`
pairs i with
i + r/2, `interleaved` pairs 2i with 2i + 1. Source: Su et al., RoFormer (arXiv 2104.09864), equation 34.

`divisors: [...]` divides the rate of each pair by its own number, `factor: f` every rate by f. With `original`, `low`
and `high` too, rates are scaled as Llama 3.1 does: a pair that turns `n = original * rate / (2 pi)` times keeps the
share `clamp((n - low) / (high - low), 0, 1)` of its rate (for `low = high`, all of it from there on), and the rest is
divided by f. With `original`, `fast` and `slow`, as YaRN does (arXiv 2309.00071): from the pair that turns `fast` times over
the original positions to the one that turns `slow` times, ever more of the rate is divided. With `turning: n` only the
first n pairs turn.
"""

from __future__ import annotations

from pllm_lang.catalog.bounds import Arg, max_abs, root, row_norm2_sq, times
from pllm_lang.catalog.facts import Exact, Facts
from pllm_lang.catalog.primitives.add import entry_sum
from pllm_lang.catalog.primitives.circular import entry_circular
from pllm_lang.catalog.primitives.div import entry_quotient
from pllm_lang.catalog.primitives.elementwise import written
from pllm_lang.catalog.primitives.extremes import entry_max, entry_min
from pllm_lang.catalog.primitives.mul import entry_product
from pllm_lang.catalog.primitives.primitive import Params, Primitive, int_param
from pllm_lang.catalog.primitives.sub import entry_difference
from pllm_lang.catalog.tensor import Entry, Row, Shape, Tensor, ends, entries, of_rows, spend
from pllm_lang.exact import enclose, interval
from pllm_lang.exact.number import Interval, ratio

PAIRINGS = ("split_half", "interleaved")


def shape(shapes: tuple[Shape, ...], params: Params) -> Shape | str:
    x, positions = shapes
    dims = int_param(params, "dims")
    if len(x) < 2 or positions != (x[-2],):
        return f"rotary of {written(x)} needs a position for each row, not {written(positions)}"
    if dims is None or dims % 2 or not 0 <= dims <= x[-1] or params.get("pairing") not in PAIRINGS:
        return (
            f"rotary turns an even number of the {x[-1]} entries of a row, paired split_half or interleaved"
        )
    if not _divisors_fit(params, dims // 2):
        return f"rotary divides the rates of {dims // 2} pairs by a positive number each"
    turning = int_param(params, "turning", dims // 2)
    if turning is None or not 0 <= turning <= dims // 2:
        return f"of {dims // 2} pairs, `turning:` counts those that turn"
    return x


def _divisors_fit(params: Params, pairs: int) -> bool:
    divisors = params.get("divisors", ())
    return isinstance(divisors, tuple) and (not divisors or (len(divisors) == pairs and min(divisors) > 0))


def facts(args: tuple[Arg, ...], _params: Params) -> Facts:
    """A rotation keeps the norm of every pair, so of every row; one entry is at most its pair's norm."""
    limit = root(times(2, max_abs(args[0]), max_abs(args[0])))
    found = None if limit is None else interval.symmetric(limit)
    return Facts(range=found, row_norm2_sq=row_norm2_sq(args[0]), rule="rotation")


def error(args: tuple[Arg, ...], _params: Params) -> Exact | None:
    """The difference is rotated too: at most sqrt(2) times as large in an entry. Positions are exact."""
    e = args[0].facts.error
    return root(times(2, e, e)) if args[1].facts.error == 0 else None


def execute(args: tuple[Tensor, ...], params: Params) -> Tensor:
    x, places = args[0], entries(args[1])
    dims, theta = int_param(params, "dims") or 0, params.get("theta")
    if isinstance(theta, (str, tuple)) or theta is None or theta <= 0:
        raise ArithmeticError("theta is not a positive number")
    turning = int_param(params, "turning", dims // 2)
    rates = _rates(dims, theta, params)[:turning]
    turns = [_turns(place, rates) for place in places]
    spend(len(x.which) * max(1, x.shape[-1]))
    pairs = _pairs(dims, params.get("pairing") == "interleaved")[:turning]
    rows = (_rotated(x.rows[r], turns[i % len(places)], pairs) for i, r in enumerate(x.which))
    return of_rows(x.shape, rows)


def _pairs(dims: int, interleaved: bool) -> list[tuple[int, int]]:
    half = dims // 2
    return [(2 * i, 2 * i + 1) if interleaved else (i, i + half) for i in range(half)]


def _rates(dims: int, theta: Exact, params: Params) -> list[Entry]:
    """The angle of every pair at position 1."""
    log = enclose.log(theta)
    divisors = params.get("divisors", ())
    found: list[Entry] = []
    for i in range(dims // 2):
        share = ratio(-2 * i, dims)
        low, high = enclose.exp(log.high * share), enclose.exp(log.low * share)
        if low is None or high is None:
            raise ArithmeticError("theta is too large")
        plain: Entry = 1 if i == 0 else _between(low, high)
        ramped = "fast" in params
        rate = entry_product(plain, _yarn_share(i, dims, log, params)) if ramped else _scaled(plain, params)
        found.append(
            entry_product(rate, ratio(1, divisors[i])) if isinstance(divisors, tuple) and divisors else rate
        )
    return found


def _scaled(rate: Entry, params: Params) -> Entry:
    factor = _number(params, "factor")
    if factor is None:
        return rate
    if "original" not in params:
        return entry_product(rate, ratio(1, factor))
    original, low, high = (_number(params, name) for name in ("original", "low", "high"))
    if original is None or low is None or high is None or low > high:
        raise ArithmeticError("the scaling of the rates is not known")
    turned = entry_quotient(entry_product(rate, original), entry_product(2, enclose.pi()))
    kept = _kept(turned, low, high)
    return entry_product(rate, entry_sum(kept, entry_product(entry_difference(1, kept), ratio(1, factor))))


def _yarn_share(pair: int, dims: int, log_theta: Interval, params: Params) -> Entry:
    """What YaRN multiplies the rate of a pair by: `1 - ramp + ramp / factor`."""
    factor, original, fast, slow = (_number(params, name) for name in ("factor", "original", "fast", "slow"))
    if factor is None or original is None or fast is None or slow is None or log_theta.low <= 0:
        raise ArithmeticError("the scaling of the rates is not known")
    low = entry_max(0, _pair_turning(fast, original, dims, log_theta))
    high = entry_min(dims - 1, _pair_turning(slow, original, dims, log_theta))
    width = entry_difference(high, low)
    if ends(width).low <= 0 <= ends(width).high:
        if width != 0:
            raise ArithmeticError("the ramp has no width that is known")
        width = LEAST_WIDTH
    ramp = entry_max(0, entry_min(1, entry_quotient(entry_difference(pair, low), width)))
    return entry_sum(entry_difference(1, ramp), entry_product(ramp, ratio(1, factor)))


LEAST_WIDTH = ratio(1, 1000)
"""The width of a ramp that begins where it ends, as in the published code."""


def _pair_turning(turns: Exact, original: Exact, dims: int, log_theta: Interval) -> Entry:
    """The pair, not rounded, that turns this often: `dims log(original / (2 pi turns)) / (2 log(theta))`."""
    circle = enclose.pi()
    low = enclose.log(ratio(original, 2 * turns * circle.high)).low
    high = enclose.log(ratio(original, 2 * turns * circle.low)).high
    return entry_quotient(entry_product(Interval(low, high), ratio(dims, 2)), log_theta)


def _kept(turned: Entry, low: Exact, high: Exact) -> Entry:
    """The share of a rate that stays; where nothing lies between slow and fast pairs, all of it or nothing."""
    if low < high:
        return entry_max(0, entry_min(1, entry_quotient(entry_difference(turned, low), high - low)))
    found = ends(turned)
    return Interval(0, 1) if found.low < low <= found.high else int(found.low >= low)


def _number(params: Params, name: str) -> Exact | None:
    value = params.get(name)
    return None if isinstance(value, str | tuple) or value is None or value <= 0 else value


def _turns(place: Entry, rates: list[Entry]) -> list[tuple[Entry, Entry]]:
    """Cosine and sine of every pair's angle."""
    angles = [entry_product(place, rate) for rate in rates]
    return [(entry_circular(enclose.cos)(a), entry_circular(enclose.sin)(a)) for a in angles]


def _between(x: Interval, y: Interval) -> Interval:
    return interval.hull(x, y)


def _rotated(row: Row, turns: list[tuple[Entry, Entry]], pairs: list[tuple[int, int]]) -> Row:
    result = list(row)
    for (i, j), (cosine, sine) in zip(pairs, turns, strict=True):
        result[i] = entry_difference(entry_product(row[i], cosine), entry_product(row[j], sine))
        result[j] = entry_sum(entry_product(row[j], cosine), entry_product(row[i], sine))
    return tuple(result)


ROTARY = Primitive(
    name="rotary",
    arity=2,
    shape=shape,
    facts=facts,
    execute=execute,
    error=error,
    params=(
        "theta",
        "dims",
        "pairing",
        "factor",
        "original",
        "low",
        "high",
        "divisors",
        "turning",
        "fast",
        "slow",
    ),
)
