"""A model that a pipeline places still means the model: without rounding both plans give the same logits.

The placed plan is run in numpy with its stored weights divided by their scales and not rounded, so every step, scale and
shape that the pipeline puts in has to cancel out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from pllm_lang.ir.lower.pipeline.apply import apply_pipeline
from pllm_lang.ir.lower.pipeline.slots import Slots, read_slots
from pllm_lang.ir.lower.plan import Lowered
from pllm_lang.ir.plan import ComponentUse, Node, Plan, Repeat, Step
from pllm_lang.ir.walk import family, nodes
from pllm_lang.models import ModelGraph
from pllm_lang.models.passes.quantize_weights import quantize_weights
from pllm_lang.models.text.model import model_text
from tests.models.tiny_configs import TINY
from tests.models_text.lowered import Text, graph_of, opened
from tests.models_text.plan_in_numpy import PRIMITIVES, Machine
from tests.models_text.test_meaning import families

MASKED = "std.components.masked_linear"
LINEAR = "std.operators.linear"
TOKENS, STEPS = np.array([[3, 1, 4, 1, 5]]), [9, 2, 6]


def slots_of(text: Text) -> Slots:
    def report(code: str, message: str, help: str) -> None:
        raise AssertionError(code, message, help)

    found = read_slots(ComponentUse("std.pipelines.masked_linear_cpu"), text.library, None, report)
    assert found is not None
    return found


def placed(text: Text) -> Lowered:
    before = Lowered(text.plan, text.source_map, ())
    after = apply_pipeline(before, slots_of(text), text.library, stated=False)
    assert after.findings == ()
    return after


@pytest.fixture(autouse=True)
def _more_primitives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of quantisation, in floats: nothing is rounded, and every format ends where 8 bits do."""
    whole = PRIMITIVES["where"]

    def highest(_format: str) -> float:
        return 127.0

    def lowest(_format: str) -> float:
        return -127.0

    def outer(a: Any, b: Any) -> Any:
        return a[..., :, None] * b

    def where(condition: Any, yes: Any, no: Any) -> Any:
        return no if isinstance(condition, str) else whole(condition, yes, no)

    for function in (highest, lowest, outer, where):
        monkeypatch.setitem(PRIMITIVES, function.__name__, function)


def logits(plan: Plan, text: Text, weights: dict[int, Any]) -> list[Any]:
    machine = Machine(plan, text.library, weights)
    prefill, decode = plan.stages
    found = [machine.run(prefill, [TOKENS, np.arange(TOKENS.shape[1])])[0]]
    for index, token in enumerate(STEPS):
        at = np.array([TOKENS.shape[1] + index])
        found.append(machine.run(decode, [np.array([[token]]), at])[0])
    return found


def stored(clear: dict[int, Any], text: Text, after: Lowered) -> dict[int, Any]:
    """The weights of the placed plan, from those of the text that have their names."""
    values = {value: name for value, (name, _) in after.source_map.values.items()}
    named = {text.source_map.values[w.value][0]: (w, clear[w.value]) for w in text.plan.weights}
    found = {state.value: clear[state.value] for state in after.plan.states}
    turned = set(transposed(text.plan))
    scales = {weight.scale_of: weight.value for weight in after.plan.weights if weight.scale_of >= 0}
    for weight in after.plan.weights:
        if weight.scale_of >= 0 and values[weight.value] not in named:
            continue  # made below, with the weight that it is the scale of
        before, value = named[values[weight.value]]
        members = list(value) if weight.count else [value]
        if before.type != weight.type or weight.value not in clear:
            members = [np.swapaxes(one, -1, -2) for one in members] if before.value in turned else members
            steps = [np.abs(one).max(-1) / 127 for one in members]
            members = [one / step[..., None] for one, step in zip(members, steps, strict=True)]
            found[scales[weight.value]] = steps if weight.count else steps[0]
        found[weight.value] = members if weight.count else members[0]
    return found


def transposed(plan: Plan) -> Iterator[int]:
    """Weights that the text transposes, which the placed plan stores that way."""
    for stage in plan.stages:
        for node, _ in nodes(stage.body):
            if isinstance(node, Step) and node.operator == "std.operators.transpose":
                yield from map(family, node.operands)


def linears(body: tuple[Node, ...], *, inside: bool) -> Iterator[Step]:
    for node, loops in nodes(body):
        if isinstance(node, Step) and node.operator == LINEAR and bool(loops) == inside:
            yield node


def compared(graph: ModelGraph) -> None:
    text = opened(model_text(graph))
    after, weights = placed(text), families(graph, text, graph)
    for before, stage in zip(text.plan.stages, after.plan.stages, strict=True):
        remote = [step.use and step.use.key for step in linears(stage.body, inside=True)]
        assert remote == [MASKED] * len(list(linears(before.body, inside=True)))
        assert all(step.use is None and step.party == "client" for step in linears(stage.body, inside=False))
        assert any(isinstance(node, Repeat) for node in stage.body)
    clear = logits(text.plan, text, dict(weights))
    masked = logits(after.plan, text, stored(weights, text, after))
    assert np.std(clear) > 0.05
    assert np.abs(np.array(clear) - np.array(masked)).max() < 1e-6


@pytest.mark.parametrize("model_type", sorted(TINY))
def test_the_placed_plan_gives_the_same_logits(model_type: str) -> None:
    compared(graph_of({"model_type": model_type} | TINY[model_type]))


def test_weights_that_a_pass_has_quantised_are_taken_as_they_are() -> None:
    graph = graph_of({"model_type": "llama"} | TINY["llama"])
    compared(quantize_weights(graph, bits=8))
