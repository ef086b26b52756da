"""Hostile and broken input ends in a named error: truncated, duplicated, too deep, too large, outdated."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllm_lang.interchange import (
    CompilationError,
    ConfigRefused,
    DocumentError,
    ExperimentError,
    InterchangeError,
    NotFaithful,
    PassError,
    compile_request,
    decoder_plan,
    evict_kv_cache,
    experiment_from_spec,
    kv_cache_eviction,
    resolve_experiment,
)
from pllm_lang.interchange.reading import read_json
from tests.interchange.cases import load
from tests.interchange.requests import FIXTURE, changed, put

CONFIG: dict[str, Any] = load("model_valid")[0]["config"]
EXPERIMENT: dict[str, Any] = load("experiments")[0]["spec"]
REQUEST = FIXTURE.read_text(encoding="utf-8")
WORK = {"batch": 1, "max_input_tokens": 16, "max_new_tokens": 4}


def codes(source: Any) -> list[str]:
    with pytest.raises(CompilationError) as refusal:
        compile_request(source)
    return [found.code for found in refusal.value.diagnostics]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "document.syntax"),
        ('{"a": 1', "document.syntax"),
        ("{'a': 1}", "document.syntax"),
        ('{"a": 01}', "document.syntax"),
        ("\ufeff{}", "document.syntax"),
        ("NaN", "document.number"),
        ("-Infinity", "document.number"),
        ("1e999", "document.number"),
        ("9" * 400, "document.number"),
        (b"\xff{}", "document.encoding"),
        ("\ud800", "document.encoding"),
        ('"\\udc00"', "document.encoding"),
        ("[" * 128 + "]" * 128, "document.depth"),
        ('{"a":' * 200_000, "document.depth"),
    ],
)
def test_broken_json_is_named(text: str | bytes, code: str) -> None:
    with pytest.raises(DocumentError) as refusal:
        read_json(text)
    assert refusal.value.code == code


def test_deepest_json_that_is_read() -> None:
    assert read_json("[" * 127 + "]" * 127).value


@given(st.integers(0, len(REQUEST) - 1))
def test_truncated_request(length: int) -> None:
    assert codes(REQUEST[:length]) == ["E_INVALID_DOCUMENT"]


@given(st.integers(0, len(json.dumps(CONFIG)) - 1))
def test_truncated_config(length: int) -> None:
    with pytest.raises(ConfigRefused) as refusal:
        decoder_plan(json.dumps(CONFIG)[:length], **WORK)
    assert refusal.value.kind == "document"


@given(st.integers(0, len(json.dumps(EXPERIMENT)) - 1))
def test_truncated_experiment(length: int) -> None:
    with pytest.raises(InterchangeError):
        experiment_from_spec(json.dumps(EXPERIMENT)[:length], format="json")


@pytest.mark.parametrize("key", ["schema_version", "kernels", "input"])
def test_duplicate_key_in_request(key: str) -> None:
    value = json.dumps(json.loads(REQUEST)[key], sort_keys=True, separators=(",", ":"))
    assert codes(REQUEST.replace(f'"{key}":{value}', f'"{key}":{value},"{key}":{value}')) == [
        "E_INVALID_DOCUMENT"
    ]


@pytest.mark.parametrize("key", sorted(CONFIG))
def test_duplicate_key_in_config(key: str) -> None:
    value = json.dumps(CONFIG[key])
    with pytest.raises(ConfigRefused) as refusal:
        decoder_plan(json.dumps(CONFIG)[:-1] + f', "{key}": {value}}}', **WORK)
    assert key in refusal.value.keys


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_duplicate_key_in_experiment(form: str) -> None:
    text = json.dumps(EXPERIMENT).replace('"requests": 1', '"requests": 1, "requests": 1')
    with pytest.raises(DocumentError) as refusal:
        experiment_from_spec(text, format=form)
    assert (refusal.value.code, refusal.value.subject) == ("document.duplicate", "requests")


def test_wrong_schema_versions() -> None:
    assert codes(changed(put("schema_version", "pllm.compile_request.v3"))) == ["E_INVALID_DOCUMENT"]
    assert codes(changed(put("context.schema_version", "pllm.locked_context.v1"))) == ["E_INVALID_CONTEXT"]
    assert codes(changed(put("privacy_contract.schema_version", "x"))) == ["E_INVALID_CONTRACT"]
    assert codes(changed(put("assurance_results.0.schema_version", "x"))) == ["E_INVALID_ASSURANCE"]
    with pytest.raises(ExperimentError) as refusal:
        experiment_from_spec({**EXPERIMENT, "schema": "pllm.experiment.v1"})
    assert refusal.value.code == "experiment.schema"


@pytest.mark.parametrize("size", [2**53, 2**63, 2**64 - 1])
def test_sizes_beyond_doubles(size: int) -> None:
    with pytest.raises(NotFaithful) as refusal:
        decoder_plan({**CONFIG, "vocab_size": size}, **WORK)
    assert refusal.value.keys == ("vocab_size",)
    with pytest.raises(NotFaithful) as refusal:
        decoder_plan(CONFIG, **{**WORK, "batch": size})
    assert refusal.value.keys == ("batch",)
    request = changed(
        put("input.shape", [size, 3]),
        put("output.shape", [size, 2]),
        put("operations.0.output.shape", [size, 2]),
    )
    assert set(codes(request)) == {"E_INVALID_TENSOR"}


def test_sizes_beyond_64_bits() -> None:
    with pytest.raises(ConfigRefused) as refusal:
        decoder_plan({**CONFIG, "vocab_size": 2**64}, **WORK, lossy=True)
    assert (refusal.value.kind, refusal.value.keys) == ("document", ("vocab_size",))
    assert codes(changed(put("input.shape", [2**64, 3]), bind=False)) == ["E_INVALID_DOCUMENT"]
    budget = {**EXPERIMENT["budget"], "requests": 2**64}
    with pytest.raises(ExperimentError) as unresolved:
        resolve_experiment(experiment_from_spec({**EXPERIMENT, "budget": budget}))
    assert (unresolved.value.code, unresolved.value.subject) == ("experiment.native", "budget.requests")


def test_absurd_layer_count_does_not_fill_memory() -> None:
    with pytest.raises(ConfigRefused) as refusal:
        decoder_plan({**CONFIG, "num_hidden_layers": 2**32 - 1}, **WORK)
    assert refusal.value.keys == ("num_hidden_layers",)


BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))


@pytest.mark.parametrize(
    ("text", "form", "code"),
    [
        ("x: " + "a" * (1 << 20), "yaml", "document.size"),
        ("{" + " " * (1 << 20) + "}", "json", "document.size"),
        (BOMB, "yaml", "document.size"),
        ("a: &x [*x]", "yaml", "document.depth"),
        ("[" * 5000 + "]" * 5000, "yaml", "document.depth"),
        ("[" * 5000 + "]" * 5000, "json", "document.depth"),
        ("a: !!python/object/apply:os.system ['true']", "yaml", "document.syntax"),
        ("a: 1\n---\nb: 1", "yaml", "document.syntax"),
        ("? [a]\n: 1", "yaml", "document.value"),
        ("1: 2", "yaml", "document.value"),
        ("a: 2024-01-01", "yaml", "document.value"),
        ("a: 2024-13-01", "yaml", "document.value"),
        ("a: !!binary aGk=", "yaml", "document.value"),
        ("a: .nan", "yaml", "document.number"),
        ('a: "\\ud83d\\ude00"', "yaml", "document.encoding"),
        ('"\\ud83d": 1', "yaml", "document.encoding"),
        ('{"a": NaN}', "json", "document.number"),
        ('{"a": 1e400}', "json", "document.number"),
        ('{"a": ' + "9" * 5000 + "}", "json", "document.number"),
        ("{}", "toml", "document.format"),
        ("<<: {a: 1}\na: 2", "yaml", "document.duplicate"),
    ],
)
def test_hostile_experiment_text(text: str, form: str, code: str) -> None:
    start = time.process_time()
    with pytest.raises(DocumentError) as refusal:
        experiment_from_spec(text, format=form)
    assert refusal.value.code == code
    assert time.process_time() - start < 5


MB = 1_000_000
HUGE = {
    "one text": '{"a": "' + "x" * 50 * MB + '"}',
    "brackets": "[" * 50 * MB,
    "numbers": '{"a": [' + "1," * 25 * MB + "1]}",
    "just read": '{"a": [' + "1," * (MB - 10) + "1]}",
    "lines": "".join(f"k{n}: 1\n" for n in range(90_000)),
    "indicators": "- " * (MB // 2),
    "escapes": 'a: "' + "\\x41" * (MB // 4) + '"',
}


@pytest.mark.parametrize("name", HUGE)
def test_huge_text_is_refused_in_bounded_processor_time(name: str) -> None:
    text = HUGE[name]
    start = time.process_time()
    assert codes(text) == ["E_INVALID_DOCUMENT"]
    with pytest.raises(ConfigRefused):
        decoder_plan(text, **WORK)
    with pytest.raises(InterchangeError) as refusal:
        experiment_from_spec(text)
    assert refusal.value.code.split(".")[0] in {"document", "experiment"}
    assert time.process_time() - start < 8


@pytest.mark.parametrize("source", [None, 5, [], ["a"], bytearray(b"{}"), object()])
def test_no_document_at_all(source: Any) -> None:
    assert codes(source) == ["E_INVALID_DOCUMENT"]
    with pytest.raises(DocumentError) as refusal:
        experiment_from_spec(source)
    assert refusal.value.code == "document.type"
    with pytest.raises(ConfigRefused) as refused:
        decoder_plan(source, **WORK)
    assert refused.value.kind == "argument"


def test_deep_mappings() -> None:
    deep: Any = 1
    for _ in range(20_000):
        deep = [deep]
    assert codes({**json.loads(REQUEST), "operations": deep}) == ["E_INVALID_DOCUMENT"]
    with pytest.raises(DocumentError):
        experiment_from_spec({**EXPERIMENT, "name": deep})
    with pytest.raises(ConfigRefused):
        decoder_plan({**CONFIG, "mystery": deep}, **WORK)
    with pytest.raises(PassError):
        evict_kv_cache(
            decoder_plan(CONFIG, **WORK), {"component": "pllm/kv-cache-eviction", "params": {"alpha": deep}}
        )


def refusal_of(action: Callable[[], object]) -> Any:
    """The named error that `action` ends in, if it does; any other error is not caught."""
    try:
        action()
    except (InterchangeError, CompilationError) as refusal:
        return refusal
    return None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(JSON, st.sampled_from(sorted(EXPERIMENT)))
def test_any_value_anywhere_in_an_experiment(value: Any, key: str) -> None:
    refusal = refusal_of(lambda: experiment_from_spec({**EXPERIMENT, key: value}))
    assert refusal is None or refusal.code.split(".")[0] in {"experiment", "component", "document"}


@given(JSON, st.sampled_from(sorted(json.loads(REQUEST))))
def test_any_value_anywhere_in_a_request(value: Any, key: str) -> None:
    refusal = refusal_of(lambda: compile_request({**json.loads(REQUEST), key: value}))
    assert refusal is None or all(found.code.startswith("E_") for found in refusal.diagnostics)


EVICTION = kv_cache_eviction(cluster_sizes=(8, 4))
PLAN = decoder_plan(CONFIG, **WORK)


@given(JSON, st.sampled_from(sorted(EVICTION["params"])))
def test_any_value_anywhere_in_a_policy(value: Any, key: str) -> None:
    component = {**EVICTION, "params": {**EVICTION["params"], key: value}}
    refusal = refusal_of(lambda: evict_kv_cache(PLAN, component))
    assert refusal is None or refusal.code.split(".")[0] == "pass"
    refusal = refusal_of(lambda: kv_cache_eviction(**component["params"]))
    assert refusal is None or refusal.code.split(".")[0] == "component"


@given(JSON, st.sampled_from(sorted(CONFIG)))
def test_any_value_anywhere_in_a_config(value: Any, key: str) -> None:
    refusal = refusal_of(lambda: decoder_plan({**CONFIG, key: value}, **WORK))
    assert refusal is None or refusal.code.split(".")[0] in {"config", "export"}
