"""Figures that published failures and model sizes give, through the library's own operators."""

from __future__ import annotations

from fractions import Fraction

import msgspec
import pytest

from pllm_lang.catalog.apply import Inferred, Params, Type, infer, result_facts
from pllm_lang.catalog.bounds import known_facts, settle
from pllm_lang.catalog.evaluate import holds, tensor, term
from pllm_lang.catalog.facts import Exact, Facts, Interval, Known
from pllm_lang.catalog.formats import format_facts, highest
from pllm_lang.catalog.records import Format
from pllm_lang.catalog.tensor import Shape
from tests.catalog.library import components, operators


def fixed(bits: int, frac: int, ring: int) -> Format:
    half = 2 ** (bits - 1)
    return Format(
        "fx", "fixed", low=str(-half), high=str(half - 1), frac=frac, modulus=str(2**ring), bits=bits
    )


FX = fixed(64, 16, 64)


def apply(
    name: str,
    params: Params | None = None,
    component: str = "",
    form: Format = FX,
    **operands: tuple[Shape, Facts],
):
    operator = operators()[name]
    types = {n: Type(form, shape) for n, (shape, _) in operands.items()}
    found = infer(operator, types, params or Params())
    assert isinstance(found, Inferred), found
    env = found.env
    env.facts = {n: facts for n, (_, facts) in operands.items()}
    for result in found.results:
        env.formats[result] = form
    method = components()[component] if component else None
    results = result_facts(operator, env, method)
    env.facts |= results
    return results, env


def within(limit: Exact, low: Exact | None = None) -> Facts:
    return Facts(range=Interval(-limit if low is None else low, limit), error=0)


def test_mp_spdz_1725_with_the_matrices_as_constants() -> None:
    """The largest entry of the product is 2926, the sum of all is 102870."""
    values = tuple(range(36))
    a, b = known_facts(Known((9, 4), values)), known_facts(Known((4, 9), values))
    c = apply("matmul", a=((9, 4), a), b=((4, 9), b))[0]["c"]
    assert c.range == Interval(126, 2926)
    assert apply("sum", x=((9, 9), c))[0]["y"].range == Interval(102870, 102870)


def test_mp_spdz_1725_with_the_range_alone() -> None:
    entries = within(35, 0)
    c = apply("matmul", a=((9, 4), entries), b=((4, 9), entries))[0]["c"]
    assert c.range == Interval(0, 4900)
    assert apply("sum", x=((9, 9), c))[0]["y"].range == Interval(0, 396900)


LLAMA = {"x": (1, 4096), "w": (14336, 4096)}


def gate_times_up(x: Facts, w: Facts) -> Exact:
    """gate * up of an MLP of Llama-3.1-8B, before truncation: the bound in real units."""
    y = apply("linear", x=(LLAMA["x"], x), w=(LLAMA["w"], w))[0]["y"]
    z = apply("mul", x=((1, 14336), y), y=((1, 14336), y))[0]["z"]
    assert z.range is not None
    return z.range.high


def normalised() -> Facts:
    """rms_norm of an input that nothing is known of, with weights at most 2."""
    g = within(2)
    found = apply(
        "rms_norm",
        Params(exact={"eps": Fraction(1, 10**5), "offset": 0}),
        x=((1, 4096), Facts()),
        g=((4096,), g),
    )
    return found[0]["y"]


def test_llama_norms() -> None:
    y = normalised()
    assert y.row_norm2_sq == 128**2
    assert y.range == Interval(-128, 128)


def test_llama_intervals_alone_refuse_what_norms_accept() -> None:
    """2^38 with abs(w) <= 1, 2^26 with row L1 64, 2^15 with squared row L2 2 (verifier.md)."""
    y = normalised()
    alone = msgspec.structs.replace(y, row_norm2_sq=None)
    assert gate_times_up(alone, within(1)) == 2**38
    assert gate_times_up(alone, settle(msgspec.structs.replace(within(1), row_norm1=64))) == 2**26
    with_l2 = gate_times_up(y, settle(msgspec.structs.replace(within(1), row_norm2_sq=2)))
    assert 2**15 <= with_l2 < 2**15 + Fraction(1, 1000)


@pytest.mark.parametrize(("frac", "fits"), [(16, True), (29, True), (30, False), (32, False)])
def test_crypten_367_product_before_truncation(frac, fits) -> None:
    """abs(x), abs(y) <= 4.4: 19.36 * 2^(2f) stays below 2^63 up to f = 29."""
    form = fixed(64, frac, 64)
    entries = within(Fraction(44, 10))
    _, env = apply("mul", component="fixed_mul_exact", form=form, x=((4,), entries), y=((4,), entries))
    (p,) = components()["fixed_mul_exact"].intermediates
    found = tensor(p.expr, env)
    assert found is not None
    assert found.facts.range is not None
    assert (found.facts.range.high < 2**63) is fits


def test_crypten_367_failure_of_local_truncation() -> None:
    """A share of 64 bits wraps with probability 19.36 * 2^58 / 2^64 = 0.3025."""
    form = fixed(64, 29, 64)
    entries = within(Fraction(44, 10))
    _, env = apply("mul", component="fixed_mul_two_party", form=form, x=((4,), entries), y=((4,), entries))
    failure = components()["fixed_mul_two_party"].failure
    assert failure is not None
    found = term(failure, env)
    assert found is not None
    assert found.high == Fraction(3025, 10000)


def test_spu_765_last_product() -> None:
    """(a*b*(c*d - e*f)) * (g*h*i*j) with all at most 10^6: 2 * 10^48."""
    one = ((), within(10**6))

    def times(x: Facts, y: Facts) -> Facts:
        return apply("mul", x=((), x), y=((), y))[0]["z"]

    two = times(one[1], one[1])
    difference = apply("sub", x=((), two), y=((), two))[0]["z"]
    left, right = times(two, difference), times(two, two)
    assert left.range == Interval(-2 * 10**24, 2 * 10**24)
    assert times(left, right).range == Interval(-2 * 10**48, 2 * 10**48)
    assert 160 < (2 * 10**48).bit_length() <= 161


def test_seal_605_polynomial() -> None:
    """4 (x^2 + 1)(x + 1)^2 = 4 + 8x + 8x^2 + 8x^3 + 4x^4 is 7252 at 6 and 180 at 2."""
    params = Params(lists={"coefficients": (4, 8, 8, 8, 4)})
    wide, env = apply("polynomial", params, x=((), within(6, 0)))
    assert wide["y"].range == Interval(4, 7252)
    env.exact["modulus"] = 1024
    _, clause = components()["plaintext_modulus_polynomial"].requires
    assert holds(clause.expr, env) is None
    narrow, env = apply("polynomial", params, x=((), within(2, 0)))
    env.exact["modulus"] = 1024
    assert narrow["y"].range == Interval(4, 180)
    assert holds(clause.expr, env) is True


@pytest.mark.parametrize(("limit", "verdict"), [(8191, True), (8192, None)])
def test_open_bumblebee_9_cast(limit, verdict) -> None:
    _, env = apply("gelu", component="gelu_32", form=fixed(64, 18, 64), x=((4,), within(limit)))
    clause = components()["gelu_32"].requires[0]
    assert holds(clause.expr, env) is verdict


def prime(bits: int, frac: int) -> Format:
    field = 2**bits - 1  # any modulus of this many bits
    return Format("p", "fixed", low=str(-(2**40)), high=str(2**40), frac=frac, modulus=str(field))


@pytest.mark.parametrize(("bits", "verdict"), [(64, False), (83, False), (84, True)])
def test_mp_spdz_1401_truncation_in_a_prime_field(bits, verdict) -> None:
    """k + f + 1 + 40 = 84 for k = 31, f = 12."""
    form = prime(bits, 12)
    _, env = apply("truncate", Params(exact={"bits": 12}), form=form, x=((4,), within(2**18)))
    env.exact |= {"k": 31, "kappa": 40}
    clause = components()["prime_truncate"].requires[0]
    assert holds(clause.expr, env) is verdict
    assert term(clause.expr.args[1], env) == Interval(84, 84)


@pytest.mark.parametrize(("bits", "verdict"), [(128, False), (169, False), (170, True)])
def test_spdz_2_70_comparison_in_a_prime_field(bits, verdict) -> None:
    form = msgspec.structs.replace(prime(bits, 0), low=str(-(2**127)), high=str(2**127))
    entries = format_facts(form)
    words = Params(words={"relation": "less"})
    _, env = apply("compare", words, form=form, x=((4,), entries), y=((4,), entries))
    env.exact |= {"n": 128, "kappa": 40}
    clause = components()["prime_compare"].requires[0]
    assert holds(clause.expr, env) is verdict
    assert term(clause.expr.args[1], env) == Interval(170, 170)


def test_softmax_rows_after_the_maximum() -> None:
    """1 <= sum(exp(x - max)) <= n, so that the division has a bound: no interval knows this."""
    scores = within(100)
    y = apply("subtract_row_max", x=((2, 8), scores))[0]["y"]
    assert y.range == Interval(-200, 0)
    e = apply("exp", x=((2, 8), y))[0]["y"]
    total = apply("row_sum", x=((2, 8), e))[0]["y"]
    assert total.range == Interval(1, 8)
    shares = apply("softmax", x=((2, 8), scores))[0]["y"]
    assert shares.row_norm1 == 1
    values = within(3)
    mixed = apply("attention_values", p=((2, 8), shares), v=((8, 4), values))[0]["y"]
    assert mixed.range == Interval(-3, 3)


def test_norms_survive_rounding() -> None:
    form = fixed(64, 18, 64)
    w = settle(Facts(range=Interval(-1, 1), row_norm2_sq=2, error=0))
    x = settle(Facts(range=Interval(-4, 4), row_norm2_sq=16, error=0))
    exact = apply("mul", x=((1, 9), x), y=((1, 9), w))[0]["z"]
    off = apply("mul", component="fixed_mul_exact", form=form, x=((1, 9), x), y=((1, 9), w))[0]["z"]
    assert exact.row_norm2_sq == 16
    assert off.row_norm2_sq is not None
    assert 16 < off.row_norm2_sq < 16 + Fraction(1, 1000)
    assert off.error == Fraction(1, 2**18)


def test_literals_in_a_format() -> None:
    form = fixed(32, 4, 32)
    to = Params(formats={"to": form})
    on_grid = apply("encode", to, x=((2,), known_facts(Known((2,), (Fraction(3, 16), 2)))))[0]["y"]
    assert on_grid.value == Known((2,), (Fraction(3, 16), 2))
    assert on_grid.error == 0
    off = apply("encode", to, x=((2,), known_facts(Known((2,), (Fraction(1, 3), 2)))))[0]["y"]
    assert off.value == Known((2,), (Fraction(5, 16), 2))
    assert off.error == Fraction(1, 3) - Fraction(5, 16)


def test_format_ends() -> None:
    assert highest(fixed(64, 18, 64)) == (2**63 - 1) / Fraction(2**18)
    assert format_facts(fixed(8, 4, 8)).range == Interval(-8, Fraction(127, 16))
    assert format_facts(Format("f", "float", bits=32)).unit is None
