"""Replay: what the programs owe, and the security that their proofs rest on."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from pllm_lang.artifacts.lock_data import Lock, Use
from pllm_lang.artifacts.replay.coalitions import coalitions
from pllm_lang.artifacts.replay.refusal import ReplayError, told
from pllm_lang.artifacts.replay.walked import steps_of
from pllm_lang.catalog.records import Policy
from pllm_lang.ir import protocol as p


# ---- what is owed and assumed ----
def owed_of_programs(
    lock: Lock, policy: Policy, distances: dict[str, Fraction], shared: set[str]
) -> set[tuple[str, int, str]]:
    """The security that the proofs rest on: of every primitive that takes part, and of streams, at the policy's level."""
    owed = {("placement.knowledge", -1, "step"), ("placement.learns", -1, "step")}
    owed |= {
        ("placement.leak", -1, f"{program.stage} {told(m)}")
        for program in lock.documents.programs
        for m in coalitions(policy)
    }
    owed |= {
        ("placement.distance", -1, f"one run of the plan {who}")
        for who, distance in distances.items()
        if distance
    }
    if lock.documents.experiment is not None and lock.documents.experiment.budget:
        owed |= {
            ("placement.distance", -1, f"the budget {who}") for who, distance in distances.items() if distance
        }
    owed |= {("placement.assumption", -1, one) for one in shared}
    owed |= {("protocol.wrong_result", about, "" if about >= 0 else "using") for about in _texts_used(lock)}
    asked = int(policy.security.get("computational", 0))
    for text in lock.documents.protocols:
        for name, bits in rests_on(text.protocol):
            if bits and bits < asked:
                raise ReplayError(
                    "certificate.assumed", f"`{name}` has {bits} bits, and the policy asks {asked}"
                )
            if text.component:
                told_of = f"the security of {name}, {bits} bits" if bits else f"the security of {name}"
                owed.add(("placement.assumption", -1, told_of))
    return owed


def _texts_used(lock: Lock) -> Iterator[int]:
    """Of each text of a component with results, in each stage: the first value of the first step that runs it."""
    every = [step.results[0] for stage in lock.documents.ir.stages for step in steps_of(stage.body)]
    for program in lock.documents.programs:
        seen: set[int] = set()
        for use in (one for one in program.uses if isinstance(one, Use)):
            text = lock.documents.protocols[use.protocol]
            if text.component and text.protocol.outputs and use.protocol not in seen:
                seen.add(use.protocol)
                yield every[use.step] if use.step >= 0 else -1


def rests_on(text: p.Protocol) -> set[tuple[str, int]]:
    found = {
        (one.ideal.name, one.ideal.security)
        for one in text.parties
        if one.ideal is not None and _speaks(text, one.name)
    }
    if any(isinstance(line, p.Draw) and isinstance(line.via, p.ViaPrf) for line in text.body):
        found.add(("prf", 128))
    return found


def _speaks(text: p.Protocol, name: str) -> bool:
    return any(isinstance(line, p.Send) and line.sender == name for line in text.body)
