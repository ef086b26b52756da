"""The records of published functions: their bounds hold for the formula, and for any code that rounds each of its steps."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random

import pytest

from pllm_lang.audit.derive import FIELD, cases, derive, domain_of
from pllm_lang.audit.formula import Enclosed, enclosed
from pllm_lang.audit.report import audited, is_published
from pllm_lang.catalog.apply import claim
from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term
from pllm_lang.catalog.expr import Apply, Num
from pllm_lang.catalog.load import shipped_library
from pllm_lang.catalog.records import Component, Format, Operator
from pllm_lang.exact import enclose, interval
from pllm_lang.exact.number import Exact, Interval
from tests.audit.rounded import on_grid

LIBRARY = shipped_library()
METHODS = [
    one for key in LIBRARY.keys("component") if (one := LIBRARY.component(key)) and FIELD in one.fields
]
PAIRS = [
    pytest.param(one, op, id=f"{one.name}-{op.name}")
    for one in METHODS
    for op in map(LIBRARY.operator, one.implements)
    if op
]
# What was found in the code of these systems by another hand, computed in floating point (three digits).
SEEN = {
    "puma_gelu": "0.0199", "puma_silu": "0.0719", "bumblebee_gelu": "0.0052", "bumblebee_silu": "0.0099",
    "bolt_gelu": "0.00936", "shaft_gelu": "0.0045", "shaft_silu": "0.0053", "sigma_gelu": "0.0077", "sigma_silu": "0.0078",
    "nexus_gelu": "0.00081", "shaft_bolt_gelu": "16.38", "puma_exp": "0.0085", "crypten_exp": "0.0011",
}  # fmt: skip
STEP_BY_STEP = ("bumblebee_gelu", "gelu_32", "gelu_64", "exp_limit")
"""`tests/catalog/test_methods.py` runs these as their code does, which rounds less than any code may."""
TABLES = ("sigma_gelu", "sigma_silu")
EDGES = ("0", "-14", "-8", "-4", "-3.5", "-3", "-2.7", "-1.95", "2.7", "3", "3.5", "4", "8")


def bound(component: Component, frac: int, given: dict[str, Exact] | None = None) -> Fraction:
    (read,) = (
        found
        for clause in component.ensures
        if (found := claim(clause)) is not None and found.slot == "error"
    )
    form = Format("grid", "fixed", low="-1", high="1", frac=frac)
    found = exact_term(read.bound, Env(exact=dict(given or {}), formats={"x": form, "y": form}))
    assert found is not None
    return Fraction(found)


def meaning(operator: Operator) -> Callable[[Interval], Enclosed | None]:
    return lambda x: enclosed(operator.means[0].expr, "x", x)


def fraction_bits(component: Component) -> int:
    for clause in component.requires:
        match clause.expr:
            case Apply(fn=">=", args=(Apply(fn="fraction_bits"), Num(value=bits))):
                return int(bits)
            case _:
                continue
    raise AssertionError(component.name)


@pytest.mark.parametrize(("component", "operator"), PAIRS)
def test_the_bound_holds_for_the_formula(component: Component, operator: Operator) -> None:
    for given in cases(component):
        limit = bound(component, 200, given)
        found = derive(component, operator, given, (limit,))
        assert found is not None
        assert found.high <= limit, given
    found = derive(component, operator)
    assert found is not None
    if operator.name != "gelu_tanh" and component.name in SEEN:
        digits = len(SEEN[component.name].partition(".")[2])
        assert found.low - Fraction(6, 10 ** (digits + 1)) <= Fraction(SEEN[component.name])
        assert Fraction(SEEN[component.name]) <= found.high + Fraction(6, 10 ** (digits + 1))


def points(component: Component, operator: Operator, frac: int) -> list[Fraction]:
    domain, unit = domain_of(component, operator), Fraction(1, 2**frac)
    assert domain is not None
    low, high = max(domain.low, -16), min(domain.high, 16)
    random = Random(component.name)
    edges = [
        Fraction(int(Fraction(edge) / unit)) * unit + step * unit for edge in EDGES for step in (-1, 0, 1)
    ]
    spread = [Fraction(random.randint(int(low / unit), int(high / unit)), 2**frac) for _ in range(60)]
    return [x for x in (*edges, *spread) if low <= x <= high]


@pytest.mark.parametrize("more", [0, 3])
@pytest.mark.parametrize(
    "component",
    [one for one in METHODS if one.name not in (*TABLES, *STEP_BY_STEP)],
    ids=lambda one: one.name,
)
def test_the_bound_holds_however_steps_round(component: Component, more: int) -> None:
    operator = LIBRARY.operator(component.implements[0])
    assert operator is not None
    frac = fraction_bits(component) + more
    limit, meant = bound(component, frac), meaning(operator)
    for x in points(component, operator, frac):
        given, wanted = on_grid(component.fields[FIELD], x, Fraction(1, 2**frac)), meant(interval.point(x))
        assert wanted is not None
        assert interval.magnitude(interval.sub(given, wanted.range)) <= limit, x


@pytest.mark.parametrize(("name", "entries"), [("sigma_gelu", 255), ("sigma_silu", 1023)])
def test_the_bound_of_a_table_holds_whichever_neighbour_the_cut_takes(name: str, entries: int) -> None:
    """Every x with 12 fraction bits up to 17, its size cut down or up to 6 of them; entries of the table rounded either way."""
    (component,) = (one for one in METHODS if one.name == name)
    limit, unit = bound(component, 12), Fraction(1, 2**12)
    silu = LIBRARY.operator(component.implements[0])
    assert silu is not None
    meant = meaning(silu)
    tail = [
        meant(interval.point(Fraction(-i, 64))) for i in range(entries + 1)
    ]  # f(-t) = -t (1 - weight): max(x, 0) - f
    for raw in range(0, 17 * 2**12, 37):
        x = raw * unit
        wanted = meant(interval.point(x))
        assert wanted is not None
        for step in (raw // 64, raw // 64 + 1):
            less = tail[min(step, entries)]
            assert less is not None
            off = interval.sub(interval.add(interval.point(x), less.range), wanted.range)
            assert interval.magnitude(off) + unit <= limit, x


def test_a_method_is_derived_for_every_choice_that_it_leaves() -> None:
    """The limit form of 32 and of 256: 0.00846... and 0.00105..., as the record says."""
    (limit,) = (one for one in METHODS if one.name == "exp_limit")
    assert cases(limit) == ({"squarings": 5}, {"squarings": 8})
    found = audited(limit, LIBRARY)
    assert [(one.given, one.outcome) for one in found.bounds] == [
        ((("squarings", 5),), "met"),
        ((("squarings", 8),), "met"),
    ]
    lows = [one.derived.low for one in found.bounds if one.derived]
    assert [round(float(low), 5) for low in lows] == [0.00855, 0.00106]


def test_a_domain_that_falls_with_the_fraction_bits_is_that_of_the_fewest() -> None:
    """`gelu_32` casts to 32 bits: with 12 fraction bits, the fewest that it takes, 2^19 is not reached."""
    (method,) = (one for one in METHODS if one.name == "gelu_32")
    (operator, _) = map(LIBRARY.operator, method.implements)
    assert operator is not None
    assert domain_of(method, operator) == Interval(-(2**19), 2**19)


def test_every_published_method_names_its_source() -> None:
    published = [
        one
        for key in LIBRARY.keys("component")
        if (one := LIBRARY.component(key)) and one.module.startswith("std.published")
    ]
    assert len(published) >= 40
    assert all("source" in one.fields and is_published(one) for one in published)
    assert len({one.id for one in published}) == len(published)


def test_a_method_without_a_published_error_asks_for_it_and_says_so() -> None:
    for key in LIBRARY.keys("component"):
        one = LIBRARY.component(key)
        if one is not None and any(spec.name == "off_by" for spec in one.params):
            assert "`off_by`" in " ".join(one.rests_on), one.name
            assert all(spec.default is None for spec in one.params if spec.name == "off_by"), one.name


def test_known_defects_stand_against_their_methods() -> None:
    (bolt,) = (one for one in METHODS if one.name == "shaft_bolt_gelu")
    found = audited(bolt, LIBRARY)
    assert not found.good
    assert [one.applies for one in found.against] == [True]
    (right,) = (one for one in METHODS if one.name == "bolt_gelu")
    assert audited(right, LIBRARY).good


def test_a_root_of_two_is_what_gelu_means() -> None:
    """The formula of this suite and the enclosures agree at a point: GELU(1) is 0.8413."""
    (puma,) = (one for one in METHODS if one.name == "puma_gelu")
    gelu = LIBRARY.operator(puma.implements[0])
    assert gelu is not None
    found = meaning(gelu)(interval.point(1))
    half = enclose.erf(Fraction(enclose.sqrt(Fraction(1, 2)).low))
    assert found is not None
    assert abs(found.range.low - (1 + half.low) / 2) < Fraction(1, 2**40)
    assert Fraction(8413, 10_000) < found.range.low < Fraction(8414, 10_000)
