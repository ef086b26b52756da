"""Every published config is lowered with the sizes that transformers resolves for it, or refused for the
right reason."""

from __future__ import annotations

from typing import Any

import pytest

from pllm_lang.models import LoweringError
from pllm_lang.models.graph import Op, Stage
from tests.models.published import index, lowered, resolved

REFUSED = {
    "bert__snowflake-arctic-embed-m.json": ("config.encoder", "encoder"),
    "deepseek__DeepSeek-V4-Flash-FP8.json": ("config.unsupported_model", "deepseek_ref"),
    "deepseek__DeepSeek-V4-Flash-NVFP4.json": ("config.unsupported_model", "compress_ratios"),
    "deepseek__DeepSeek-V4-Flash.json": ("config.unsupported_model", "compress_ratios"),
    "kimi__Kimi-K3.json": ("config.unsupported_model", "kimi_linear"),
    "llama_vision__Llama-3.2-90B-Vision-Instruct.json": ("config.unsupported_layer", "layers 3, 8, 13"),
    "nemotron_nas__Llama-3_3-Nemotron-Super-49B-v1.json": ("config.unsupported_layer", "block_configs"),
}
LOWERED = sorted(set(index()) - set(REFUSED))
LATENT = ("deepseek_v2", "deepseek_v3", "kimi_k2", "glm_moe_dsa")
WORDS = {
    "indexed_attention": "indexed_attention",
    "mamba": "linear_attention",
    "attention": "full_attention",
}


def test_enough_are_lowered() -> None:
    assert len(index()) == 111
    assert len(LOWERED) == 104


@pytest.mark.parametrize("file", sorted(REFUSED))
def test_refused_by_name(file: str) -> None:
    code, word = REFUSED[file]
    with pytest.raises(LoweringError, match=word) as caught:
        lowered(file)
    assert caught.value.code == code


@pytest.mark.parametrize("file", LOWERED)
def test_sizes_of_the_index(file: str) -> None:
    """`index.json` states sizes read off the file itself; null where the file does not say."""
    stated = index()[file]["dims"]
    dims = lowered(file).graph.dimensions
    found = {
        "hidden": dims.hidden,
        "layers": dims.layers,
        "heads": dims.heads,
        "kv": dims.kv_heads,
        "inter": dims.intermediate,
        "vocab": dims.vocab,
        "experts": dims.experts,
    }
    assert {key: found[key] for key in found if stated.get(key) is not None} == {
        key: stated[key] for key in found if stated.get(key) is not None
    }


@pytest.mark.parametrize("file", [file for file in LOWERED if resolved(file)])
def test_agrees_with_what_transformers_resolves(file: str) -> None:
    expected = resolved(file)
    assert expected is not None
    graph = lowered(file).graph
    dims = graph.dimensions
    latent = (
        graph.config.model_type in LATENT
        and graph.config.family == "deepseek"
        and _has_latents(graph.prefill)
    )
    for key, value in (
        ("hidden_size", dims.hidden),
        ("num_hidden_layers", dims.layers),
        ("num_attention_heads", dims.heads),
        ("num_key_value_heads", dims.kv_heads),
        ("vocab_size", dims.vocab),
        ("max_position_embeddings", dims.max_positions),
        ("top_tie_word_embeddings", dims.tied),
        ("num_experts_per_tok", dims.experts_per_token),
    ):
        if expected.get(key) is not None and not isinstance(expected[key], dict):
            assert (key, value) == (key, expected[key])
    if isinstance(expected.get("head_dim"), int) and not latent:
        assert dims.head_dim == expected["head_dim"]
    for key in ("num_experts", "num_local_experts", "n_routed_experts"):
        assert expected.get(key) in (None, dims.experts)


@pytest.mark.parametrize("file", [file for file in LOWERED if (resolved(file) or {}).get("layer_types")])
def test_layer_kinds(file: str) -> None:
    expected = resolved(file)
    assert expected is not None
    kinds = [WORDS.get(kind, kind) for kind in lowered(file).graph.dimensions.layer_kinds]
    assert kinds == expected["layer_types"]


@pytest.mark.parametrize("file", [file for file in LOWERED if (resolved(file) or {}).get("rope_parameters")])
def test_rotary_positions(file: str) -> None:
    """Theta, kind and every parameter of the kind, for each layer type that rotates."""
    expected = resolved(file)
    assert expected is not None
    stated = expected["rope_parameters"]
    for kind, op in _rotations(lowered(file).graph.prefill):
        wanted = stated.get(kind, stated)
        assert float(str(op.attributes["theta"])) == float(wanted["rope_theta"])
        assert op.attributes["kind"] == wanted["rope_type"]
        for key in (
            "factor",
            "low_freq_factor",
            "high_freq_factor",
            "beta_fast",
            "beta_slow",
            "attention_factor",
        ):
            if key in wanted and wanted[key] is not None:
                assert float(str(op.attributes[key])) == float(wanted[key])
        for key in ("short_factor", "long_factor"):
            if isinstance(wanted.get(key), list):
                factors = op.attributes[key]
                assert isinstance(factors, tuple)
                assert [float(one) for one in factors] == [float(one) for one in wanted[key]]


@pytest.mark.parametrize("file", [file for file in LOWERED if resolved(file)])
def test_windows_softcaps_and_activation(file: str) -> None:
    expected = resolved(file)
    assert expected is not None
    stage = lowered(file).graph.prefill
    windows = {op.attributes["window"] for _, op in _ops(stage) if "window" in op.attributes}
    if expected.get("sliding_window") and "sliding_attention" in (
        expected.get("layer_types") or ["sliding_attention"]
    ):
        assert windows == {expected["sliding_window"]}
    caps = {float(str(op.attributes["cap"])) for _, op in _ops(stage) if op.operator == "softcap"}
    stated = {expected.get("attn_logit_softcapping"), expected.get("final_logit_softcapping")} - {None}
    assert caps == stated
    word = expected.get("hidden_activation") or expected.get("hidden_act")
    wanted = {"gelu_pytorch_tanh": "gelu_tanh", "gelu_new": "gelu_tanh", "gelu": "gelu"}.get(str(word))
    if wanted:
        assert wanted in {op.operator for _, op in _ops(stage)}


def _ops(stage: Stage) -> list[tuple[str, Op]]:
    inner = [(repeat.kind, op) for repeat in stage.layers for op in repeat.ops]
    return [("", op) for op in stage.before] + inner + [("", op) for op in stage.after]


def _rotations(stage: Stage) -> list[tuple[str, Op]]:
    return [(kind, op) for kind, op in _ops(stage) if op.operator == "rotary_embedding"]


def _has_latents(stage: Stage) -> bool:
    return any(op.name == "latent_append" for _, op in _ops(stage))


def test_every_layer_stands_once() -> None:
    for file in LOWERED:
        graph: Any = lowered(file).graph
        for stage in (graph.prefill, graph.decode):
            covered = sorted(index for repeat in stage.layers for index in repeat.layers)
            assert covered == list(range(graph.dimensions.layers)), file
