"""Number formats as the evaluator reads them: bounds, grid, ring, and the facts of any tensor in them."""

from __future__ import annotations

from pllm_lang.catalog.facts import Exact, Facts, Interval
from pllm_lang.catalog.records import Format
from pllm_lang.exact.number import exact, power, ratio

EXACT = Format("exact", "exact")
BOOLEAN = Format("boolean", "boolean", low="0", high="1")
INDEX = Format("index", "index")

STANDARD = {"exact": EXACT, "boolean": BOOLEAN, "index": INDEX}
"""Formats that a signature may name without an import."""

GRIDDED = ("int", "fixed", "ring", "index", "label", "boolean")


def ulp(format: Format) -> Exact | None:
    """The distance of neighbouring values; None where there is no even grid."""
    if format.kind not in GRIDDED:
        return None
    return power(2, -format.frac)


def lowest(format: Format) -> Exact | None:
    """The least value, in real units."""
    return _bound(format, format.low)


def highest(format: Format) -> Exact | None:
    return _bound(format, format.high)


def ring_bits(format: Format) -> Exact | None:
    """Bits that the carrier ring's residues take: 64 for 2^64, 84 for a prime of 84 bits."""
    return (int(exact(format.modulus)) - 1).bit_length() if format.modulus else None


def ring_size(format: Format) -> Exact | None:
    """How many residues the carrier ring has."""
    return exact(format.modulus) if format.modulus else None


def fraction_bits(format: Format) -> Exact | None:
    """Bits behind the binary point; None where there is no even grid."""
    return format.frac if format.kind in GRIDDED else None


def format_facts(format: Format) -> Facts:
    """What is known of a tensor because it is in `format` (its own error: none)."""
    low, high = lowest(format), highest(format)
    known = None if low is None or high is None else Interval(low, high)
    return Facts(range=known, error=0, unit=ulp(format), rule=f"format {format.name}")


def _bound(format: Format, raw: str) -> Exact | None:
    step = power(2, -format.frac)
    if not raw or step is None:
        return None
    return ratio(exact(raw), ratio(1, step))
