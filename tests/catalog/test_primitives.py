"""The columns of every primitive agree: facts contain execution, the polynomial equals it, errors cover
it."""

from __future__ import annotations

from fractions import Fraction

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pllm_lang.catalog.bounds import Arg, known_facts, settle
from pllm_lang.catalog.evaluate import apply_primitive
from pllm_lang.catalog.facts import Facts, Interval, Known
from pllm_lang.catalog.polynomial import number, variable
from pllm_lang.catalog.primitives.primitive import Primitive
from pllm_lang.catalog.primitives.table import PRIMITIVES
from pllm_lang.catalog.tensor import TooManyOperationsError, n_rows, of_known, row_length
from pllm_lang.exact.number import normal
from tests.catalog.cases import CASES, EXACT_OPERANDS, facts_about, scalar_value, tensors_of
from tests.catalog.containment import TOLERANCE, largest_distance, violations
from tests.catalog.polynomials import same_values, value_of

NAMES = sorted(PRIMITIVES)
quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])

WITHOUT_FACTS = ("delta_rule",)
WITHOUT_ERROR = ("delta_rule", "top_indices")
"""Columns that are empty on purpose: which entry is largest has no error bound, and a delta rule has neither."""
WITH_FACTS = [name for name in NAMES if name not in WITHOUT_FACTS]


def executed(primitive: Primitive, case, params):
    """The primitive's own execution; cases outside its domain are not cases."""
    assert primitive.execute is not None
    try:
        return primitive.execute(tensors_of(case), params)
    except (ArithmeticError, TooManyOperationsError):
        assume(False)
        raise


def test_every_primitive_has_a_case() -> None:
    assert set(CASES) == set(PRIMITIVES)


def test_empty_columns_are_these() -> None:
    assert [n for n in NAMES if PRIMITIVES[n].facts is None] == list(WITHOUT_FACTS)
    assert [n for n in NAMES if PRIMITIVES[n].error is None] == list(WITHOUT_ERROR)
    assert all(PRIMITIVES[n].execute is not None for n in NAMES)


@pytest.mark.parametrize("name", NAMES)
@quick
@given(data=st.data())
def test_shape_is_that_of_the_execution(name, data) -> None:
    case, params = data.draw(CASES[name])
    found = executed(PRIMITIVES[name], case, params)
    assert PRIMITIVES[name].shape(tuple(k.shape for k in case), params) == found.shape
    assert len(found.which) == n_rows(found.shape)
    assert all(len(row) == row_length(found.shape) for row in found.rows)


@pytest.mark.parametrize("name", WITH_FACTS)
@quick
@given(data=st.data())
def test_facts_contain_the_execution(name, data) -> None:
    primitive = PRIMITIVES[name]
    case, params = data.draw(CASES[name])
    result = executed(primitive, case, params)
    facts = [scalar_value(known, settle(data.draw(facts_about(known)))) for known in case]
    assert primitive.facts is not None
    args = tuple(Arg(known.shape, found) for known, found in zip(case, facts, strict=True))
    assert violations(settle(primitive.facts(args, params)), result) == []


@pytest.mark.parametrize("name", [n for n in NAMES if PRIMITIVES[n].error is not None])
@quick
@given(data=st.data())
def test_propagated_errors_cover_what_happens(name, data) -> None:
    """Computed operands differ from the real ones by at most their error; so do the results, by the bound."""
    primitive = PRIMITIVES[name]
    case, params = data.draw(CASES[name])
    real, computed, facts = [], [], []
    for position, known in enumerate(case):
        error = data.draw(st.sampled_from([0, Fraction(1, 64), Fraction(1, 4)]))
        if position in EXACT_OPERANDS.get(name, ()):
            error = 0
        offsets = st.lists(st.integers(-4, 4), min_size=len(known.entries), max_size=len(known.entries))
        moved = tuple(
            normal(v + error * Fraction(o, 4)) for v, o in zip(known.entries, data.draw(offsets), strict=True)
        )
        real.append(known)
        computed.append(Known(known.shape, moved))
        found = settle(data.draw(facts_about(computed[-1])))
        facts.append(Arg(known.shape, with_error(scalar_value(computed[-1], found), error)))
    result = apply_primitive(primitive, tuple(facts), params)
    assert result is not None
    if result.facts.error is None:
        return
    right = tensors_of(tuple(real))[0] if primitive.rounds else executed(primitive, tuple(real), params)
    distance = largest_distance(executed(primitive, tuple(computed), params), right)
    assert distance <= result.facts.error + TOLERANCE


def with_error(facts: Facts, error: Fraction | int) -> Facts:
    return Facts(
        range=facts.range,
        row_norm2_sq=facts.row_norm2_sq,
        row_norm1=facts.row_norm1,
        col_norm2_sq=facts.col_norm2_sq,
        col_norm1=facts.col_norm1,
        value=facts.value if error == 0 else None,
        error=error,
    )


@pytest.mark.parametrize("name", [n for n in NAMES if PRIMITIVES[n].polynomial is not None])
@quick
@given(data=st.data())
def test_the_polynomial_equals_the_execution(name, data) -> None:
    primitive = PRIMITIVES[name]
    case, params = data.draw(CASES[name])
    result = executed(primitive, case, params)
    by_number = {"^": (1,), "/": (1,)}.get(name, ())
    parts = tuple(
        number(known.entries[0]) if i in by_number and known.shape == () else variable(f"v{i}")
        for i, known in enumerate(case)
    )
    assert primitive.polynomial is not None
    found = primitive.polynomial(parts, tuple(k.shape for k in case), params)
    if found is None:
        assert name == "/"
        return
    values = {f"v{i}": of_known(known) for i, known in enumerate(case)}
    assert same_values(value_of(found, values), result)


@pytest.mark.parametrize("name", WITH_FACTS)
@quick
@given(data=st.data())
def test_unknown_operands_give_no_made_up_facts(name, data) -> None:
    """What follows from nothing must hold for everything: any execution lies in the facts of unknown
    operands."""
    primitive = PRIMITIVES[name]
    case, params = data.draw(CASES[name])
    result = executed(primitive, case, params)
    args = tuple(Arg(known.shape, scalar_value(known, Facts())) for known in case)
    assert primitive.facts is not None
    assert violations(settle(primitive.facts(args, params)), result) == []


@pytest.mark.parametrize("column", ["facts", "error", "execute"])
def test_an_empty_column_is_unknown(column) -> None:
    """With a column taken away, nothing is concluded from it."""
    add = PRIMITIVES["+"]
    bare = msgspec.structs.replace(add, **{column: None})
    inexact = Facts(range=Interval(0, 1), error=Fraction(1, 2))
    found = apply_primitive(bare, (Arg((2,), inexact), Arg((2,), inexact)), {})
    whole = apply_primitive(add, (Arg((2,), inexact), Arg((2,), inexact)), {})
    assert found is not None
    assert whole is not None
    assert whole.facts.range == Interval(0, 2)
    assert whole.facts.error == 1
    assert (found.facts.range is None) == (column == "facts")
    assert (found.facts.error is None) == (column == "error")


def test_a_mask_that_keeps_nothing_keeps_no_peak() -> None:
    scores, fill = Arg((2, 2), Facts(range=Interval(1, 2))), Arg((), known_facts(Known((), (-5,))))
    full, empty = (apply_primitive(PRIMITIVES["causal"], (scores, fill), {"window": w}) for w in (1, -1))
    assert full is not None
    assert empty is not None
    assert (full.facts.row_max_low, empty.facts.row_max_low) == (1, None)


@pytest.mark.parametrize("name", ["abs", "neg"])
def test_what_was_not_executed_is_not_known(name) -> None:
    """A number beyond what is carried: its size is not the number itself."""
    huge = -(1 << 9000)
    found = apply_primitive(PRIMITIVES[name], (Arg((), Facts(error=0, value=Known((), (huge,)))),), {})
    assert found is not None
    assert found.facts.value is None
