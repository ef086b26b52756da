"""A model's facts have the names of its text, hold of its weights and values, and prove what is true of them."""

from __future__ import annotations

import hashlib
import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pllm_lang.cli.measuring import facts_text
from pllm_lang.models.text.model import model_text
from pllm_lang.resolve.facts_file import read_facts
from pllm_lang.resolve.modules import FactsFile
from pllm_lang.runtime.checkpoint.open import open_checkpoint
from pllm_lang.runtime.checkpoint.weights import array
from tests.measure.tiny_models import graph_of, write_model
from tests.models_text.lowered import opened
from tests.models_text.plan_in_numpy import Machine

FAMILIES = ("llama", "qwen2", "gemma2", "gpt2", "phi3", "mixtral", "qwen2_moe", "olmo2")


def measured(tmp_path: Path, folder: Path, **asked: Any) -> FactsFile:
    path = tmp_path / "facts.json"
    path.write_bytes(facts_text(str(folder), asked.get("bits", 0), asked.get("calibration")))
    found = read_facts(str(path))
    assert isinstance(found, FactsFile), found
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "checkpoint").mkdir()
    return tmp_path / "checkpoint"


@pytest.mark.parametrize("model_type", FAMILIES)
def test_facts_are_of_the_weights_that_the_text_declares(
    tmp_path: Path, folder: Path, model_type: str
) -> None:
    write_model(folder, model_type)
    text = opened(model_text(graph_of(model_type)))
    declared = {
        member: weight.type.shape
        for weight in text.plan.weights
        for name in [text.source_map.values[weight.value][0]]
        for member in ([f"{name}[{i}]" for i in range(weight.count)] if weight.count else [name])
    }
    assert set(measured(tmp_path, folder).facts) == set(declared)


@pytest.mark.parametrize("model_type", FAMILIES)
def test_facts_hold_of_the_weights(tmp_path: Path, folder: Path, model_type: str) -> None:
    """The weights as the run-time reads them, summed in rationals, against the facts of the same name in the text."""
    write_model(folder, model_type)
    facts = measured(tmp_path, folder).facts
    graph = graph_of(model_type)
    tensors = open_checkpoint(str(folder)).tensors
    printed = re.findall(r"## (\S+)\n +weight (\w+)", model_text(graph))
    assert len(printed) == len(graph.weights)
    for weight, (name, identifier) in zip(graph.weights, printed, strict=True):
        assert weight.name == name
        for index, layer in enumerate(weight.layers or (None,)):
            value = array(tensors, weight.name, layer)
            entry = facts[identifier if layer is None else f"{identifier}[{index}]"]
            rows = [[Fraction(x) for x in row] for row in value.reshape(-1, value.shape[-1]).tolist()]
            assert (entry.min, entry.max) == (Fraction(value.min()), Fraction(value.max()))
            norm1, norm2 = (max(sum(abs(x) ** p for x in row) for row in rows) for p in (1, 2))
            assert entry.row_norm1 is not None
            assert entry.row_norm2_sq is not None
            assert norm1 <= entry.row_norm1 <= norm1 * (1 + Fraction(1, 2**20))
            assert norm2 <= entry.row_norm2_sq <= norm2 * (1 + Fraction(1, 2**20))


def test_linear_layers_are_measured_as_the_integers_of_each_output(tmp_path: Path, folder: Path) -> None:
    weight = write_model(folder, "llama")["model.layers.1.mlp.down_proj.weight"]
    found = measured(tmp_path, folder, bits=8)
    scale = np.abs(weight).max(axis=1, keepdims=True) / np.float32(127)
    integers = np.rint(weight / scale).astype(int)
    assert found.quantized["w_mlp_down_proj[1]"] == 8
    assert found.facts["w_mlp_down_proj[1]"].row_norm1 == np.abs(integers).sum(axis=1).max()
    assert found.facts["w_mlp_down_proj[1]"].col_norm2_sq == (integers**2).sum(axis=0).max()


def test_weights_stored_by_their_inputs_are_not_quantised(tmp_path: Path, folder: Path) -> None:
    """A plan stores integers with a scale for each row, and a row of these is an input."""
    weight = write_model(folder, "gpt2")["transformer.h.1.mlp.c_proj.weight"]
    found = measured(tmp_path, folder, bits=8)
    assert found.quantized == {}
    assert found.facts["w_mlp_c_proj[1]"].max == Fraction(float(weight.max()))


def test_only_linear_layers_inside_the_model_are_quantised(tmp_path: Path, folder: Path) -> None:
    write_model(folder, "mixtral")
    found = measured(tmp_path, folder, bits=8)
    linear = {name.partition("[")[0] for name in found.quantized}
    others = {name.partition("[")[0] for name in found.facts} - linear
    assert others == {
        "w_embed_tokens",
        "w_input_layernorm",
        "w_post_attention_layernorm",
        "w_norm",
        "w_lm_head",
    }
    assert any("expert" in name for name in linear)


def test_the_digest_is_that_of_the_listing(tmp_path: Path, folder: Path) -> None:
    write_model(folder, "llama")
    lines = [
        f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n"
        for p in sorted(folder.glob("*.safetensors"))
    ]
    assert len(lines) == 2
    expected = hashlib.sha256("".join(lines).encode()).hexdigest()
    assert measured(tmp_path, folder).checkpoint == f"sha256:{expected}"


def test_the_same_checkpoint_gives_the_same_bytes(folder: Path) -> None:
    write_model(folder, "llama")
    assert facts_text(str(folder), 8, None) == facts_text(str(folder), 8, None)


@pytest.mark.parametrize("model_type", ["llama", "gemma2", "qwen2_moe"])
def test_values_of_the_plan_lie_in_the_ranges_seen(tmp_path: Path, folder: Path, model_type: str) -> None:
    """The plan's own meaning, run on the same weights and tokens by another interpreter."""
    write_model(folder, model_type)
    graph = graph_of(model_type, max_input_tokens=5, max_new_tokens=4)
    tokens = np.random.default_rng(1).integers(0, graph.dimensions.vocab, (1, 8))
    np.savez(tmp_path / "tokens.npz", tokens=tokens)
    found = measured(tmp_path, folder, calibration=str(tmp_path / "tokens.npz"))
    text = opened(model_text(graph))
    names = {name for name, _ in text.source_map.values.values()}
    assert len(found.calibrated) > 10
    assert set(found.calibrated) <= names
    checked = _run_watching(text, graph, folder, tokens, found)
    assert checked >= set(found.calibrated)


def _run_watching(text: Any, graph: Any, folder: Path, tokens: np.ndarray, found: FactsFile) -> set[str]:
    checked: set[str] = set()

    class Watching(Machine):
        def _step(self, step: Any, values: Any, turns: Any) -> None:
            super()._step(step, values, turns)
            for result in step.results:
                name = text.source_map.values[result][0]
                if name in found.calibrated:
                    entry = found.facts[name]
                    assert entry.min is not None
                    assert entry.max is not None
                    slack = 1e-6 * max(1, abs(float(entry.min)), abs(float(entry.max)))
                    assert values[result].min() >= float(entry.min) - slack, name
                    assert values[result].max() <= float(entry.max) + slack, name
                    checked.add(name)

    tensors = open_checkpoint(str(folder)).tensors
    families: dict[int, Any] = {}
    for weight, declared in zip(graph.weights, text.plan.weights, strict=True):
        members = [array(tensors, weight.name, layer).astype(float) for layer in weight.layers or (None,)]
        families[declared.value] = members if weight.layers else members[0]
    for state in text.plan.states:
        families[state.value] = [np.zeros(state.type.shape) for _ in range(state.count)]
    machine = Watching(text.plan, text.library, families)
    prefill, decode = text.plan.stages
    machine.run(prefill, [tokens[:, :5], np.arange(5)])
    for step in range(3):
        machine.run(decode, [tokens[:, 5 + step : 6 + step], np.arange(5 + step, 6 + step)])
    return checked


def test_recorded_values_are_seen_over_all_their_entries(tmp_path: Path, folder: Path) -> None:
    write_model(folder, "llama")
    np.savez(tmp_path / "seen.npz", h=np.array([[[1, -3]], [[0.5, 2]]], np.float32))
    found = measured(tmp_path, folder, calibration=str(tmp_path / "seen.npz"))
    assert found.calibrated == ("h",)
    assert (found.facts["h"].min, found.facts["h"].max) == (-3, 2)
    assert 4 <= (found.facts["h"].row_norm1 or 0) < Fraction(4001, 1000)


def test_token_ids_beyond_the_vocabulary(tmp_path: Path, folder: Path) -> None:
    write_model(folder, "llama")
    np.savez(tmp_path / "tokens.npz", tokens=np.array([[0, 10**6]]))
    with pytest.raises(Exception, match=r"calibration\.tokens"):
        facts_text(str(folder), 0, str(tmp_path / "tokens.npz"))


def test_a_facts_file_is_plain_json(folder: Path) -> None:
    write_model(folder, "llama")
    document = json.loads(facts_text(str(folder), 0, None))
    assert list(document) == ["schema", "checkpoint", "facts"]
