"""States that a rounded result goes into: what follows of them tells more than the policy says.

How a protocol rounds hangs on its draws, which whoever saw its messages knows something about. Within a stage the view has both,
messages and result. From stage to stage a state hides it: read again, it is a secret by itself, although a value that is made
from it shows which way the result before was rounded. In: the stages of a plan and a coalition. Out: the values that the
coalition gets and that are made from such a state, which is not its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pllm_lang.ir import protocol as p
from pllm_lang.verify.narrations.composing import Composed


def learnt_of_rounded(
    stages: Sequence[Composed], coalition: frozenset[str]
) -> Iterator[tuple[Composed, str]]:
    """The stage and the name of every such value."""
    rounded = _states(stages)
    for stage in stages if rounded else ():
        hidden = {i.name for i in stage.whole.inputs if not _holds(i.holding, coalition)}
        found = _made_from(stage, {name for name, state in stage.kept if state in rounded} & hidden, False)
        for output in stage.whole.outputs:
            if output.name in found and _holds(output.holding, coalition):
                yield stage, output.name


def _states(stages: Sequence[Composed]) -> set[int]:
    """States that a rounded result goes into, in any stage, by itself or through another state."""
    found: set[int] = set()
    while True:
        more = set(found)
        for stage in stages:
            values = _made_from(stage, {name for name, state in stage.kept if state in found}, True)
            more |= {state for state, value in stage.written if value in values}
        if more == found:
            return found
        found = more


def _made_from(stage: Composed, begin: set[str], rounding: bool) -> set[str]:
    """The values that are made from these, or (`rounding`) from a result that rounds; through folded turns as well."""
    found = set(begin)
    while True:
        before = len(found)
        for instance in stage.whole.instances:
            rounds = rounding and any(o.scale_bits or o.error for o in instance.protocol.outputs)
            if rounds or any(value in found for _, value in instance.inputs):
                found |= {value for _, value in instance.outputs}
        found |= {first for first, last in stage.folds if last in found}
        if len(found) == before:
            return found


def _holds(holding: p.Holding, coalition: frozenset[str]) -> bool:
    """Whether the coalition has it in the clear, alone or together."""
    match holding:
        case p.Public():
            return True
        case p.Clear():
            return not coalition.isdisjoint(holding.parties)
        case p.Shared():
            return all(not coalition.isdisjoint(piece.holders) for piece in holding.pieces)
