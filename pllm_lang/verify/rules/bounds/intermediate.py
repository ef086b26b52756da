"""A value inside a component leaves its ring (before truncation, in an opening), or nothing says what it holds inside."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.evaluate import tensor
from pllm_lang.catalog.expr import Apply, Expr, Num
from pllm_lang.catalog.facts import UNKNOWN, Interval
from pllm_lang.catalog.records import Clause, Component
from pllm_lang.exact.number import text
from pllm_lang.ir.plan import UNKNOWN as NO_TYPE
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.carrier import carried_values, carrier_modulus, is_between, is_given_between
from pllm_lang.verify.hints import norm_hints
from pllm_lang.verify.limits import bits_for, centred, excess_side, inside, ring_text
from pllm_lang.verify.numbers import shown, shown_range
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.stored import UNSTATED_ROUNDING, rounded
from pllm_lang.verify.view import PlanView, StepView, in_the_clear
from pllm_lang.verify.wrapping import is_settled, rounds

CODE = "bounds.intermediate"


def check_step(view: StepView, plan: PlanView) -> Iterator[Obligation]:
    """Every `intermediate` of the component fits the centred lift of its carrier; one that needs it states one."""
    if view.component is None:
        return
    if not view.component.intermediates:
        yield from _unsaid(view, view.component, plan)
    for clause in view.component.intermediates:
        found = tensor(clause.expr, view.env)
        facts = UNKNOWN if found is None else found.facts
        yield judge(clause, view, plan, facts.range, facts.rule)


def _unsaid(view: StepView, component: Component, plan: PlanView) -> Iterator[Obligation]:
    """A method that rounds or compares, of which nothing says what it rounds: that may have wrapped."""
    between = (
        is_between(c, view, plan) or is_given_between(c, view, plan) for c in carried_values(view, plan)
    )
    if in_the_clear(view) or any(between):
        return  # `bounds.carrier` asks how a value comes onto the ring's grid
    for position, (type_, derived) in enumerate(zip(view.step.types, view.derived, strict=True)):
        format_ = None if type_ == NO_TYPE else plan.format_of(type_)
        if format_ is None or (format_.kind in ("exact", "float") and component.carrier is None):
            continue  # `bounds.carrier` asks for a format or a ring
        if rounded(view, position, derived, format_).rule == UNSTATED_ROUNDING:
            continue  # `bounds.unknown` asks how it rounds
        if not is_settled(view, component, position, format_):
            yield _nothing_said(component, position, rounds(view, position, format_))


def _nothing_said(component: Component, position: int, rounding: bool) -> Obligation:
    when = "before it rounds this result" if rounding else "on the way to this result"
    return Obligation(
        CODE,
        Verdict.UNPROVED,
        position,
        part="using",
        message=f"nothing says what `{component.name}` holds {when}, so it may wrap",
        term=component.name,
        clause=component.origin,
        help="the component's record must say it, such as `intermediate p: raw(x) * raw(y)` for a product",
    )


def judge(
    clause: Clause, view: StepView, plan: PlanView, found: Interval | None, rule: str = ""
) -> Obligation:
    """The obligation of one intermediate whose range is `found`, by `rule`."""
    modulus = carrier_modulus(view, plan)
    if modulus is None:
        help = "take operands in a format with a ring, such as `fixed(64, 18, ring: ring(64))`, or a component with a `carrier`"
        return _unproved(clause, "neither the operands nor the component name a ring that it must fit", help)
    if found is None:
        return _unproved(clause, "nothing bounds it", "state a range of the inputs with `where`")
    limit = centred(modulus)
    if inside(found, limit):
        return Obligation(CODE, Verdict.PROVED, 0, evidence=(clause.name, text(found.low), text(found.high)))
    value, edge = excess_side(found, limit)
    needs = bits_for(found)
    fraction_bits = most_fraction_bits(clause.expr, view, needs - (modulus - 1).bit_length())
    return Obligation(
        CODE,
        Verdict.UNPROVED,
        0,
        part="step",
        message=f"`{clause.name}` reaches {shown(value)}, outside {ring_text(modulus)} which holds {shown_range(limit)}",
        value=text(value),
        limit=text(edge),
        term=clause.name,
        needs=str(needs),
        clause=clause.origin,
        notes=(
            f"`{clause.name}` is an intermediate value, in raw units before it is truncated",
            *norm_hints(view, rule),
        ),
        help=_help(needs, fraction_bits),
    )


def _help(needs: int, fraction_bits: int | None) -> str:
    if fraction_bits is None:
        return f"it needs a ring of {needs} bits, or a narrower range of the inputs"
    return f"it needs a ring of {needs} bits, at most {fraction_bits} fraction bits, or a narrower range of the inputs"


def most_fraction_bits(expr: Expr, view: StepView, excess: int) -> int | None:
    """How many fraction bits the operands could keep for `expr` to shrink by `excess` bits; None where none would do."""
    degree = raw_degree(expr)
    bits = [
        format_.frac for name, format_ in view.env.formats.items() if name in view.env.facts and format_.frac
    ]
    if not degree or not bits:
        return None
    fewer = max(bits) - -(-excess // degree)
    return fewer if fewer >= 0 else None


def raw_degree(expr: Expr) -> int:
    """How many raw values are multiplied in `expr`: each carries the fraction bits once."""
    if not isinstance(expr, Apply):
        return 0
    if expr.fn == "raw":
        return 1
    degrees = [raw_degree(arg) for arg in expr.args]
    if expr.fn in ("*", "matmul", "outer"):
        return sum(degrees)
    if expr.fn == "^" and isinstance(expr.args[1], Num) and expr.args[1].value.isdigit():
        return degrees[0] * int(expr.args[1].value)
    return max(degrees, default=0)


def _unproved(clause: Clause, why: str, help_: str) -> Obligation:
    return Obligation(
        CODE,
        Verdict.UNPROVED,
        0,
        message=f"`{clause.name}`: {why}",
        term=clause.name,
        clause=clause.origin,
        help=help_,
    )
