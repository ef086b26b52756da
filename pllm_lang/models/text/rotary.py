"""How rotary positions are written: one operator of the library for each kind of scaling.

YaRN's and LongRoPE's rates are those of the plain kind, each divided by a number of its own; what they multiply
cosine and sine by is a scale of the turned features behind it. Sources: transformers, `modeling_rope_utils`; YaRN,
arXiv 2309.00071; LongRoPE, arXiv 2402.13753.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from pllm_lang.exact import enclose
from pllm_lang.exact.number import Interval, normal
from pllm_lang.models.graph import Op
from pllm_lang.models.limits import MAX_ROTARY_PAIRS
from pllm_lang.models.text.number import number
from pllm_lang.models.text.writer import Writer, refuse_operator

ORIGINAL = "original_max_position_embeddings"
ALWAYS = frozenset({"kind", "theta", "dims", "pairing"})
NAMED: dict[str, tuple[str, dict[str, str]]] = {
    "default": ("rotary_embedding", {}),
    "linear": ("rotary_linear", {"factor": "factor"}),
    "llama3": (
        "rotary_llama3",
        {
            "factor": "factor",
            "low": "low_freq_factor",
            "high": "high_freq_factor",
            "original": "original_max_position_embeddings",
        },
    ),
}
"""The operator of a kind, and the attribute that each of its parameters comes from."""

YARN = frozenset(
    (
        *("factor", "original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow"),
        *("mscale", "mscale_all_dim", "truncate"),
    )
)
LONGROPE = frozenset(
    (
        *("short_factor", "long_factor", "original_max_position_embeddings", "max_positions", "factor"),
        *("attention_factor", "short_mscale", "long_mscale"),
    )
)
DYNAMIC = frozenset(("factor", "max_positions"))
PROPORTIONAL = frozenset(("rotated", "factor"))
"""What each kind may state."""


def write_rotary(writer: Writer, op: Op) -> None:
    kind = str(op.attributes["kind"])
    if int(str(op.attributes["dims"])) > 2 * MAX_ROTARY_PAIRS:
        raise refuse_operator(op, f"more than {MAX_ROTARY_PAIRS} rotary pairs have no form in the text")
    if kind in NAMED:
        _known(op, frozenset(NAMED[kind][1].values()))
        _named(writer, op, *NAMED[kind])
    elif kind == "yarn":
        _known(op, YARN)
        if str(op.attributes.get("truncate", 1)) == "1":
            divisors = ", ".join(map(number, _yarn_divisors(op)))
            _whole_rows(writer, op, "rotary_divided", {"divisors": f"[{divisors}]"}, _yarn_scale(op))
        else:
            _whole_rows(writer, op, "rotary_yarn", _yarn_ramp(op), _yarn_scale(op))
    elif kind == "longrope":
        _known(op, LONGROPE)
        divisors = ", ".join(map(number, _longrope_divisors(writer, op)))
        given = {"divisors": f"[{divisors}]"}
        _whole_rows(writer, op, "rotary_divided", given, _longrope_scale(writer, op))
    elif kind == "dynamic":
        _known(op, DYNAMIC)
        _dynamic(writer, op)
    elif kind == "proportional":
        _known(op, PROPORTIONAL)
        _proportional(writer, op)
    else:
        raise refuse_operator(op, f"rotary positions of kind {kind!r} have no form in the library")


def _known(op: Op, parameters: frozenset[str]) -> None:
    strangers = set(op.attributes) - ALWAYS - parameters
    if strangers:
        kind, listed = op.attributes["kind"], ", ".join(sorted(strangers))
        raise refuse_operator(
            op, f"rotary positions of kind {kind!r} with {listed} have no form in the library"
        )


def _named(writer: Writer, op: Op, operator: str, parameters: dict[str, str]) -> None:
    values = {name: number(op.attributes[attribute]) for name, attribute in parameters.items()}
    given = {"theta": number(op.attributes["theta"]), "dims": number(op.attributes["dims"]), **values}
    operands = f"{writer.operand(op.inputs[0])}, {writer.operand(op.inputs[1])}"
    writer.step(writer.result(op), f"{operator}({operands}, {_arguments(op, given)})")


def _arguments(op: Op, given: dict[str, str]) -> str:
    if op.attributes["pairing"] != "split_half":
        given = given | {"pairing": str(op.attributes["pairing"])}
    return ", ".join(f"{name}: {value}" for name, value in given.items())


def _whole_rows(writer: Writer, op: Op, operator: str, given: dict[str, str], scale: str) -> None:
    """An operator that turns whole rows: the first `dims` features turned and scaled; the others behind them, as they
    were."""
    source, width, dims = writer.operand(op.inputs[0]), op.shape[-1], int(str(op.attributes["dims"]))
    turned = source if dims == width else f"slice({source}, axis: -1, start: 0, stop: {dims})"
    given = {"theta": number(op.attributes["theta"])} | given
    steps = [f"{operator}({turned}, {writer.operand(op.inputs[1])}, {_arguments(op, given)})"]
    if scale:
        steps.append(scale.replace("$", writer.result(op, "turned")))
    if dims != width:
        before = writer.result(op, "scaled" if scale else "turned")
        steps.append(f"concat({before}, slice({source}, axis: -1, start: {dims}, stop: {width}))")
    names = ["turned", "scaled"][: len(steps) - 1]
    for name, step in zip(
        [*(writer.result(op, one) for one in names), writer.result(op)], steps, strict=True
    ):
        writer.step(name, step)


# ---- YaRN: rate / factor * ramp + rate * (1 - ramp), the ramp from pair `low` to pair `high`


def _yarn_divisors(op: Op) -> list[Fraction]:
    pairs, factor = int(str(op.attributes["dims"])) // 2, _exact(op, "factor")
    low = max(floor(_pair(op, _exact(op, "beta_fast", 32) or Fraction(32))), 0)
    high = min(ceil(_pair(op, _exact(op, "beta_slow", 1) or Fraction(1))), 2 * pairs - 1)
    width = Fraction(high - low) or Fraction(1, 1000)
    ramps = [min(max((i - low) / width, Fraction(0)), Fraction(1)) for i in range(pairs)]
    return [1 / (1 - ramp + ramp / factor) for ramp in ramps]


def _pair(op: Op, turns: Fraction) -> Fraction:
    """The pair that turns `turns` times over the original positions, `dims ln(original / (2 pi turns)) / (2 ln
    theta)`: a number with the same floor and ceiling."""
    original, theta, dims = (
        _exact(op, name) for name in ("original_max_position_embeddings", "theta", "dims")
    )
    circle, base = enclose.pi(), enclose.log(normal(theta))
    low = enclose.log(normal(original / (2 * turns * Fraction(circle.high)))).low
    high = enclose.log(normal(original / (2 * turns * Fraction(circle.low)))).high
    if min(_ends(base)) <= 0:
        raise refuse_operator(op, "YaRN with a theta of at most 1 has no form in the library")
    ends = [Fraction(end) * dims / 2 / Fraction(log) for end in (low, high) for log in _ends(base)]
    if floor(min(ends)) != floor(max(ends)) or ceil(min(ends)) != ceil(max(ends)):
        raise refuse_operator(op, "the ramp of YaRN begins or ends too near to a pair to tell at which")
    return min(ends)


def _ends(interval: Interval) -> tuple[Fraction, Fraction]:
    return Fraction(interval.low), Fraction(interval.high)


def _yarn_ramp(op: Op) -> dict[str, str]:
    """What a ramp that is not rounded to whole pairs is told by."""
    fast, slow = _exact(op, "beta_fast", 32) or Fraction(32), _exact(op, "beta_slow", 1) or Fraction(1)
    given = {"factor": _exact(op, "factor"), "original": _exact(op, ORIGINAL), "fast": fast, "slow": slow}
    return {name: number(value) for name, value in given.items()}


def _yarn_scale(op: Op) -> str:
    """The step that scales `$`, empty for a scale of 1."""
    if "attention_factor" in op.attributes:
        return _by(_exact(op, "attention_factor"))
    factor, one, every = _exact(op, "factor"), _exact(op, "mscale", 0), _exact(op, "mscale_all_dim", 0)
    if factor <= 1 or (one and one == every):
        return ""
    if one < 0 or every < 0:
        raise refuse_operator(op, "a negative mscale has no form in the library")
    if not (one and every):
        return f"yarn_scale($, factor: {number(factor)})"
    return f"yarn_scale($, factor: {number(factor)}, weight: {number(one / 10)}, over: {number(every / 10)})"


# ---- LongRoPE: factors of its own for short and for long contexts


def _longrope_divisors(writer: Writer, op: Op) -> list[Fraction]:
    original = _exact(op, ORIGINAL)
    first, last = writer.lengths
    if first <= original < last:
        raise refuse_operator(
            op,
            f"decoding passes position {original}, where longrope changes its rates, which one text cannot say",
        )
    factors = op.attributes["long_factor" if first > original else "short_factor"]
    assert isinstance(factors, tuple)
    return [Fraction(str(factor)) for factor in factors]


def _longrope_scale(writer: Writer, op: Op) -> str:
    stated = "long_mscale" if writer.lengths[0] > _exact(op, ORIGINAL) else "short_mscale"
    if stated in op.attributes:
        return _by(_exact(op, stated))
    if "attention_factor" in op.attributes:
        return _by(_exact(op, "attention_factor"))
    original = _exact(op, ORIGINAL)
    growth = _exact(op, "factor") if "factor" in op.attributes else _exact(op, "max_positions") / original
    if growth <= 1:
        return ""
    return f"longrope_scale($, growth: {number(growth)}, original: {number(original)})"


# ---- rates that hang on the length, and pairs that do not turn


def _dynamic(writer: Writer, op: Op) -> None:
    """The plain rates up to the positions of the model; beyond, they grow with every token."""
    most = _exact(op, "max_positions")
    if writer.lengths[1] > most:
        raise refuse_operator(
            op, f"beyond position {most} dynamic rates change with every token, which one text cannot say"
        )
    _named(writer, op, *NAMED["default"])


def _proportional(writer: Writer, op: Op) -> None:
    given = {name: number(op.attributes[name]) for name in ("theta", "dims")}
    given["pairs"] = str(int(str(op.attributes["rotated"])) // 2)
    if "factor" in op.attributes:
        given["factor"] = number(op.attributes["factor"])
    operands = f"{writer.operand(op.inputs[0])}, {writer.operand(op.inputs[1])}"
    writer.step(writer.result(op), f"rotary_first_pairs({operands}, {_arguments(op, given)})")


def _by(factor: Fraction) -> str:
    return "" if factor == 1 else f"scale($, by: {number(factor)})"


def _exact(op: Op, name: str, default: int | None = None) -> Fraction:
    value = op.attributes.get(name, default)
    assert value is not None
    return Fraction(str(value))
