"""Claims of the arithmetic methods, by enumeration or enclosures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import ceil, floor
from random import Random

import pytest

from pllm_lang.catalog.apply import claim, result_facts
from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term, holds, term
from pllm_lang.catalog.facts import Exact, Facts, Interval
from pllm_lang.catalog.records import Component, Format
from pllm_lang.exact import enclose
from pllm_lang.exact.number import round_down, round_up
from tests.catalog.library import FIXED, components, operators, records

BITS, FRAC = 8, 3
RING = 2**BITS


def centred(residue: int) -> int:
    return (residue + RING // 2) % RING - RING // 2


def local_truncation(p: int, s0: int) -> int:
    """Both parties shift their own summand; the second the negative of its own (SecureML, section 4.1)."""
    s1 = (p - s0) % RING
    return centred((s0 >> FRAC) - ((RING - s1) % RING >> FRAC if s1 else 0))


def test_two_party_truncation_fails_exactly_for_p_shares() -> None:
    """Off by more than one unit for |p| of the 2^k values of the first share, whatever p."""
    for p in range(-RING // 4, RING // 4):
        wrong = sum(abs(local_truncation(p, s0) - Fraction(p, 2**FRAC)) > 1 for s0 in range(RING))
        assert wrong == abs(p), p


@pytest.mark.parametrize(("name", "residues"), [("fixed_mul_two_party", 25), ("fixed_mul_three_party", 26)])
def test_failure_is_the_share_of_wrapping_residues(name, residues) -> None:
    form = Format("fx", "fixed", low="-128", high="127", frac=FRAC, modulus=str(RING))
    five = Facts(range=Interval(Fraction(5, 8), Fraction(5, 8)), error=0)
    env = Env(
        facts={"x": five, "y": five},
        formats={"x": form, "y": form, "z": form},
        shapes={"x": (), "y": (), "z": ()},
    )
    failure = components()[name].failure
    assert failure is not None
    assert term(failure, env) == Interval(Fraction(residues, RING), Fraction(residues, RING))


def three_party_truncation(p: int, r: int) -> int:
    """p - r is opened, cut in the clear, and r / 2^f added back (ABY3, section 5.1)."""
    return centred((centred(p - r) >> FRAC) + (centred(r) >> FRAC))


def test_three_party_truncation_fails_for_at_most_p_plus_one_masks() -> None:
    for p in range(-RING // 4, RING // 4):
        wrong = sum(abs(three_party_truncation(p, r) - Fraction(p, 2**FRAC)) >= 2 for r in range(RING))
        assert abs(p) - 1 <= wrong <= abs(p) + 1, p


def pieces() -> Iterator[tuple[Fraction, Fraction]]:
    """From -14 to 0: coarse far out, where both functions are flat."""
    for start, stop, size in ((-14, -6, 2**5), (-6, 0, 2**10)):
        for i in range(start * size, stop * size):
            yield Fraction(i, size), Fraction(i + 1, size)


def squared(x: Exact, times: int, rounded: Callable[[Exact, int], Exact]) -> Exact:
    """x^(2^times) for positive x, rounded in one direction."""
    for _ in range(times):
        x = rounded(x * x, 64)
    return x


@pytest.mark.parametrize(("squarings", "least"), [(5, Fraction(84, 10000)), (8, Fraction(10, 10000))])
def test_exp_limit_error(squarings, least) -> None:
    """exp(x) - (1 + x/2^n)^(2^n) over -14 to 0, both increasing, enclosed piece by piece."""
    (clause,) = components()["exp_limit"].ensures
    read = claim(clause)
    assert read is not None
    fine = Format("fine", "fixed", low="-1", high="1", frac=40)
    limit = exact_term(read.bound, Env(exact={"squarings": squarings}, formats={"y": fine}))
    assert limit is not None
    n, worst = 2**squarings, Fraction(0)
    for low, high in pieces():
        above, below = enclose.exp(high, 32), enclose.exp(low, 32)
        assert above is not None
        assert below is not None
        worst = max(worst, above.high - squared(1 + low / n, squarings, round_down))
        worst = max(worst, squared(1 + high / n, squarings, round_up) - below.low)
    assert least < worst <= limit - Fraction(2 ** (squarings + 1) - 1, 2**40)


@pytest.mark.parametrize("squarings", [5, 8])
@pytest.mark.parametrize("frac", [2, 4, 7, 10])
def test_exp_limit_error_counts_every_rounding(squarings: int, frac: int) -> None:
    """Every x of the format, each step rounded to either neighbour: the coarser the format, the further off."""
    (clause,) = components()["exp_limit"].ensures
    read = claim(clause)
    assert read is not None
    form = Format("coarse", "fixed", low="-1", high="1", frac=frac)
    limit = exact_term(read.bound, Env(exact={"squarings": squarings}, formats={"y": form}))
    assert limit is not None
    random = Random(f"{squarings}:{frac}")

    def either(x: Fraction) -> int:
        return random.choice((floor, ceil))(x)

    worst = Fraction(0)
    for raw in range(-14 * 2**frac, 1, max(1, 2**frac // 16)):
        true = enclose.exp(Fraction(raw, 2**frac), 64)
        assert true is not None
        for rounded in (floor, ceil, either):
            value = Fraction(rounded((1 + Fraction(raw, 2 ** (frac + squarings))) * 2**frac), 2**frac)
            for _ in range(squarings):
                value = Fraction(rounded(value * value * 2**frac), 2**frac)
            worst = max(worst, abs(value - true.low), abs(value - true.high))
    assert Fraction(1, 2 ** (frac + 1)) < worst <= limit


def test_every_domain_has_a_reason() -> None:
    for component in components().values():
        for clause in component.requires:
            assert clause.reason, component.name


def test_methods_that_round_say_so() -> None:
    """Multiplication in fixed point is not exact; a record without an error would claim that it is."""
    for component in components().values():
        if component.name.startswith(
            ("fixed_", "truncate_", "prime_truncate", "prime_fixed", "gelu_", "exp_")
        ):
            reads = [claim(clause) for clause in component.ensures]
            assert any(read is not None and read.slot == "error" for read in reads), component.name


def test_clear_covers_every_operator_but_those_that_move_holdings() -> None:
    covered = {name.rpartition(".")[2] for name in components()["clear"].implements}
    assert set(operators()) - covered == {"share", "reveal", "convert"}


def test_error_of_a_method_widens_range_and_adds_up() -> None:
    x = Facts(range=Interval(0, 1), error=Fraction(1, 64))
    env = Env(facts={"x": x, "y": x}, formats=dict.fromkeys("xyz", FIXED), shapes=dict.fromkeys("xyz", (2,)))
    exact = result_facts(operators()["mul"], env)["z"]
    off = result_facts(operators()["mul"], env, components()["fixed_mul_exact"])["z"]
    assert exact.error == Fraction(2, 64) + Fraction(1, 64) ** 2
    assert off.error == exact.error + Fraction(1, 16)
    assert off.range == Interval(Fraction(-1, 16), Fraction(17, 16))


def test_an_unknown_error_leaves_nothing_known() -> None:
    x = Facts(range=Interval(0, 1), error=0)
    no_grid = Format("real", "float", bits=32)
    env = Env(
        facts={"x": x, "y": x}, formats=dict.fromkeys("xyz", no_grid), shapes=dict.fromkeys("xyz", (2,))
    )
    off = result_facts(operators()["mul"], env, components()["fixed_mul_exact"])["z"]
    assert off == Facts()


def test_gelu_quadratic_error() -> None:
    """Over -4 to 4: the difference moves by at most 2.4 times a piece's width (slopes below 1.25 and 1.13)."""
    (clause,) = components()["gelu_quadratic"].ensures
    read = claim(clause)
    assert read is not None
    fine = Format("fine", "fixed", low="-1", high="1", frac=40)
    limit = exact_term(read.bound, Env(formats={"y": fine}))
    assert limit is not None
    size, worst = 2**8, Fraction(0)
    for i in range(-4 * size, 4 * size):
        x = Fraction(i, size)
        phi = enclose.erf(x * Fraction(70710678, 10**8), 40)
        gelu = [x * (1 + end) / 2 for end in (phi.low, phi.high)]
        quadratic = x * x / 8 + x / 4 + Fraction(1, 2)
        worst = max(worst, *(abs(quadratic - g) for g in gelu))
    assert Fraction(15, 10) < worst <= limit - Fraction(24, 10) / size


def cut(scaled: int, bits: int, up: bool) -> int:
    """`scaled / 2^bits` rounded to one of its neighbours."""
    return -(-scaled >> bits) if up else scaled >> bits


def gelu_ends(raw: int, frac: int) -> tuple[Fraction, Fraction]:
    """GELU at raw / 2^frac, enclosed."""
    x = Fraction(raw, 2**frac)
    root = enclose.sqrt(Fraction(1, 2))
    low, high = enclose.erf(x * root.low, 40), enclose.erf(x * root.high, 40)
    ends = [x * (1 + end) / 2 for phi in (low, high) for end in (phi.low, phi.high)]
    return min(ends), max(ends)


def bound(name: str, frac: int) -> Fraction:
    modules = ("std.methods", "std.published_functions")
    found = next(record for module in modules if (record := records().get(f"{module}.{name}")))
    assert isinstance(found, Component)
    (clause,) = found.ensures
    read = claim(clause)
    assert read is not None
    form = Format("coarse", "fixed", low="-1", high="1", frac=frac)
    limit = exact_term(read.bound, Env(formats={"y": form}))
    assert limit is not None
    return Fraction(limit)


@pytest.mark.parametrize("frac", [3, 5, 8])
@pytest.mark.parametrize("up", [False, True])
def test_gelu_quadratic_error_counts_every_rounding(frac: int, up: bool) -> None:
    """Every x of the format; the square, its eighth and the quarter of x are cut one by one."""
    worst = Fraction(0)
    for raw in range(-4 * 2**frac, 4 * 2**frac + 1):
        square = cut(raw * raw, frac, up)
        value = Fraction(cut(square, 3, up) + cut(raw, 2, up) + 2 ** (frac - 1), 2**frac)
        worst = max(worst, *(abs(value - end) for end in gelu_ends(raw, frac)))
    assert Fraction(15, 10) < worst <= bound("gelu_quadratic", frac)


QUARTIC = ("0.001620808531841547", "-0.03798164612714154", "0.5410550166368381", "-0.18352506127082727",
           "0.020848611754127593")  # fmt: skip
"""OpenBumbleBee b9c9c86a, activation.cc: of |x|, from the constant upwards; x / 2 is added."""


def quartic(raw: int, frac: int, up: bool) -> Fraction:
    """The published code on `frac` fraction bits: constants cut towards zero, powers cut, one sum cut at the end."""
    constants = [int(Fraction(c) * 2**frac) for c in QUARTIC]
    size = abs(raw)
    square = cut(size * size, frac, up)
    powers = (size, square, cut(size * square, frac, up), cut(square * square, frac, up))
    total = int(Fraction(QUARTIC[0]) * 4**frac) + raw * 2 ** (frac - 1)
    total += sum(c * p for c, p in zip(constants[1:], powers, strict=True))
    return Fraction(cut(total, frac, up), 2**frac)


@pytest.mark.parametrize("up", [False, True])
@pytest.mark.parametrize(("name", "frac", "inner"), [("gelu_32", 12, 12), ("gelu_32", 18, 12),
                                                     ("gelu_64", 12, 12), ("gelu_64", 18, 18),
                                                     ("bumblebee_gelu", 12, 12), ("bumblebee_gelu", 18, 12)])  # fmt: skip
def test_gelu_quartic_error_with_the_constants_of_the_format(
    name: str, frac: int, inner: int, up: bool
) -> None:
    """Values of the format over -3 to 3, cut to the inner grid first; the constants are cut to it too."""
    worst = Fraction(0)
    for raw in range(-3 * 2**frac, 3 * 2**frac, 2**frac // 256 - 1):
        value = quartic(cut(raw, frac - inner, up), inner, up)
        worst = max(worst, *(abs(value - end) for end in gelu_ends(raw, frac)))
    assert Fraction(5, 1000) < worst <= bound(name, frac)


def test_gelu_quartic_leaves_its_error_on_fewer_bits() -> None:
    """Why 12 fraction bits are asked for: at 8, a cut constant alone is further off than the bound."""
    worst = max(abs(quartic(raw, 8, False) - gelu_ends(raw, 8)[0]) for raw in range(-768, 768))
    assert worst > bound("gelu_64", 8)
    for name in ("gelu_32", "gelu_64"):
        asked = components()[name].requires[1]
        found = [holds(asked.expr, Env(formats={"x": Format("f", "fixed", frac=f)})) for f in (8, 11, 12)]
        assert found == [False, False, True]


def opened_wraps(bits: int, kappa: int, modulus: int) -> list[int]:
    """For each value of `bits` bits with sign, of how many masks the opening 2^(bits - 1) + value + mask wraps."""
    half, masks = 2 ** (bits - 1), 2 ** (bits + kappa)
    return [sum(half + value + mask >= modulus for mask in range(masks)) for value in range(-half, half)]


@pytest.mark.parametrize(("modulus", "fails"), [(257, True), (263, True), (269, True), (277, False)])
def test_prime_truncation_fails_as_often_as_its_opening_wraps(modulus: int, fails: bool) -> None:
    """K = 4 bits, kappa = 4, every value and mask: at most 2^-kappa of the masks wrap, and none from 2^K (2^kappa + 1)."""
    worst = max(opened_wraps(4, 4, modulus))
    assert (worst > 0) is fails
    failure = components()["prime_truncate"].failure
    assert failure is not None
    form = Format("field", "ring", low=str(-(modulus // 2)), high=str(modulus // 2), modulus=str(modulus))
    stated = term(failure, Env(exact={"k": 2, "bits": 2, "kappa": 4}, formats={"x": form}))
    assert stated is not None
    assert Fraction(worst, 2**8) <= stated.high <= Fraction(1, 2**4) * fails


def masked_truncation(a: int, bits: int, low: int, high: int, modulus: int) -> int:
    """2^3 + a + high 2^bits + low is opened in the field and its low bits taken off (Catrina and de Hoogh, TruncPr), K = 4."""
    opened = (8 + a + high * 2**bits + low) % modulus
    found = (a - opened % 2**bits + low) * pow(2**bits, -1, modulus) % modulus
    return found - modulus if found > modulus // 2 else found


@pytest.mark.parametrize("modulus", [257, 263, 269, 277, 281])
def test_prime_truncation_executed(modulus: int) -> None:
    """Every value of K = 4 bits and every mask of kappa = 4 bits more: right but for the failure that the record states;
    with one bit more the least field that never fails does fail, so the domain of the record is needed."""
    failure = components()["prime_truncate"].failure
    assert failure is not None
    form = Format("field", "ring", low=str(-(modulus // 2)), high=str(modulus // 2), modulus=str(modulus))
    stated = term(failure, Env(exact={"k": 2, "bits": 2, "kappa": 4}, formats={"x": form}))
    assert stated is not None
    masks = [(low, high) for low in range(4) for high in range(2**6)]

    def wrong(a: int) -> int:
        cut_values = (masked_truncation(a, 2, low, high, modulus) for low, high in masks)
        return sum(abs(found - Fraction(a, 4)) > 1 for found in cut_values)

    assert max(wrong(a) for a in range(-7, 8)) <= stated.high * len(masks)
    assert any(wrong(a) for a in (-15, 15))
