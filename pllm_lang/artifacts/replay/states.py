"""Replay: what states hand from stage to stage, beside the range that every write owes.

A state holds zeros until it is written. And a state hides how a result was rounded, which hangs on draws that a coalition knows
something about: nothing that is made from it goes to a coalition that does not have the state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay import terms as t
from pllm_lang.artifacts.replay.holdings import At
from pllm_lang.artifacts.replay.refusal import need, told
from pllm_lang.artifacts.replay.walked import Walked, form_of, number_of
from pllm_lang.catalog.expr import Num, Ref
from pllm_lang.ir import protocol as p
from pllm_lang.ir.plan import Member, Node, Repeat, Stage, State, StateWrite, Step

Flow = Sequence[tuple[set[str], set[str], bool]]
"""The uses of a stage: what each takes and makes, and whether it rounds."""


# ---- before the first write ----
def begin_as_promised(walked: Walked) -> None:
    """A state that promises never to be 0 is read by no stage before an earlier one has written every member."""
    stages = walked.lock.documents.ir.stages
    for state in walked.lock.documents.ir.states:
        limit = t.held_by(form_of(walked.lock, state.type))
        signs = [(n.number(bound.limit), bound.op) for bound in state.bounds]
        zero = limit is None or n.within((0, 0), limit)
        if zero and not any(limit > 0 if op == ">=" else limit < 0 for limit, op in signs):
            continue
        for place, stage in enumerate(stages):
            before = any(_writes_all(one, state) for one in stages[:place])
            need(
                before or not _reads(stage, state),
                "certificate.bound",
                "a state may be read before it is written, and is not allowed to be 0",
                f"%{state.value}",
            )


def _nodes(
    body: tuple[Node, ...], around: tuple[Repeat, ...] = ()
) -> Iterator[tuple[Node, tuple[Repeat, ...]]]:
    for node in body:
        yield node, around
        if isinstance(node, Repeat):
            yield from _nodes(node.body, (*around, node))


def _reads(stage: Stage, state: State) -> bool:
    taken = {output.value for output in stage.outputs}
    for node, _ in _nodes(stage.body):
        if isinstance(node, Step):
            taken.update(map(number_of, node.operands))
        elif isinstance(node, Repeat):
            taken.update(value for one in node.carried for value in (one.initial, one.next))
        elif isinstance(node, StateWrite):
            taken.add(node.value)
    return state.value in taken


def _writes_all(stage: Stage, state: State) -> bool:
    """By the members' numbers, or in turns that are numbered like them; other indices are not followed."""
    done: list[tuple[int, int]] = []
    for node, around in _nodes(stage.body):
        if not isinstance(node, StateWrite) or number_of(node.state) != state.value:
            continue
        turns = {f"%{one.depth}": (one.low, one.high) for one in around}
        if all(low < high for low, high in turns.values()):
            index = node.state.index if isinstance(node.state, Member) else Num("0")
            if isinstance(index, Num):
                done.append((int(index.value), int(index.value) + 1))
            elif isinstance(index, Ref) and index.name in turns:
                done.append(turns[index.name])
    whole = 0
    for low, high in sorted(done):
        whole = max(whole, high) if low <= whole else whole
    return whole >= max(state.count, 1)


# ---- what a state hides ----
def nothing_rounded_is_learnt(stages: list[At], flows: Sequence[Flow], members: Collection[str]) -> None:
    rounded = _rounded(stages, flows)
    for at, flow in zip(stages, flows, strict=True) if rounded else ():
        hidden = {held for state, held in _kept(at) if state in rounded and not _has(at, held, members)}
        found = _made_from(at, flow, hidden, False)
        for output in at.program.outputs:
            told_of = isinstance(output.holding, p.Clear) and bool({*output.holding.parties} & {*members})
            text = f"{told(members)} gets `{output.name}`, made from a state that a rounded result goes into"
            need(not told_of or output.name not in found, "certificate.view", text, at.stage.name)


def _rounded(stages: list[At], flows: Sequence[Flow]) -> set[int]:
    """The states that a rounded result goes into, in any stage, by itself or through another state."""
    found, size = set[int](), -1
    while size < len(found):
        size = len(found)
        for at, flow in zip(stages, flows, strict=True):
            begin = {held for state, held in _kept(at) if state in found}
            values = _made_from(at, flow, begin, True)
            found |= {state for state, name in at.written if name in values}
    return found


def _made_from(at: At, flow: Flow, begin: set[str], rounding: bool) -> set[str]:
    found, size = set(begin), -1
    while size < len(found):
        size = len(found)
        for takes, makes, rounds in flow:
            if (rounding and rounds) or not found.isdisjoint(takes):
                found.update(makes)
        found.update(before for before, after in at.folds if after in found)
    return found


def _kept(at: At) -> Iterator[tuple[int, str]]:
    """States by the names of those members that the stage begins with."""
    states = {state.value for state in at.walked.lock.documents.ir.states}
    for key, held in at.values.items():
        number = key if isinstance(key, int) else key[0]
        if number in states:
            yield number, held.name


def _has(at: At, name: str, members: Collection[str]) -> bool:
    holding = at.names[name].holding
    return not isinstance(holding, p.Clear) or bool({*holding.parties} & {*members})
