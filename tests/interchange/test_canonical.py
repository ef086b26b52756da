"""Canonical form, float spelling and digests of the SDK, against known spellings and Python's `json`."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllm_lang.interchange import DocumentError, canonical_bytes, digest
from pllm_lang.interchange.canonical import native_float, python_canonical_bytes
from pllm_lang.interchange.reading import native_number, read_json
from tests.interchange.cases import permuted, sdk_digest

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
EXACT = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=15,
)


@pytest.mark.parametrize(
    ("value", "spelling"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (1e-5, "0.00001"),
        (1.5e-5, "0.000015"),
        (9.9e-6, "9.9e-6"),
        (1e-6, "1e-6"),
        (-5e-6, "-5e-6"),
        (1e-10, "1e-10"),
        (5e-324, "5e-324"),
        (1e15, "1000000000000000.0"),
        (1e16, "1e+16"),
        (1.2345678901234568e20, "1.2345678901234568e+20"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
    ],
)
def test_native_spelling(value: float, spelling: str) -> None:
    assert native_float(value) == spelling


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_native_spelling_is_shortest_and_exact(value: float) -> None:
    spelling = native_float(value)
    assert struct.pack("d", float(spelling)) == struct.pack("d", value)
    digits = [text.strip("-").split("e")[0].replace(".", "").strip("0") for text in (spelling, repr(value))]
    assert digits[0] == digits[1]


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("0", 0),
        ("-0", -0.0),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 1.8446744073709552e19),
        ("-9223372036854775808", -(2**63)),
        ("-9223372036854775809", -9.223372036854775808e18),
        ("0.1", 0.1),
        ("1E-6", 1e-6),
        ("1e4", 1e4),
        ("1e-400", 0.0),
        ("0e999999999999999999999", 0.0),
        ("120889959.80580641", 120889959.8058064),
        ("9.221885624698875e-07", 9.221885624698876e-07),
    ],
)
def test_native_numbers(literal: str, value: float) -> None:
    found = native_number(literal)
    assert (type(found), found) == (type(value), value)
    assert math.copysign(1, found) == math.copysign(1, value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_native_numbers_are_within_one_step(value: float) -> None:
    found = native_number(repr(value))
    assert (
        found in {math.nextafter(value, -math.inf), value, math.nextafter(value, math.inf)}
        or abs(value) < 1e-300
    )


@given(EXACT)
def test_canonical_bytes_without_floats(value: Any) -> None:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert canonical_bytes(value) == python_canonical_bytes(value) == text.encode()
    assert canonical_bytes(permuted(value)) == text.encode()
    assert read_json(text).value == value


@given(EXACT)
def test_digest_separates_domains(value: Any) -> None:
    assert digest("pllm.a.v1", value) == sdk_digest("pllm.a.v1", value)
    assert digest("pllm.a.v1", value) != digest("pllm.b.v1", value)


def test_python_spelling_of_small_floats_differs() -> None:
    assert python_canonical_bytes({"x": 1e-6}) == b'{"x":1e-06}'
    assert canonical_bytes({"x": 1e-6}) == b'{"x":1e-6}'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800", object(), {"x": {1}}])
def test_what_json_cannot_say(value: Any) -> None:
    with pytest.raises(DocumentError):
        python_canonical_bytes(value)


def test_duplicates_are_reported_with_their_depth() -> None:
    found = read_json('{"a": 1, "b": {"c": 1, "c": 2}, "a": 3}')
    assert found.value == {"a": 3, "b": {"c": 2}}
    assert (found.top_duplicates, found.inner_duplicates) == (("a",), ("c",))
