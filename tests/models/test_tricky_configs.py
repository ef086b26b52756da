"""The tricky variants: each is judged as its verdict says, and for the reason that it was made for."""

from __future__ import annotations

from typing import Any

import pytest

from pllm_lang.models import Lowering, LoweringError, lower_model
from pllm_lang.models.graph import Op
from tests.models.published import DATA, load

VERDICTS: dict[str, dict[str, Any]] = {entry["file"]: entry for entry in load("tricky/verdicts.json")}

REASONS = {
    "T14_rope_yarn_attn_factor_typo.json": ("config.unknown_key", "did you mean 'attention_factor'"),
    "T16_rope_yarn_missing_original.json": ("config.missing_key", "original_max_position_embeddings"),
    "T17_rope_llama3_missing_field.json": ("config.missing_key", "high_freq_factor"),
    "T18_rope_type_conflict.json": ("config.conflict", "llama3 and linear"),
    "T19_rope_unknown_type.json": ("config.unsupported_value", "ntk-by-parts.*supported: default, linear"),
    "T21_rope_longrope_wrong_len.json": ("config.range", "48 entries .* has 47"),
    "T23_rope_mrope.json": ("config.multimodal_rotary", "multimodal"),
    "T25_v5_and_legacy_disagree.json": ("config.conflict", "rope_theta is 10000"),
    "T27_v5_rope_per_layer_extra_type.json": ("config.no_effect", "full_attention"),
    "T30_swa_declared_but_dead.json": ("config.no_effect", "sliding_window"),
    "T32_layer_types_len_mismatch.json": ("config.conflict", "63 entries.*64 layers"),
    "T33_layer_types_unknown_entry.json": (
        "config.unsupported_layer",
        r"layer_types\[3\] is 'linear_attention'",
    ),
    "T34_layer_types_vs_pattern.json": ("config.conflict", "sliding_window_pattern"),
    "T35_sliding_window_list_mistral_params.json": ("config.type", "sliding_window"),
    "T46_qwen2_attention_bias_false.json": ("config.no_effect", "attention_bias"),
    "T49_language_config_wrapper.json": ("config.variant", "use_mla"),
    "T57_utf16_le.json": ("config.encoding", "UTF-16"),
    "T60_trailing_comma.json": ("config.syntax", "line 34, column 1: trailing comma"),
    "T62_nan_in_used_field.json": ("config.range", "rms_norm_eps is NaN"),
    "T67_theta_string.json": ("config.type", "rope_theta must be a number"),
    "T68_ints_as_floats.json": ("config.integral", "hidden_size is written 4096.0"),
    "T71_int_as_string.json": ("config.type", "num_attention_heads"),
    "T72_huge_int.json": ("config.range", "max_position_embeddings"),
    "T73_huge_float_exponent.json": ("config.range", "hidden_size"),
    "T75_per_layer_lists.json": ("config.type", "num_key_value_heads .* is an array"),
    "T76_nas_block_configs.json": ("config.unsupported_layer", "block_configs"),
    "T78_model_type_missing.json": ("config.missing_key", "model_type"),
    "T79_semantic_unknown_key.json": ("config.unknown_key", "document_attention"),
    "T80_deep_nesting.json": ("config.nesting", "64 levels"),
    "T81_not_an_object.json": ("config.not_an_object", "an array"),
    "T82_empty_file.json": ("config.empty", "empty"),
}


def lower(file: str) -> Lowering:
    return lower_model((DATA / "tricky" / file).read_bytes(), batch=1, max_input_tokens=16, max_new_tokens=4)


def of(verdict: str) -> list[str]:
    return sorted(file for file, entry in VERDICTS.items() if entry["verdict"] == verdict)


def test_all_are_judged() -> None:
    assert len(VERDICTS) == 49
    assert set(REASONS) == set(of("reject")) | set(of("accept-with-warning"))


@pytest.mark.parametrize("file", of("accept"))
def test_accepted_without_a_warning(file: str) -> None:
    assert [note for note in lower(file).notes if note.severity == "warning"] == []


@pytest.mark.parametrize("file", of("accept-with-warning"))
def test_accepted_with_its_warning(file: str) -> None:
    code, word = REASONS[file]
    warnings = [note for note in lower(file).notes if note.severity == "warning" and note.code == code]
    with pytest.raises(LoweringError, match=word):
        raise LoweringError(code, " / ".join(note.message for note in warnings))


@pytest.mark.parametrize("file", of("reject"))
def test_refused_for_its_reason(file: str) -> None:
    code, word = REASONS[file]
    with pytest.raises(LoweringError, match=word) as caught:
        lower(file)
    assert caught.value.code == code


def ops(file: str, name: str) -> list[tuple[tuple[int, ...], Op]]:
    stage = lower(file).graph.prefill
    return [(repeat.layers, op) for repeat in stage.layers for op in repeat.ops if op.name == name]


@pytest.mark.parametrize(
    ("file", "head_dim"),
    [
        ("T01_head_dim_missing.json", 128),
        ("T02_head_dim_decoupled_nemo.json", 128),
        ("T03_head_dim_null.json", 128),
    ],
)
def test_head_dim(file: str, head_dim: int) -> None:
    dims = lower(file).graph.dimensions
    assert dims.head_dim == head_dim


def test_decoupled_head_dim_gives_the_projections() -> None:
    shapes = {weight.name: weight.shape for weight in lower("T02_head_dim_decoupled_nemo.json").graph.weights}
    assert shapes["model.layers.*.self_attn.q_proj.weight"] == (4096, 5120)
    assert shapes["model.layers.*.self_attn.o_proj.weight"] == (5120, 4096)


def test_null_kv_heads_mean_as_many_as_heads() -> None:
    assert lower("T06_kv_heads_null.json").graph.dimensions.kv_heads == 32


def test_linear_rotary_scaling() -> None:
    ((_, op),) = ops("T11_rope_linear_type.json", "q_rotary")
    assert (op.attributes["kind"], op.attributes["factor"], op.attributes["theta"]) == (
        "linear",
        "4",
        "100000",
    )


def test_a_number_is_kept_to_its_last_digit() -> None:
    ((_, op),) = ops("T66_theta_starcoder_irrational.json", "k_rotary")
    assert op.attributes["theta"] == "999999.4420358813"


def test_partial_rotation() -> None:
    ((_, op),) = ops("T22_partial_rotary_longrope.json", "q_rotary")
    assert op.attributes["dims"] == 96
    factors = op.attributes["long_factor"]
    assert isinstance(factors, tuple)
    assert len(factors) == 48


def test_windows_on_the_upper_layers() -> None:
    masks = {
        layers: op.attributes.get("window")
        for layers, op in ops("T29_swa_gated_on_upper_layers.json", "causal_mask")
    }
    assert masks == {tuple(range(21)): None, tuple(range(21, 28)): 4096}


def test_stop_tokens_are_kept() -> None:
    assert lower("T36_eos_list.json").graph.config.stop_tokens == (128001, 128008, 128009)


@pytest.mark.parametrize("file", ["T39_tie_missing_gemma.json", "T40_tie_only_in_text_config.json"])
def test_tied(file: str) -> None:
    graph = lower(file).graph
    assert graph.dimensions.tied
    assert "lm_head.weight" not in {weight.name for weight in graph.weights}


def test_biases() -> None:
    llama = {weight.name for weight in lower("T44_llama_biases_true.json").graph.weights}
    for module in ("self_attn.q_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.down_proj"):
        assert f"model.layers.*.{module}.bias" in llama
    for file in ("T45_qwen2_implicit_bias.json", "T46_qwen2_attention_bias_false.json"):
        qwen = {weight.name for weight in lower(file).graph.weights}
        assert "model.layers.*.self_attn.v_proj.bias" in qwen
        assert "model.layers.*.self_attn.o_proj.bias" not in qwen


def test_the_text_decoder_is_read() -> None:
    assert lower("T48_vlm_top_level_misread.json").graph.dimensions.layers == 48


def test_nested_quantisation_is_found() -> None:
    assert lower("T50_nested_quantization.json").graph.config.quantization["method"] == "compressed-tensors"
