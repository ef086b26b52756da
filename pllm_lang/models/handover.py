"""What prefill must hand to decode: every state that decode reads, for the same layers and in the same
shape."""

from __future__ import annotations

from pllm_lang.models.errors import LoweringError
from pllm_lang.models.graph import ModelGraph, Repeat, Stage


def check_handover(graph: ModelGraph) -> None:
    """Raises `LoweringError` (`pass.handover`) naming the first state and layer that does not fit."""
    declared = {(state.name, layer): state.shape for state in graph.states for layer in state.layers}
    written = written_states(graph.prefill)
    for layer, name in sorted(read_states(graph.decode)):
        if (layer, name) not in written:
            raise _gap(f"decode reads state {name!r} of layer {layer}, which prefill does not write")
        if (name, layer) not in declared:
            raise _gap(f"state {name!r} of layer {layer} has no declared shape")
    for layer, name in sorted(written_states(graph.decode) - written):
        raise _gap(f"decode writes state {name!r} of layer {layer}, which prefill does not hand over")


def read_states(stage: Stage) -> set[tuple[int, str]]:
    """Layer and name of every state that a stage reads."""
    return {
        (layer, name) for repeat in stage.layers for name in body_reads(repeat) for layer in repeat.layers
    }


def body_reads(repeat: Repeat) -> set[str]:
    operands = (operand for op in repeat.ops for operand in op.inputs)
    return {operand.removeprefix("state.") for operand in operands if operand.startswith("state.")}


def written_states(stage: Stage) -> set[tuple[int, str]]:
    return {(layer, name) for repeat in stage.layers for name in repeat.writes for layer in repeat.layers}


def _gap(message: str) -> LoweringError:
    return LoweringError("pass.handover", message)
