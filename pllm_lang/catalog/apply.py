"""One use of an operator: what is known of its results, and its exact execution.

In come an operator record and an environment (from `infer`, with the operands' facts or values put in); out
come
facts, or tensors. Everything is read from the record: `means`, then `ensures`, then the component's `error`.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from pllm_lang.catalog import evaluate
from pllm_lang.catalog.bounds import Arg, column_size, plus, row_size, settle, square_of_sum, times
from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import square_high, tensor, term
from pllm_lang.catalog.expr import Apply, Attr, Expr, Ref
from pllm_lang.catalog.facts import UNKNOWN, Exact, Facts, Interval
from pllm_lang.catalog.forms import nearest_form, raw_form, simplify
from pllm_lang.catalog.infer import Inferred, Params, Problem, Type, infer
from pllm_lang.catalog.primitives.matmul import products
from pllm_lang.catalog.records import Clause, Component, Operator
from pllm_lang.catalog.slots import SLOTS, SQUARED_SLOTS
from pllm_lang.catalog.tensor import Tensor, TooManyOperationsError, bounded, of_entries
from pllm_lang.exact import interval
from pllm_lang.exact.number import exact

__all__ = ["Inferred", "Params", "Problem", "Type", "execute", "infer", "result_facts"]

FLIPPED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "==": "=="}


class Claim(msgspec.Struct, frozen=True):
    """An `ensures` taken apart: `slot(result) op bound`."""

    slot: str
    result: str
    op: str
    bound: Expr


def result_facts(operator: Operator, env: Env, component: Component | None = None) -> dict[str, Facts]:
    """What is known of every result, by name: `means`, met with `ensures`, widened by the step's own `error`.

    `env` holds operands and, for a component's clauses, its parameters too. A result without `means` has
    only what
    its clauses say. Format obligations are not met here: they are owed.
    """
    meanings = {clause.name: clause.expr for clause in operator.means}
    claims = [claim(clause) for clause in operator.ensures]
    if component is not None:
        claims += [claim(clause) for clause in component.ensures]
    found: dict[str, Facts] = {}
    for spec in operator.results:
        meaning = meanings.get(spec.name)
        arg = None if meaning is None else tensor(meaning, env)
        facts = UNKNOWN if arg is None else arg.facts
        own = [c for c in claims if c is not None and c.result == spec.name]
        found[spec.name] = _claimed(facts, own, env, env.shapes.get(spec.name))
    return found


def claim(clause: Clause) -> Claim | None:
    """The clause in the form `slot(result) op bound`; None where it has another form."""
    expr = clause.expr
    if not isinstance(expr, Apply) or expr.fn not in FLIPPED or len(expr.args) != 2:
        return None
    left, right, op = expr.args[0], expr.args[1], expr.fn
    for side, other, direction in ((left, right, op), (right, left, FLIPPED[op])):
        if (
            isinstance(side, Apply)
            and side.fn in SLOTS
            and len(side.args) == 1
            and isinstance(side.args[0], Ref)
        ):
            return Claim(side.fn, side.args[0].name, direction, other)
    return None


def meet_claim(facts: Facts, claim: Claim, env: Env) -> Facts:
    """`facts` sharpened by one claim whose bound is known; claims on `error` are not met but added."""
    found = term(claim.bound, env)
    if found is None:
        return facts
    squared = square_high(claim.bound, env) if claim.slot in SQUARED_SLOTS else None
    return meet_slot(facts, claim.slot, claim.op, found, squared)


def meet_slot(facts: Facts, slot: str, op: str, bound: Interval, squared: Exact | None = None) -> Facts:
    """`slot(x) op bound` taken as true: the facts that remain. `squared` is an exact bound of `bound^2`."""
    up = bound.high if op in ("<=", "<", "==") else None
    down = bound.low if op in (">=", ">", "==") else None
    if slot in ("max", "max_abs", "min"):
        return _meet_range(facts, slot, up, down)
    if slot == "row_max" and down is not None:
        return msgspec.structs.replace(facts, row_max_low=_more(facts.row_max_low, down))
    if up is None:
        return facts
    field = NORM_FIELDS.get(slot)
    if field is None:
        return facts
    limit = up if not field.endswith("_sq") else (squared if squared is not None else up * up)
    return msgspec.structs.replace(facts, **{field: _less(getattr(facts, field), limit)})


NORM_FIELDS = {
    "norm2": "row_norm2_sq",
    "row_norm2": "row_norm2_sq",
    "row_norm1": "row_norm1",
    "col_norm2": "col_norm2_sq",
    "col_norm1": "col_norm1",
}


def _meet_range(facts: Facts, slot: str, up: Exact | None, down: Exact | None) -> Facts:
    old = facts.range
    if slot == "max_abs" and up is not None:
        limit = interval.symmetric(up)
        return msgspec.structs.replace(facts, range=limit if old is None else interval.meet(old, limit))
    low, high = (None, None) if old is None else (old.low, old.high)
    if slot == "max" and up is not None:
        high = up if high is None else min(high, up)
    if slot == "min" and down is not None:
        low = down if low is None else max(low, down)
    if low is None or high is None or low > high:
        return facts
    return msgspec.structs.replace(facts, range=Interval(low, high))


def _claimed(facts: Facts, claims: list[Claim], env: Env, shape: tuple[int, ...] | None) -> Facts:
    own_error: Exact | None = 0
    low = high = None
    for each in claims:
        bound = term(each.bound, env)
        if each.slot == "error":
            limit = bound if each.op in ("<=", "<", "==") else None
            own_error = None if limit is None or own_error is None else max(own_error, limit.high)
        elif bound is not None and facts.range is None and each.slot in ("min", "max"):
            low = bound.low if each.slot == "min" and each.op in (">=", ">", "==") else low
            high = bound.high if each.slot == "max" and each.op in ("<=", "<", "==") else high
    if facts.range is None and low is not None and high is not None and low <= high:
        facts = msgspec.structs.replace(facts, range=Interval(low, high), rule="ensures")
    for each in claims:
        if each.slot != "error":
            facts = meet_claim(facts, each, env)
    return widen(without_idle_norm(settle(facts), shape), own_error, shape)


def without_idle_norm(facts: Facts, shape: tuple[int, ...] | None) -> Facts:
    """The facts without a row norm that range and shape already imply."""
    if shape is None or facts.range is None or facts.row_norm2_sq is None:
        return facts
    limit = interval.magnitude(facts.range)
    idle = facts.row_norm2_sq >= (shape[-1] if shape else 1) * limit * limit
    return msgspec.structs.replace(facts, row_norm2_sq=None) if idle else facts


def widen(facts: Facts, own_error: Exact | None, shape: tuple[int, ...] | None = None) -> Facts:
    """The facts of a result that is off by at most `own_error` from what was computed exactly."""
    if own_error == 0:
        return facts
    if own_error is None:
        return UNKNOWN
    found, e = facts.range, own_error
    row, column = (None, None) if shape is None else (row_size(shape), column_size(shape))
    return Facts(
        range=None if found is None else Interval(found.low - e, found.high + e),
        row_norm2_sq=square_of_sum(facts.row_norm2_sq, times(row, e, e)),
        row_norm1=plus(facts.row_norm1, times(row, e)),
        col_norm2_sq=square_of_sum(facts.col_norm2_sq, times(column, e, e)),
        col_norm1=plus(facts.col_norm1, times(column, e)),
        error=plus(facts.error, e),
        row_max_low=None if facts.row_max_low is None else facts.row_max_low - e,
        rule=facts.rule,
    )


def _less(old: Exact | None, new: Exact) -> Exact:
    return new if old is None else min(old, new)


def _more(old: Exact | None, new: Exact) -> Exact:
    return new if old is None else max(old, new)


# ---- execution ----------------------------------------------------------------------------------------


def execute(operator: Operator, env: Env, values: Mapping[str, Tensor]) -> dict[str, Tensor] | None:
    """Every result with a `means`, computed exactly from `values` (operands by name).

    None where a primitive cannot be executed, a result is missing a meaning, or the cost exceeds
    `MAX_OPERATIONS`. Entries of transcendental functions are enclosures.
    """
    meanings = {clause.name: clause.expr for clause in operator.means}
    found: dict[str, Tensor] = {}
    try:
        for spec in operator.results:
            meaning = meanings.get(spec.name)
            value = None if meaning is None else run(meaning, env, values)
            if value is None:
                return None
            found[spec.name] = value
    except (TooManyOperationsError, ArithmeticError):
        return None
    return found


def run(expr: Expr, env: Env, values: Mapping[str, Tensor]) -> Tensor | None:
    """The exact value of an expression over tensors; None where something in it cannot be executed."""
    if isinstance(expr, Ref) and expr.name in values:
        return values[expr.name]
    if isinstance(expr, Attr) and isinstance(expr.base, Ref):
        return values.get(f"{expr.base.name}.{expr.name}")
    if not isinstance(expr, Apply) or not _uses(expr, values):
        value = term(expr, env)
        return None if value is None else of_entries((), (value.low if value.low == value.high else value,))
    return _run_primitive(expr, env, values)


def _run_primitive(expr: Apply, env: Env, values: Mapping[str, Tensor]) -> Tensor | None:
    rewritten = simplify(expr)
    if rewritten is not expr:
        return run(rewritten, env, values)
    chosen = _special_form(expr, env)
    if chosen is not expr:
        return None if chosen is None else run(chosen, env, values)
    turned = expr.args[1] if expr.fn == "matmul" and len(expr.args) == 2 else None
    if isinstance(turned, Apply) and simplify(turned).fn == "transpose":
        left, right = run(expr.args[0], env, values), run(turned.args[0], env, values)
        return None if left is None or right is None else bounded(products(left, right))
    found = evaluate.lookup(expr, env)
    if found is None or found[0].execute is None:
        return None
    primitive, params = found
    args = [run(arg, env, values) for arg in expr.args]
    known = tuple(arg for arg in args if arg is not None)
    if len(known) < len(args) or isinstance(primitive.shape(tuple(a.shape for a in known), params), str):
        return None
    return bounded(found[0].execute(known, params))


def _special_form(expr: Apply, env: Env) -> Expr | None:
    form = (expr.fn, len(expr.args))
    if form == ("raw", 1):
        return raw_form(expr, env)
    if form == ("nearest", 2):
        return nearest_form(expr, env)
    return evaluate.where_form(expr, env) if form == ("where", 3) else expr


def _uses(expr: Expr, values: Mapping[str, Tensor]) -> bool:
    if isinstance(expr, Ref):
        return expr.name in values
    if isinstance(expr, Attr):
        return True
    return isinstance(expr, Apply) and any(_uses(arg, values) for arg in expr.args)


def stated_bound(facts: Facts, slot: str, op: str, limit: str) -> Facts:
    """A bound that a plan states (`where abs(x) <= 12`), met with what is known."""
    return settle(meet_slot(facts, slot, op, interval.point(exact(limit))))


def operand(shape: tuple[int, ...], facts: Facts) -> Arg:
    """A tensor as facts columns see it."""
    return Arg(shape, facts)
