"""Nothing leaves a proved range: random plans executed exactly, and proof that the test would notice.

The number of executions is raised with PLLM_RANGE_EXECUTIONS (the long mode runs 1,000,000).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import msgspec
import pytest

from pllm_lang.catalog.apply import claim
from pllm_lang.catalog.expr import Apply, Expr, Num
from pllm_lang.catalog.facts import Exact, Facts, Interval
from pllm_lang.catalog.primitives import matmul
from pllm_lang.catalog.primitives.primitive import Primitive
from pllm_lang.catalog.primitives.table import PRIMITIVES
from pllm_lang.catalog.records import Clause, Operator
from pllm_lang.exact.number import exact
from tests.catalog.random_plans import Ran, all_operators, claim_name, rules_of, run_plan

EXECUTIONS = int(os.environ.get("PLLM_RANGE_EXECUTIONS", "0"))
PLANS_A_RULE = 200
PLANS_AN_OPERATOR = 210
STEP = Fraction(1, 2**30)
"""What one step is where values are no whole numbers: far more than any enclosure is wide."""


def every_run(plans: int) -> Iterator[Ran]:
    ops = all_operators()
    for seed in range(plans):
        for operator in ops.values():
            yield from run_plan(seed, operator, ops)


def rules() -> list[str]:
    claims = [claim_name(op, i) for op in all_operators().values() for i in range(len(op.ensures))]
    return sorted(PRIMITIVES) + claims


def test_no_value_leaves_a_proved_range() -> None:
    """Every rule occurs in at least PLANS_A_RULE plans, all of them executed."""
    seen: Counter[str] = Counter()
    executed = 0
    for ran in every_run(max(PLANS_AN_OPERATOR, EXECUTIONS // len(all_operators()))):
        assert ran.broken == [], ran
        seen.update(ran.rules)
        executed += 1
    assert {rule: seen[rule] for rule in rules() if seen[rule] < PLANS_A_RULE} == {}
    assert executed >= EXECUTIONS


# ---- the test would notice: every bound of every rule, one step smaller
# -------------------------------------


def step_of(value: Exact) -> Exact:
    return 1 if value == int(value) else STEP


def shrink(facts: Facts, field: str) -> Facts:
    """`facts` with one bound a step too small."""
    found = facts.range
    if field in ("low", "high"):
        if found is None:
            return facts
        low, high = found.low, found.high
        low = low + step_of(low) if field == "low" else low
        high = high - step_of(high) if field == "high" else high
        moved = Interval(min(low, high), high) if field == "high" else Interval(low, max(low, high))
        return msgspec.structs.replace(facts, range=moved)
    value = getattr(facts, field)
    return facts if value is None else msgspec.structs.replace(facts, **{field: max(0, value - STEP)})


FIELDS = ("low", "high", "row_norm2_sq", "row_norm1", "col_norm2_sq", "col_norm1")


def weakened(primitive: Primitive, field: str) -> Primitive:
    column = primitive.facts
    assert column is not None
    return msgspec.structs.replace(primitive, facts=lambda args, params: shrink(column(args, params), field))


def first_broken(rule: str, ops: dict[str, Operator], targets: list[Operator], plans: int) -> Ran | None:
    for seed in range(plans):
        for target in targets:
            for ran in run_plan(seed, target, ops):
                if ran.broken and rule in ran.rules:
                    return ran
    return None


def using(rule: str) -> list[Operator]:
    return [op for op in all_operators().values() if rule in rules_of(op)]


def gives(name: str, field: str) -> bool:
    """Whether the primitive ever states this bound on a result."""
    return field in ("low", "high") or field in NORM_FIELDS_OF.get(name, ())


EACH = ("row_norm2_sq", "row_norm1", "col_norm2_sq", "col_norm1")
NORM_FIELDS_OF = {
    **dict.fromkeys(("+", "-", "*", "neg", "abs", "transpose", "permute", "slice", "concat", "repeat"), EACH),
    **dict.fromkeys(("^", "matmul", "outer"), EACH),
    **dict.fromkeys(("gather", "reshape", "top_values", "/", "row_broadcast"), EACH[:2]),
    "rotary": EACH[:1],
}


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("name", sorted(name for name, one in PRIMITIVES.items() if one.facts is not None))
def test_a_smaller_bound_of_a_primitive_is_noticed(name, field, monkeypatch) -> None:
    if not gives(name, field):
        return
    monkeypatch.setitem(PRIMITIVES, name, weakened(PRIMITIVES[name], field))
    assert first_broken(name, all_operators(), using(name), PLANS_AN_OPERATOR) is not None


CANDIDATES = (
    "k * range(a) * range(b)",
    "max_abs(a) * norm1(b)",
    "norm1(a) * max_abs(b)",
    "norm2(a) * norm2(b)",
    "norm1(a) * range(b)",
    "range(a) * norm1(b)",
)


@pytest.mark.parametrize("label", CANDIDATES)
def test_a_smaller_bound_of_a_product_is_noticed(label, monkeypatch) -> None:
    """The range of a matrix product is the best of six bounds: each of them counts."""
    whole = matmul.candidates

    def weaker(a, b):
        for found, rule in whole(a, b):
            smaller = Interval(found.low, found.high - step_of(found.high))
            yield (smaller if rule == label and smaller.low <= smaller.high else found), rule

    monkeypatch.setattr(matmul, "candidates", weaker)
    assert first_broken("matmul", all_operators(), using("matmul"), PLANS_AN_OPERATOR) is not None


def claims() -> list[tuple[str, int]]:
    return [(op.name, i) for op in all_operators().values() for i in range(len(op.ensures))]


@pytest.mark.parametrize(("name", "position"), [c for c in claims() if c != ("truncate", 0)])
def test_a_smaller_claim_of_an_operator_is_noticed(name, position) -> None:
    """One step is one unit in the last place of a decimal, and STEP for a term."""
    operator = all_operators()[name]
    weaker = msgspec.structs.replace(
        operator, ensures=tuple(tighter(c) if i == position else c for i, c in enumerate(operator.ensures))
    )
    found = first_broken(claim_name(operator, position), all_operators(), [weaker], 8 * PLANS_AN_OPERATOR)
    assert found is not None


def tighter(clause: Clause) -> Clause:
    read = claim(clause)
    assert read is not None
    step = last_place(read.bound)
    bound = Apply("-" if read.op == "<=" else "+", (read.bound, Num(str(step))))
    assert isinstance(clause.expr, Apply)
    return msgspec.structs.replace(clause, expr=Apply(clause.expr.fn, (clause.expr.args[0], bound)))


def last_place(bound: Expr) -> Exact:
    if not isinstance(bound, Num):
        return STEP
    value, place = exact(bound.value), Fraction(1)
    while value / place % 1:
        place /= 10
    return place if place < 1 else STEP
