"""The value of a polynomial: every factor executed, as its form says."""

from __future__ import annotations

from pllm_lang.catalog.polynomial import Chain, Factor, Leaf, Map, Mapped, Monomial, Polynomial
from pllm_lang.catalog.primitives.elementwise import fit, stretch
from pllm_lang.catalog.primitives.table import PRIMITIVES
from pllm_lang.catalog.tensor import Tensor, entries, of_entries


def value_of(polynomial: Polynomial, values: dict[str, Tensor]) -> Tensor:
    total = of_entries((), (0,))
    for monomial, coefficient in polynomial.terms.items():
        term = run("*", of_entries((), (coefficient,)), product(monomial, values))
        total = run("+", total, term)
    return total


def product(monomial: Monomial, values: dict[str, Tensor]) -> Tensor:
    total = of_entries((), (1,))
    for factor in monomial:
        total = run("*", total, factor_value(factor, values))
    return total


def factor_value(factor: Factor, values: dict[str, Tensor]) -> Tensor:
    if isinstance(factor, Leaf):
        found = values[factor.name]
        for step in factor.maps:
            found = mapped(step, found)
        return found
    if isinstance(factor, Mapped):
        return mapped(factor.map, product(factor.of, values))
    assert isinstance(factor, Chain)
    parts = [product(part, values) for part in factor.factors]
    total = parts[0]
    for part in parts[1:]:
        total = run("matmul", total, part)
    return total


def mapped(step: Map, x: Tensor) -> Tensor:
    params = dict(step.params)
    if step.fn == "spread":
        shape = params["shape"]
        assert isinstance(shape, tuple)
        return stretch(x, tuple(int(n) for n in shape))
    return run(step.fn, x, **params)


def run(fn: str, *args: Tensor, **params: object) -> Tensor:
    execute = PRIMITIVES[fn].execute
    assert execute is not None
    return execute(args, params)  # type: ignore[arg-type]


def same_values(a: Tensor, b: Tensor) -> bool:
    """Equal entries over the common shape (a number stands for a constant tensor)."""
    shape = fit(a.shape, b.shape)
    return shape is not None and entries(stretch(a, shape)) == entries(stretch(b, shape))
