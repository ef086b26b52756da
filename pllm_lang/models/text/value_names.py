"""What each op's result is called in the text of a model, for facts about values.

In: a graph. Out: names by stage, layer and op. Values of a body of several turns share one name. Ops whose text names or
holds something else are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.models.graph import ModelGraph, Stage
from pllm_lang.models.text.names import result_name
from pllm_lang.models.text.runs import runs

Key = tuple[str, int | None, str]
"""Mode of the stage, layer (None outside of the layers), name of the op."""

LEFT_OUT = ("kv_cache_append", "causal_mask", "gather")
"""The text of a cache names what goes into it, a mask has a number for what is not seen, and a choice brings its scores."""


def value_names(graph: ModelGraph) -> dict[Key, str]:
    return {key: name for stage in (graph.prefill, graph.decode) for key, name in _of_stage(stage)}


def _of_stage(stage: Stage) -> Iterator[tuple[Key, str]]:
    first = stage.carried.get("hidden")
    for op in stage.before:
        yield (stage.mode, None, op.name), "hidden" if op.name == first else result_name(op.name)
    for op in stage.after:
        yield (stage.mode, None, op.name), result_name(op.name)
    for run in runs(stage.layers):
        for member, repeat in enumerate(run.bodies):
            end = f"_{member}" if run.period > 1 else ""
            leaving = "hidden" if member == run.period - 1 else f"hidden_{member + 1}"
            for op in repeat.ops:
                if op.operator in LEFT_OUT:
                    continue
                last = op.name == repeat.carried.get("hidden")
                name = leaving if last else result_name(op.name) + end
                for layer in run.layers_of(member):
                    yield (stage.mode, layer, op.name), name
