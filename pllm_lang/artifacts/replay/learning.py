"""Replay: who is shown a value on the way, or gets one, may know it or learn it."""

from __future__ import annotations

import msgspec

from pllm_lang.artifacts.lock_data import Lock, Use
from pllm_lang.artifacts.replay.budget import whole
from pllm_lang.artifacts.replay.holdings import (
    RESERVED,
    At,
    Held,
    has_whole,
    held_in,
    holding_of,
    name_of,
    unchanged,
)
from pllm_lang.artifacts.replay.refusal import ReplayError, told
from pllm_lang.artifacts.replay.seats import take, wires_of
from pllm_lang.artifacts.replay.walked import Said, number_of
from pllm_lang.catalog.expr import Ref
from pllm_lang.catalog.records import Policy
from pllm_lang.ir import protocol as p
from pllm_lang.ir.plan import Output, Placement, Step


def shows(at: At, use: Use) -> bool:
    """Whether the next use shows a value, as it is, to parties that take part in the step after."""
    seat = at.seats[at.next]
    return (
        seat is not None and not seat.component and seat.text.name == "disclose" and use.inputs[0][0] == "x"
    )


def show(at: At, use: Use) -> None:
    """A value shown, as it is, to parties that may learn it."""
    if not shows(at, use):
        raise at.refuse("it does something that no step of the plan does")
    use, seat = take(at, use.step)
    wired, text = wires_of(at, use, seat), seat.text
    if len(wired) != 1 or len(use.outputs) != 1 or use.outputs[0][1] in at.names:
        raise at.refuse("it does something that no step of the plan does")
    before, name, (output, holding) = wired[0], use.outputs[0][1], seat.gives[0]
    plain = all(isinstance(line, p.Send | p.Assign) for line in text.body) and unchanged(text)
    if not plain or not isinstance(before.holding, p.Clear) or not isinstance(holding, p.Clear):
        raise at.refuse("what is shown is no value in the clear")
    known = before.known | set(holding.parties)
    at.shown[name] = known - before.known
    at.root[name] = at.root.get(before.name, before.name)
    at.names[name] = Held(name, output.type, holding, known)


def asks_revealed(at: At, step: Step, said: Said, wired: list[Held], parties: frozenset[str]) -> None:
    """A component's record says which operands it reveals; who is shown one knows it, or may learn it by its name (a member's is
    its family's) or, where it is called so and counts places, as `indices`."""
    reveals = () if said.component is None else said.component.reveals
    if not reveals and not at.shown:
        return
    learns = at.policy.learns
    for word in set(reveals) - {spec.name for spec in said.operator.operands}:
        if any(word not in learns.get(party, ()) for party in parties):
            text = f"`{word}` is revealed, and the policy does not let it be learnt"
            raise ReplayError("certificate.program", text)
    if not at.shown.keys() <= {held.name for held in wired}:
        raise at.refuse("a value is shown that no step takes")
    for spec, operand, held in zip(said.operator.operands, step.operands, wired, strict=True):
        others = at.shown.pop(held.name, None)
        if not others:
            continue
        places = {"indices"} if spec.name == "indices" and spec.format == Ref("index") else set[str]()
        words = ({name_of(at, number_of(operand))} - RESERVED) | places
        if spec.name not in reveals or any(not words & set(learns.get(party, ())) for party in others):
            text = f"`{held.name}` is shown, and the policy does not let it be learnt"
            raise ReplayError("certificate.program", text)


def arrives(at: At, value: int, held: Held) -> Held:
    """In the clear at parties: each may know it, or the policy lets it learn it, by its name or as a result."""
    for party in held.holding.parties if isinstance(held.holding, p.Clear) else ():
        if party in held.known or party not in at.policy.parties:
            continue
        words, plain = at.policy.learns.get(party, ()), name_of(at, value)
        result = any(one.value == value and party in one.to for one in at.stage.outputs)
        if not ((plain in words and plain not in RESERVED) or ("results" in words and result)):
            raise ReplayError(
                "certificate.program", f"`{party}` gets `{plain}`, and the policy does not let it learn that"
            )
        held = msgspec.structs.replace(held, known=held.known | {party})
    return held


def put_out(at: At, output: Output) -> None:
    held = held_in(at, output.value)
    for party in output.to:
        if not has_whole(held, party):
            raise at.refuse(f"`{held.name}` goes to `{party}`, which does not have it")
        if isinstance(held.holding, p.Clear):
            held = at.values[output.value] = at.names[held.name] = arrives(at, output.value, held)
    if output.holding and held.holding != holding_of(at, Placement("shared", output.holders, output.holding)):
        raise at.refuse(f"`{held.name}` is put out otherwise than it lies")


def only_allowed(at: At) -> None:
    """What the program says that parties may get in the clear is no more than was looked at above."""
    for output in at.program.outputs:
        held = at.names.get(output.name)
        to = output.holding.parties if isinstance(output.holding, p.Clear) else ()
        shared = isinstance(output.holding, p.Shared) and held is not None and output.holding == held.holding
        if held is None or output.meaning is not None or not (shared or (to and set(to) <= held.known)):
            raise at.refuse(f"`{output.name}` may not be learnt by {told(to)}")
        if output != p.Output(output.name, held.type, output.holding):
            raise at.refuse(f"`{output.name}` is put out as more than the value it is")


def pattern_learnt(lock: Lock, policy: Policy) -> None:
    """Who takes part learns sizes, and which stages run and when they stop, unless all inputs are its own; of a plan of one stage
    when it stops, where it makes several tokens."""
    plan, experiment = lock.documents.ir, lock.documents.experiment
    tokens = 1 if experiment is None else whole(dict(experiment.budget).get("max_new_tokens", "1"))
    owners = {one.owner for one in (*plan.inputs, *(i for stage in plan.stages for i in stage.inputs))} - {""}
    asked = ["lengths", *(("stages", "stop") if len(plan.stages) > 1 else ("stop",) if tokens > 1 else ())]
    for party in policy.parties:
        takes_part = any(
            lock.documents.protocols[use.protocol].component
            and party in {q for _, q in use.roles}
            and len(use.roles) > 1
            for program in lock.documents.programs
            for use in program.runs
        )
        if (
            takes_part
            and owners != {party}
            and any(word not in policy.learns.get(party, ()) for word in asked)
        ):
            raise ReplayError(
                "certificate.program",
                f"`{party}` takes part and may not learn how long the values are, or what runs",
            )
