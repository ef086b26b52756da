"""Formats: the exact set of values of every constructor."""

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllm_lang.catalog.expr import Apply, Num
from pllm_lang.catalog.load import open_project, shipped_library
from pllm_lang.catalog.read.format import make_format
from pllm_lang.catalog.records import Format


def read(tmp_path: Path, text: str) -> Format:
    path = tmp_path / "f.pllm"
    path.write_text(f"pllm 1\nformat f = {text}\n")
    opened = open_project([str(path)], str(tmp_path))
    assert opened.findings == ()
    found = opened.library.format("./f.f")
    assert found is not None
    return found


@given(st.integers(1, 200))
def test_an_int_of_n_bits_is_two_s_complement(bits: int) -> None:
    made = make_format("f", Apply("int", (Num(str(bits)),)))
    assert (int(made.low), int(made.high)) == (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


@given(st.integers(-300, 300), st.integers(0, 300))
def test_an_int_between_bounds_takes_the_bits_it_needs(low: int, more: int) -> None:
    made = make_format("f", Apply("int", (Num(str(low)), Num(str(low + more)))))
    assert (int(made.low), int(made.high)) == (low, low + more)
    widths = range(1, 64)
    unsigned = [bits for bits in widths if low >= 0 and low + more < 2**bits]
    signed = [bits for bits in widths if low >= -(2 ** (bits - 1)) and low + more < 2 ** (bits - 1)]
    assert made.bits == min(unsigned or signed)


@given(st.integers(2, 10**9))
def test_a_ring_holds_one_representative_of_each_residue(modulus: int) -> None:
    made = make_format("f", Apply("ring", (), (("modulus", Num(str(modulus))),)))
    low, high = int(made.low), int(made.high)
    assert high - low + 1 == modulus
    assert 0 <= -low - high <= 1


@pytest.mark.parametrize(
    ("text", "kind", "low", "high", "frac", "modulus", "bits"),
    [
        ("fixed(64, 18)", "fixed", -(2**63), 2**63 - 1, 18, "", 64),
        ("fixed(31, 16, ring: ring(64))", "fixed", -(2**30), 2**30 - 1, 16, str(2**64), 64),
        ("fixed(16, 7, low: -128, high: 128)", "fixed", -128, 128, 7, "", 16),
        ("ring(modulus: 2^84 - 35)", "ring", -(2**83 - 18), 2**83 - 18, 0, str(2**84 - 35), 84),
        ("ring(2 * 32)", "ring", -(2**63), 2**63 - 1, 0, str(2**64), 64),
        ("index(0, 9)", "index", 0, 9, 0, "", 4),
        ("boolean", "boolean", 0, 1, 0, "", 1),
    ],
)
def test_constructors(
    tmp_path: Path, text: str, kind: str, low: int, high: int, frac: int, modulus: str, bits: int
) -> None:
    found = read(tmp_path, text)
    assert (found.kind, int(found.low), int(found.high)) == (kind, low, high)
    assert (found.frac, found.modulus, found.bits) == (frac, modulus, bits)


def test_floats_reach_what_ieee_754_says() -> None:
    largest = {
        "f16": Fraction(65504),
        "f32": (2 - Fraction(1, 2**23)) * 2**127,
        "bf16": (2 - Fraction(1, 2**7)) * 2**127,
    }
    for name, value in largest.items():
        found = shipped_library().format(f"std.formats.{name}")
        assert found is not None
        assert int(found.high) == value
        assert int(found.low) == -value


def test_the_weights_of_the_library_are_symmetric_with_a_scale_a_row() -> None:
    found = shipped_library().format("std.formats.weight8")
    assert found is not None
    assert (found.low, found.high, found.scale, found.bits) == ("-127", "127", "row", 8)
