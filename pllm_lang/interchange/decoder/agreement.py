"""Whether a decoder plan and a semantic graph, two readings of one configuration, say the same.

In: a `pllm.decoder_plan.v1` document and the model's graph. Out: the first thing that they say differently. What is
compared is all that a dense decoder depends on: every use of a weight with its operator, its bias, its size and its
epsilon; every rotation with its base; every state with its size; in order, for both phases.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import zip_longest
from typing import TYPE_CHECKING

import msgspec

from pllm_lang.interchange.decoder.plan import DecoderDocument, Graph, Shape

if TYPE_CHECKING:  # the families of models load with their package, and nothing here needs them
    from pllm_lang.models.graph import ModelGraph, Op, Stage

OPERATORS = {"token_lookup": "embedding", "output_head": "linear", "linear": "linear", "rms_norm": "rms_norm"}
"""How the graph calls the operators of the document that read a weight."""
ROTATION = "rotary_embedding"


class Use(msgspec.Struct, frozen=True):
    """One operation as both readings can say it; `number` is its epsilon or its rotary base."""

    operator: str
    weight: str
    bias: str
    shape: Shape
    number: Fraction | None = None


def disagreement(document: DecoderDocument, graph: ModelGraph) -> str:
    """What the two say differently first, "" where they agree."""
    for phase, stage in ((document.prefill, graph.prefill), (document.decode, graph.decode)):
        for said, meant in zip_longest(_of_document(phase), _of_stage(stage)):
            if said != meant:
                return f"{phase.mode}: the document says {_shown(said)}, the model is {_shown(meant)}"
    meant = sorted((layer, one.name, one.shape) for one in graph.states for layer in one.layers)
    said = sorted((one.layer, one.kind, one.shape) for one in document.prefill.state_outputs)
    return "" if said == meant else "the states differ in number, kind or size"


def _of_document(phase: Graph) -> Iterator[Use]:
    for one in phase.operations:
        found = one.attributes
        if one.operator == ROTATION:
            yield Use(ROTATION, "", "", one.output_shape, Fraction(found["theta"]))
        elif one.operator in OPERATORS:
            epsilon = found.get("epsilon")
            number = None if epsilon is None else Fraction(epsilon)
            operator = OPERATORS[one.operator]
            yield Use(operator, found["weight"], found.get("bias") or "", one.output_shape, number)


def _of_stage(stage: Stage) -> Iterator[Use]:
    bodies = {layer: body for body in stage.layers for layer in body.layers}
    yield from _uses(stage.before, "")
    for layer in sorted(bodies):
        yield from _uses(bodies[layer].ops, str(layer))
    yield from _uses(stage.after, "")


def _uses(ops: tuple[Op, ...], layer: str) -> Iterator[Use]:
    for one in ops:
        if one.operator == ROTATION:
            yield Use(ROTATION, "", "", one.shape, Fraction(str(one.attributes["theta"])))
        elif one.weights:
            epsilon = one.attributes.get("eps")
            number = None if epsilon is None else Fraction(str(epsilon))
            weight, bias = (one.weights.get(role, "").replace("*", layer) for role in ("weight", "bias"))
            yield Use(one.operator, weight, bias, one.shape, number)


def _shown(use: Use | None) -> str:
    if use is None:
        return "nothing"
    number = "" if use.number is None else f" with {use.number}"
    return f"{use.operator} {use.weight} {list(use.shape)}{number}"
