"""Replay: what the programs owe, and the security that their proofs rest on."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from pllm_lang.artifacts.lock_data import Lock
from pllm_lang.artifacts.replay.coalitions import coalitions
from pllm_lang.artifacts.replay.refusal import need, told
from pllm_lang.artifacts.replay.walked import steps_of
from pllm_lang.catalog.records import Policy
from pllm_lang.ir import protocol as p


# ---- what is owed and assumed ----
def owed_of_programs(
    lock: Lock, policy: Policy, distances: dict[str, Fraction], shared: set[str]
) -> set[tuple[str, int, str]]:
    """The security that the proofs rest on: of every primitive that takes part, and of streams, at the policy's level."""
    documents, owed = lock.documents, {("placement.knowledge", -1, "step"), ("placement.learns", -1, "step")}
    every = [told(members) for members in coalitions(policy)]
    owed |= {("placement.leak", -1, f"{one.stage} {who}") for one in documents.programs for who in every}
    budget = documents.experiment is not None and documents.experiment.budget
    for span in ("one run of the plan", "the budget") if budget else ("one run of the plan",):
        owed |= {("placement.distance", -1, f"{span} {who}") for who, least in distances.items() if least}
    owed |= {("placement.assumption", -1, one) for one in shared}
    owed |= {("protocol.wrong_result", about, "" if about >= 0 else "using") for about in _texts_used(lock)}
    asked = int(policy.security.get("computational", 0))
    for text in documents.protocols:
        for name, bits in rests_on(text.protocol):
            low = f"`{name}` has {bits} bits, and the policy asks {asked}"
            need(not bits or bits >= asked, "certificate.assumed", low)
            if text.component:
                level = f", {bits} bits" if bits else ""
                owed.add(("placement.assumption", -1, f"the security of {name}{level}"))
    return owed


def _texts_used(lock: Lock) -> Iterator[int]:
    """Of each text of a component with results, in each stage: the first value of the first step that runs it."""
    every = [step.results[0] for stage in lock.documents.ir.stages for step in steps_of(stage.body)]
    for program in lock.documents.programs:
        seen: set[int] = set()
        for use in program.runs:
            text = lock.documents.protocols[use.protocol]
            if text.component and text.protocol.outputs and use.protocol not in seen:
                seen.add(use.protocol)
                yield every[use.step] if use.step >= 0 else -1


def rests_on(text: p.Protocol) -> set[tuple[str, int]]:
    """The primitives that send something, and streams, with their bits; 0 where no number is stated."""
    senders = {line.sender for line in text.body if isinstance(line, p.Send)}
    ideals = [one.ideal for one in text.parties if one.name in senders and one.ideal is not None]
    streams = any(isinstance(line, p.Draw) and isinstance(line.via, p.ViaPrf) for line in text.body)
    return {(one.name, one.security) for one in ideals} | (
        {("prf", 128)} if streams else set[tuple[str, int]]()
    )
