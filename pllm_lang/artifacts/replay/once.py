"""Replay: nothing is in a lock twice, and nothing that is not used. In: a lock that was walked. ReplayError where it is otherwise.

Every value of the plan is made once, so that a number means one value wherever it is read.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from pllm_lang.artifacts.lock_data import Certificate, Lock, Use
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.ir import protocol as p
from pllm_lang.ir.plan import Node, Plan, Repeat, Step


def is_there_once(lock: Lock) -> None:
    documents, experiment = lock.documents, lock.documents.experiment
    _distinct("a value", list(_made(documents.ir)))
    for stage in documents.ir.stages:
        _distinct("an output", [one.value for one in stage.outputs])
    _said_once(documents.certificate)
    given = [
        thing for text in documents.protocols for thing in (*text.protocol.inputs, *text.protocol.outputs)
    ]
    given += [thing for program in documents.programs for thing in (*program.inputs, *program.outputs)]
    _distinct("a holder", *_holders(given))
    uses = [use for program in documents.programs for use in program.runs]
    used = {use.protocol for use in uses}
    if used != set(range(len(documents.protocols))):
        raise ReplayError("lock.form", "it holds a protocol that nobody runs")
    _wired_once(uses)
    if experiment is not None and experiment.deployment is not None:
        _distinct("a host", [party for party, _ in experiment.deployment.hosts])


def _distinct(what: str, *lists: Sequence[Hashable]) -> None:
    if any(len(set(one)) < len(one) for one in lists):
        raise ReplayError("lock.form", f"{what} is there twice")


def _said_once(certificate: Certificate) -> None:
    duties = certificate.duties
    _distinct("a statement", certificate.met, [(duty.code, duty.part, duty.assumed) for duty in duties])
    if any(list(duty.about) != sorted(set(duty.about)) or not duty.about for duty in duties):
        raise ReplayError("lock.form", "an obligation is about nothing, or about one value twice")
    several = [duty.assumed for duty in duties if len(duty.assumed) > 1]
    if any(list(assumed) != sorted(set(assumed)) for assumed in several):
        raise ReplayError("lock.form", "an assumption is there twice")


def _made(plan: Plan) -> Iterator[int]:
    yield from (one.value for one in (*plan.inputs, *plan.weights, *plan.states, *plan.constants))
    for stage in plan.stages:
        yield from (one.value for one in stage.inputs)
        yield from _made_in(stage.body)


def _made_in(body: tuple[Node, ...]) -> Iterator[int]:
    for node in body:
        if isinstance(node, Step):
            yield from node.results
        elif isinstance(node, Repeat):
            for one in node.carried:
                yield from (one.inner, one.final)
            yield from _made_in(node.body)


def _holders(things: Iterable[p.Input | p.Output]) -> Iterator[tuple[str, ...]]:
    for thing in things:
        if isinstance(thing.holding, p.Clear) and len(thing.holding.parties) > 1:
            yield thing.holding.parties
        elif isinstance(thing.holding, p.Shared):
            yield from (piece.holders for piece in thing.holding.pieces)


def _wired_once(uses: list[Use]) -> None:
    """Each name of a protocol once in a use."""
    for use in uses:
        if len(dict(use.inputs)) < len(use.inputs) or len(dict(use.outputs)) < len(use.outputs):
            raise ReplayError("lock.form", "an operand is there twice")
