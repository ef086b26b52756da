"""`lower_model` as a function: what it accepts, what it refuses and how fast, and that a graph is exact and
stable."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllm_lang.models import LoweringError, graph_digest, lower_model
from pllm_lang.models.exact_json import decimal_text, read_config
from pllm_lang.models.graph import ModelGraph
from pllm_lang.models.handover import check_handover
from pllm_lang.models.shapes import result_shape
from tests.models.published import DATA, index, lowered
from tests.models.test_published_configs import LOWERED
from tests.models.tiny_configs import TINY

LLAMA = {"model_type": "llama"} | TINY["llama"]
WORKLOAD = {"batch": 1, "max_input_tokens": 16, "max_new_tokens": 4}


def refused(config: Any, code: str, word: str = "", **workload: Any) -> None:
    start = time.process_time()
    with pytest.raises(LoweringError, match=word) as caught:
        lower_model(config, **(WORKLOAD | workload))
    assert caught.value.code == code
    assert time.process_time() - start < 2


# --- what a config may be ---


def test_mapping_text_and_bytes_give_one_graph() -> None:
    text = json.dumps(LLAMA, indent=3)
    digests = {graph_digest(lower_model(one, **WORKLOAD).graph) for one in (LLAMA, text, text.encode())}
    assert len(digests) == 1


def test_order_of_keys_and_spelling_of_numbers_do_not_matter() -> None:
    one = '{"rms_norm_eps": 1e-06, ' + json.dumps(LLAMA)[1:]
    other = json.dumps(dict(reversed(LLAMA.items())))[:-1] + ', "rms_norm_eps": 0.0000010}'
    assert graph_digest(lower_model(one, **WORKLOAD).graph) == graph_digest(
        lower_model(other, **WORKLOAD).graph
    )


def test_an_unread_key_changes_the_identity_and_a_note_names_it() -> None:
    plain, strange = (
        lower_model(LLAMA, **WORKLOAD),
        lower_model(LLAMA | {"attention_tricks": True}, **WORKLOAD),
    )
    assert plain.graph.config.digest != strange.graph.config.digest
    assert [note.key for note in strange.notes] == ["attention_tricks"]


def test_a_misspelt_key_is_met_with_the_right_one() -> None:
    notes = lower_model(LLAMA | {"num_key_value_head": 1}, **WORKLOAD).notes
    assert "did you mean 'num_key_value_heads'?" in notes[0].message


@pytest.mark.parametrize(
    ("text", "code", "word"),
    [
        (b"\xef\xbb\xbf{}", "config.encoding", "UTF-8 byte-order mark"),
        ("\ufeff{}", "config.encoding", "byte-order mark"),
        (b'{"a": "\xff"}', "config.encoding", "byte 7"),
        ("", "config.empty", "is empty"),
        ("  \n", "config.empty", "is empty"),
        ("{", "config.syntax", "line 1"),
        ('{"a": 1,}', "config.syntax", "trailing comma"),
        ('{"a": [1, 2,]}', "config.syntax", "trailing comma"),
        ('{"model_type": "llama", "model_type": "llama"}', "config.duplicate_key", "model_type"),
        (
            '{"model_type": "llama", "rope_scaling": {"factor": 1, "factor": 2}}',
            "config.duplicate_key",
            "factor",
        ),
        ("[" * 200_000, "config.nesting", "64"),
        ('{"a": ' + "[" * 70 + "]" * 70 + "}", "config.nesting", "64"),
        ('{"a": ' + "9" * 5_000 + "}", "config.number", "5000 digits"),
        ("7", "config.not_an_object", "a number"),
        ("null", "config.not_an_object", "null"),
        ("{}", "config.missing_key", "model_type"),
        ('{"model_type": 3}', "config.type", "model_type must be a string"),
        ('{"model_type": "lama"}', "config.unknown_model", "did you mean 'llama'"),
        ('{"model_type": "t5"}', "config.encoder", "encoder with a decoder"),
        ('{"model_type": "gemma3"}', "config.missing_key", "text_config is missing"),
        ('{"model_type": "gemma3", "text_config": 5}', "config.type", "text_config must be an object"),
        (
            '{"model_type": "gemma3", "text_config": {"model_type": "bert"}}',
            "config.encoder",
            "'bert' is an encoder",
        ),
    ],
)
def test_documents_that_are_refused(text: Any, code: str, word: str) -> None:
    refused(text, code, word)


@pytest.mark.parametrize("size", [3_000_000])
def test_a_large_config_is_refused_at_once(size: int) -> None:
    refused(json.dumps(LLAMA | {"padding": "x" * size}), "config.size", "limit is 1,048,576")
    refused(LLAMA | {"padding": list(range(size))}, "config.size", "100,000 values")


@pytest.mark.parametrize(
    ("change", "code", "word"),
    [
        ({"num_hidden_layers": 1_000_000}, "config.range", "num_hidden_layers is 1000000.*1..4096"),
        ({"hidden_size": None}, "config.type", "hidden_size must be a whole number, but is null"),
        ({"vocab_size": None}, "config.type", "vocab_size"),
        ({"rms_norm_eps": [1]}, "config.type", "rms_norm_eps must be a number, but is an array"),
        ({"pruned_heads": {"0": [1]}}, "config.unsupported_value", "pruned_heads"),
        ({"model_type": "x" * 500_000}, "config.unknown_model", "model_type"),
        ({f"key{i}": i for i in range(3_000)}, "config.size", "keys"),
        ({"hidden_size": 0}, "config.range", "hidden_size is 0"),
        ({"hidden_size": -32}, "config.range", "hidden_size is -32"),
        ({"num_attention_heads": 0}, "config.range", "num_attention_heads"),
        ({"vocab_size": "61"}, "config.type", "vocab_size must be a whole number, but is a string"),
        ({"vocab_size": True}, "config.type", "vocab_size"),
        ({"vocab_size": 61.5}, "config.range", "61.5, not a whole number"),
        ({"intermediate_size": 2**40}, "config.range", "intermediate_size"),
        ({"rms_norm_eps": 0}, "config.range", "positive"),
        ({"rms_norm_eps": "1e-6"}, "config.type", "rms_norm_eps must be a number"),
        ({"rms_norm_eps": float("inf")}, "config.range", "Infinity|inf"),
        ({"rope_theta": -1.0}, "config.range", "rope_theta is -1"),
        ({"num_key_value_heads": 3}, "config.range", "does not divide"),
        ({"head_dim": 7}, "config.range", "even number"),
        ({"num_attention_heads": 5, "num_key_value_heads": 5}, "config.range", "no multiple"),
        ({"attention_bias": "yes"}, "config.type", "true or false"),
        ({"hidden_act": "swiglu"}, "config.unsupported_value", "swiglu"),
        ({"rope_scaling": 3}, "config.type", "rope_scaling must be an object"),
        ({"rope_scaling": {"type": "linear"}}, "config.missing_key", "rope_scaling.factor"),
        ({"rope_scaling": {"type": "linear", "factor": "2"}}, "config.type", "rope_scaling.factor"),
        ({"dtype": "float16", "torch_dtype": "bfloat16"}, "config.conflict", "dtype"),
        ({"quantization_config": {"quant_method": "magic"}}, "config.unsupported_value", "magic"),
        ({"is_encoder_decoder": True}, "config.unsupported_value", "is_encoder_decoder"),
        ({"rope_interleaved": True}, "config.unsupported_value", "rope_interleaved"),
    ],
)
def test_values_that_are_refused(change: dict[str, Any], code: str, word: str) -> None:
    refused(LLAMA | change, code, word)


@pytest.mark.parametrize(
    ("workload", "code", "word"),
    [
        ({"batch": 0}, "workload.range", "batch"),
        ({"max_input_tokens": -1}, "workload.range", "max_input_tokens"),
        ({"max_new_tokens": 1.0}, "workload.type", "whole number"),
        ({"batch": True}, "workload.type", "batch"),
        (
            {"max_input_tokens": 61, "max_new_tokens": 5},
            "workload.positions",
            "65 positions; the model has 64",
        ),
    ],
)
def test_workloads_that_are_refused(workload: dict[str, Any], code: str, word: str) -> None:
    refused(LLAMA, code, word, **workload)


def test_the_last_new_token_needs_no_position() -> None:
    stage = lower_model(LLAMA, batch=1, max_input_tokens=61, max_new_tokens=4).graph.decode
    assert stage.steps == 3


def test_many_unknown_keys_are_all_named_in_time() -> None:
    start = time.process_time()
    notes = lower_model(LLAMA | {f"hidden_siz{i}" * 9: i for i in range(1_500)}, **WORKLOAD).notes
    assert len(notes) == 1_500
    assert time.process_time() - start < 2


def test_an_absent_size_takes_the_default_of_the_class_and_says_so() -> None:
    without = {key: value for key, value in LLAMA.items() if key != "intermediate_size"}
    lowering = lower_model(without, **WORKLOAD)
    assert lowering.graph.dimensions.intermediate == 11_008
    assert [(note.code, note.key) for note in lowering.notes] == [("config.default", "intermediate_size")]


@pytest.mark.parametrize(
    ("file", "weight"),
    [
        ("gemma3__gemma-3-27b-it.json", "language_model.model.layers.*.self_attn.q_proj.weight"),
        ("qwen3_vl__Qwen3-VL-8B-Instruct.json", "model.language_model.layers.*.self_attn.q_proj.weight"),
        ("qwen3_vl__Qwen3-VL-8B-Instruct.json", "lm_head.weight"),
        ("llava__llava-1.5-7b-hf.json", "language_model.lm_head.weight"),
        ("gemma4__gemma-4-26B-A4B.json", "model.language_model.layers.*.post_feedforward_layernorm_1.weight"),
        ("deepseek__deepseek-vl2-tiny.json", "language.model.layers.*.self_attn.o_proj.weight"),
        ("gpt2__gpt2.json", "transformer.h.*.attn.c_attn.weight"),
    ],
)
def test_weights_have_the_names_of_the_checkpoint(file: str, weight: str) -> None:
    assert weight in {one.name for one in lowered(file).graph.weights}


def test_wrapper_and_section_must_not_contradict_each_other() -> None:
    text = {"model_type": "qwen3_vl_text", "tie_word_embeddings": True} | TINY["qwen3"]
    refused(
        {"model_type": "qwen3_vl", "tie_word_embeddings": False, "text_config": text},
        "config.conflict",
        "tie_word",
    )


def test_nan_in_a_key_that_nobody_reads_is_worth_a_warning() -> None:
    notes = lower_model(json.dumps(LLAMA)[:-1] + ', "initializer_range": NaN}', **WORKLOAD).notes
    assert [(note.code, note.key) for note in notes] == [("config.not_json", "initializer_range")]


# --- what a graph is ---


def values(part: Any) -> Iterator[Any]:
    if isinstance(part, dict):
        for key, value in part.items():
            yield from values(key)
            yield from values(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from values(value)
    else:
        yield part


@pytest.mark.parametrize("file", LOWERED)
def test_graphs_are_exact_well_shaped_and_hand_over_their_states(file: str) -> None:
    graph = lowered(file).graph
    assert not any(isinstance(value, float) for value in values(msgspec.to_builtins(graph)))
    check_handover(graph)
    check_shapes(graph)


def check_shapes(graph: ModelGraph) -> None:
    """Every op's stated shape is the one that follows from its operands', and every weight it names is
    declared."""
    declared = {(w.name, layer) for w in graph.weights for layer in (w.layers or (None,))}
    batch = graph.workload.batch
    for stage in (graph.prefill, graph.decode):
        scope: dict[str, tuple[int, ...]] = {tensor.name: tensor.shape for tensor in stage.inputs}
        bodies = (
            [(stage.before, (None,))] + [(r.ops, r.layers) for r in stage.layers] + [(stage.after, (None,))]
        )
        for (ops, layers), repeat in zip(bodies, [None, *stage.layers, None], strict=True):
            states = {
                f"state.{s.name}": s.shape
                for s in graph.states
                if repeat and set(s.layers) & set(repeat.layers)
            }
            inner = scope | states
            for op in ops:
                inner[op.name] = result_shape(op, tuple(inner[name] for name in op.inputs), batch)
                assert inner[op.name] == op.shape, (stage.mode, op)
                assert {(name, layer) for name in op.weights.values() for layer in layers} <= declared, op
            carried = repeat.carried if repeat else (stage.carried if ops is stage.before else {})
            scope |= {name: inner[value] for name, value in carried.items()}


@pytest.mark.parametrize(
    "file", ["llama__Meta-Llama-3.1-8B.json", "glm__GLM-5.2.json", "phi3__Phi-4-mini-instruct.json"]
)
def test_a_graph_survives_being_written_and_read(file: str) -> None:
    graph = lowered(file).graph
    assert msgspec.json.decode(msgspec.json.encode(graph), type=ModelGraph) == graph


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"n_group": 3}, "n_group 3 does not make groups"),
        ({"n_group": 8}, "n_group 8 does not make groups"),
        ({"topk_group": 1, "num_experts_per_tok": 3}, "3 experts a token do not fit"),
        ({"topk_group": 5}, "topk_group is 5"),
        ({"num_experts_per_tok": 9}, "num_experts_per_tok is 9"),
        ({"n_routed_experts": 0}, "n_routed_experts is 0"),
    ],
)
def test_routing_that_cannot_be(change: dict[str, Any], word: str) -> None:
    refused({"model_type": "deepseek_v3"} | TINY["deepseek_v3"] | change, "config.range", word)


def test_equal_layers_stand_once() -> None:
    graph = lowered("llama__Meta-Llama-3.1-405B.json").graph
    assert [repeat.layers for repeat in graph.prefill.layers] == [tuple(range(126))]
    mixed = lowered("gemma3__gemma-3-27b-it.json").graph
    assert sorted(repeat.kind for repeat in mixed.decode.layers) == ["full_attention", "sliding_attention"]


def test_caches_of_windowed_layers_keep_what_the_window_sees() -> None:
    config = (DATA / "real" / "gemma3__gemma-3-27b-it.json").read_bytes()
    graph = lower_model(config, batch=3, max_input_tokens=4096, max_new_tokens=64).graph
    capacity = {(state.name, state.layers[0]): state.shape for state in graph.states}
    assert capacity["key", 0] == (3, 16, 1023, 128)
    assert capacity["key", 5] == (3, 16, 4096 + 63, 128)


def test_digests_differ_between_models() -> None:
    plain = [file for file in LOWERED if index()[file]["validation"] == "confirmed"]
    digests = {graph_digest(lowered(file).graph) for file in plain}
    assert len(digests) == len(
        {json.dumps(json.loads((DATA / "real" / file).read_text()), sort_keys=True) for file in plain}
    )


# --- numbers ---


@given(st.decimals(min_value=-(10**12), max_value=10**12, allow_nan=False, places=15))
def test_exact_text_is_the_number(number: Decimal) -> None:
    text = decimal_text(number)
    assert Decimal(text) == number
    assert "e" not in text.lower()
    assert not ("." in text and text.endswith("0"))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_in_a_mapping_is_read_as_python_writes_it(number: float) -> None:
    assert read_config({"x": number})["x"] == Decimal(repr(number))
