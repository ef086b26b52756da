"""A value written to a state breaks the range that the state promises to later stages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pllm_lang.catalog import bounds
from pllm_lang.catalog.bounds import Arg
from pllm_lang.catalog.facts import Facts, Interval
from pllm_lang.exact.number import text
from pllm_lang.ir.plan import UNKNOWN, State, StateWrite
from pllm_lang.ir.walk import family
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.initial import given_facts
from pllm_lang.verify.limits import excess_side, inside
from pllm_lang.verify.numbers import shown, shown_range
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.view import PlanView

CODE = "bounds.state"
NORMS = ("row_norm2_sq", "row_norm1", "col_norm2_sq", "col_norm1", "error")
_BEST = dict(bounds.NORMS)


def check_node(plan: PlanView, node: object, facts: Mapping[int, Facts]) -> Iterator[Obligation]:
    """What is written lies in the state's format and stated bounds, since every read takes them for granted."""
    if not isinstance(node, StateWrite):
        return
    key = family(node.state)
    state = next(one for one in plan.plan.states if one.value == key)
    if state.type == UNKNOWN:
        return  # what is wrong with its type was reported when the plan was lowered
    promised = given_facts(plan.format_of(state.type), state)
    name = f"`{plan.value_names[f'%v{key}']}`" if f"%v{key}" in plan.value_names else "the state"
    yield _judge(node, state, promised, facts[node.value], f"the value written to {name}")


def _judge(node: StateWrite, state: State, promised: Facts, written: Facts, what: str) -> Obligation:
    if promised.range is not None:
        if written.range is None:
            return _unproved(node, f"nothing bounds {what}", promised.range, "")
        if not inside(written.range, promised.range):
            value, edge = excess_side(written.range, promised.range)
            told = f"{what} reaches {shown(value)}, and the state promises {shown(edge)}"
            return _unproved(node, told, promised.range, text(value))
    for norm in NORMS:
        limit = getattr(promised, norm)
        found = written.error if norm == "error" else _BEST[norm](Arg(state.type.shape, written))
        if limit is not None and _states(state, norm) and (found is None or found > limit):
            return _unproved(
                node,
                f"the {_slot(norm)} of {what} is not within what the state promises",
                None,
                "",
            )
    return Obligation(CODE, Verdict.PROVED, node.value, part="write")


def _slot(norm: str) -> str:
    return norm.removesuffix("_sq")


def _states(state: State, norm: str) -> bool:
    """Whether the state itself bounds this norm; `norm2` is that of its rows."""
    return any(_slot(norm) in (bound.slot, f"row_{bound.slot}") for bound in state.bounds)


def _unproved(node: StateWrite, message: str, limit: Interval | None, value: str) -> Obligation:
    return Obligation(
        CODE,
        Verdict.UNPROVED,
        node.value,
        part="write",
        message=message,
        value=value,
        limit="" if limit is None else text(limit.high),
        notes=() if limit is None else (f"the state holds {shown_range(limit)}",),
        help="widen the state's `where`, or bound the value before it is written",
    )
