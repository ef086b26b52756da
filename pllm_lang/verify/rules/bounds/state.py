"""A value written to a state breaks the range that the state promises to later stages, or a state may be read before it has one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pllm_lang.catalog import bounds
from pllm_lang.catalog.bounds import Arg
from pllm_lang.catalog.expr import Num, Ref
from pllm_lang.catalog.facts import Facts, Interval
from pllm_lang.exact.number import exact, text
from pllm_lang.ir.plan import UNKNOWN, Member, Repeat, Stage, State, StateWrite
from pllm_lang.ir.walk import family, nodes, reads, writes
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.flow import Flow
from pllm_lang.verify.initial import format_range, given_facts
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


# ---- before the first write ----
def check_plan(plan: PlanView, _flow: Flow) -> Iterator[Obligation]:
    """A state holds zeros until it is written. Where it promises that it is never 0, no stage reads it before an earlier one
    has written it whole."""
    for state in plan.plan.states:
        if state.type == UNKNOWN or not _excludes_zero(state, plan):
            continue
        for place, stage in enumerate(plan.plan.stages):
            if not _reads(stage, state) or any(_writes_all(s, state) for s in plan.plan.stages[:place]):
                continue
            name = plan.value_names.get(f"%v{state.value}", "the state")
            where = f"the stage `{stage.name}`" if stage.name else "the plan"
            yield Obligation(
                CODE,
                Verdict.UNPROVED,
                state.value,
                message=f"{where} may read `{name}` before it is written, and it holds zeros then, which it promises not to",
                value="0",
                help="write it in the first stage, all members of it, or widen its `where` so that zero is in it",
            )
            break


def _excludes_zero(state: State, plan: PlanView) -> bool:
    limit = format_range(plan.format_of(state.type))
    if limit is not None and not limit.low <= 0 <= limit.high:
        return True
    return any(
        exact(bound.limit) > 0 if bound.op == ">=" else exact(bound.limit) < 0 for bound in state.bounds
    )


def _reads(stage: Stage, state: State) -> bool:
    """Whether a step, a repeat, another state or an output takes it; in a write, the first that is named is what it goes into."""
    taken = (
        value
        for node, _ in nodes(stage.body)
        for value in ([node.value] if isinstance(node, StateWrite) else reads(node))
    )
    return state.value in (*taken, *(output.value for output in stage.outputs))


def _writes_all(stage: Stage, state: State) -> bool:
    """Whether each member is written: by its number, or in turns of a repeat that are numbered like the members."""
    done: set[int] = set()
    for node, loops in nodes(stage.body):
        if not isinstance(node, StateWrite) or state.value not in writes(node):
            continue
        if any(loop.high <= loop.low for loop in loops):
            continue
        done.update(_members(node, loops, state))
    return len(done) >= max(state.count, 1)


def _members(node: StateWrite, loops: tuple[Repeat, ...], state: State) -> range:
    if not isinstance(node.state, Member):
        return range(1)
    match node.state.index:
        case Num(value=number):
            return range(max(int(number), 0), min(int(number) + 1, state.count))
        case Ref(name=name):
            turns = next((loop for loop in loops if name == f"%{loop.depth}"), None)
            return range(0) if turns is None else range(max(turns.low, 0), min(turns.high, state.count))
        case _:
            return range(0)


# ---- at a write ----
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
