"""Constants are exact, in any order, and end."""

import tempfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllm_lang.resolve.modules import ConstValue
from pllm_lang.resolve.project import load
from pllm_lang.resolve.units import UNITS, Problem, read_number, read_quantity

small = st.integers(-50, 50)


def constants(tmp_path: Path, text: str) -> dict[str, ConstValue]:
    path = tmp_path / "c.pllm"
    path.write_text("pllm 1\n" + text)
    project = load([str(path)], str(tmp_path), {})
    assert project.findings == ()
    return project.modules["./c"].constants


@given(st.integers(0, 10**30), st.integers(0, 10**20), st.integers(-40, 40))
def test_a_literal_is_the_decimal_it_spells(whole: int, decimals: int, exponent: int) -> None:
    text = f"{whole}.{decimals}e{exponent}"
    assert read_number(text) == Fraction(Decimal(text))


@given(st.integers(0, 10**9), st.sampled_from(sorted(UNITS)))
def test_a_quantity_is_its_number_times_its_unit(number: int, unit: str) -> None:
    read = read_quantity(f"{number}{unit}")
    assert not isinstance(read, Problem)
    dimension, factor = UNITS[unit]
    assert read == (number * factor, dimension)


def test_units_are_those_of_the_standards() -> None:
    sizes = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
    sizes |= {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "TiB": 1024**4}
    for unit, size in sizes.items():
        assert read_quantity("3" + unit) == (3 * size, "bytes")
    for unit, seconds in {"ns": Fraction(1, 10**9), "us": Fraction(1, 10**6), "min": 60, "h": 3600}.items():
        assert read_quantity("3" + unit) == (3 * seconds, "seconds")


@given(small, small, st.integers(1, 50), st.integers(0, 6))
def test_arithmetic_is_that_of_rationals(a: int, b: int, c: int, n: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        text = f"const V = ({a} + {b}) * {a} - {b} / {c} + ({b} / {c})^{n}\n"
        value = constants(Path(folder), text)["V"]
    assert value == Fraction(a + b) * a - Fraction(b, c) + Fraction(b, c) ** n


def test_order_does_not_matter(tmp_path: Path) -> None:
    found = constants(tmp_path, "const A = B + C\nconst B = 2 * C\nconst C = floor(7/2)\n")
    assert found == {"A": 9, "B": 6, "C": 3}


def test_lists_texts_and_functions(tmp_path: Path) -> None:
    found = constants(
        tmp_path,
        'const A = [1, [2, 3], "x"]\nconst B = A[1][0]\nconst C = ceil(max(1/2, 3/2))\nconst D = true\n',
    )
    assert found == {"A": (1, (2, 3), "x"), "B": 2, "C": 2, "D": True}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("const A = " + "9" * 3_000_000, "file.too_large"),
        ("const A = " + "9" * 900_000, "syntax.too_long"),
        ("const A = 9^(9^9)", "numbers.too_large"),
        ("const A = 2^8000\nconst B = A * A\n", "numbers.too_large"),
        (
            "const A = [" + ", ".join(["1"] * 300) + "]\nconst B = [" + ", ".join(["A"] * 300) + "]\n",
            "numbers.too_large",
        ),
        ("const A = 1e-9999\n", "numbers.too_large"),
        ("const A = (1/3)^(2^30)\n", "numbers.too_large"),
    ],
)
def test_hostile_constants_are_findings(tmp_path: Path, text: str, code: str) -> None:
    path = tmp_path / "c.pllm"
    path.write_text("pllm 1\n" + text)
    codes = [f.code for f in load([str(path)], str(tmp_path), {}).findings]
    assert codes
    assert codes[0].startswith(code)
