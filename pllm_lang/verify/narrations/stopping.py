"""A plan of one stage that makes one token after the other: whoever takes part sees when the last one was made."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.records import Policy
from pllm_lang.ir.experiment import Experiment
from pllm_lang.ir.plan import Plan
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.narrations.composing import Composed
from pllm_lang.verify.obligation import Obligation

CODE, STOP = "placement.pattern", "stop"


def stopping(
    stages: tuple[Composed, ...], plan: Plan, experiment: Experiment, policy: Policy
) -> Iterator[Obligation]:
    """Asked of the budget; a plan of several stages asks it by itself. A party that brings every input drives the plan."""
    if len(stages) != 1 or int(dict(experiment.budget).get("max_new_tokens", "1")) <= 1:
        return
    given = (*plan.inputs, *(one for stage in plan.stages for one in stage.inputs))
    owners = {one.owner for one in given} - {""}
    for party in policy.parties:
        subject = takes_part(stages[0], party)
        if subject is None or owners == {party} or STOP in policy.learns.get(party, ()):
            continue
        yield Obligation(
            CODE,
            Verdict.REFUTED,
            subject,
            f"`{party}` takes part once for every token, so it learns when the last one ends, and `{policy.name}` does not let it",
            "using",
            help=f"write `learns {party}: [{STOP}]` in the policy, or let the budget have one token a request",
        )


def takes_part(stage: Composed, party: str) -> int | None:
    """The first value made by a protocol in which the party has a role beside others."""
    for instance, made in zip(stage.whole.instances, stage.made, strict=True):
        parties = {q for _, q in instance.roles}
        if made.key and party in parties and len(parties) > 1:
            return made.subject
    return None
