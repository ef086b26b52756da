"""Parties that a plan names and its policy does not have: an experiment may be under another policy than its plan.

Nothing is said of who may learn what about them, and no coalition has them, so nothing is proved of such a plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pllm_lang.catalog.records import Policy
from pllm_lang.ir.plan import Plan, Stage, Step
from pllm_lang.ir.walk import nodes
from pllm_lang.verify.narrations.gaps import Gaps


def no_strangers(plan: Plan, policy: Policy, gaps: Gaps) -> bool:
    """Whether there is none. A finding for each, at the first value that lies there, comes from there or goes there."""
    known = {"", *policy.parties}
    for value, part, parties in _named(plan):
        for party in sorted({*parties} - known):
            known.add(party)
            text = f"`{policy.name}` has no party `{party}`"
            help_ = "let a party of the policy take its place, or take a policy that has it"
            gaps.refuse("placement.role", value, text, help_, part)
    return len(known) == len({"", *policy.parties})


def _named(plan: Plan) -> Iterator[tuple[int, str, Iterable[str]]]:
    given = (*plan.inputs, *(one for stage in plan.stages for one in stage.inputs))
    yield from ((one.value, "step", (one.owner, *one.placement.parties)) for one in given)
    yield from ((state.value, "step", state.placement.parties) for state in plan.states)
    for stage in plan.stages:
        yield from _in_stage(stage)


def _in_stage(stage: Stage) -> Iterator[tuple[int, str, Iterable[str]]]:
    for node, _ in nodes(stage.body):
        if isinstance(node, Step) and node.results:
            yield node.results[0], "step", (node.party, *node.stated_holding.parties)
    yield from ((output.value, "output", (*output.to, *output.holders)) for output in stage.outputs)
