"""Every recorded configuration gives the recorded plan, eviction or refusal, however its keys are ordered."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from pllm_lang.interchange import (
    ComponentError,
    ConfigRefused,
    DecoderPlan,
    NotFaithful,
    PassError,
    checked_params,
    decoder_plan,
    evict_kv_cache,
    kv_cache_eviction,
)
from tests.interchange.cases import params, permuted

KINDS = {
    "invalid model JSON": "document",
    "invalid model configuration": "configuration",
    "unsupported model": "unsupported",
    "incomplete decoder graph": "graph",
}
PASS_FAULTS = {
    "invalid MPCache plan": "pass.plan",
    "invalid MPCache policy": "pass.policy",
    "unsupported KV-cache eviction implementation": "pass.component",
    "unsupported model component": "pass.component",
    "KV-cache eviction requires": "pass.component",
    "model component requires": "pass.component",
    "invalid model component": "pass.component",
    "component must be": "pass.component",
}


def config_of(case: dict[str, Any]) -> Any:
    return case["config"] if "config" in case else case["config_text"]


def assert_plan(plan: DecoderPlan, expect: dict[str, Any]) -> None:
    assert len(plan.canonical_bytes) == expect["canonical_bytes_length"]
    assert hashlib.sha256(plan.canonical_bytes).hexdigest() == expect["canonical_sha256"]
    assert plan.digest == expect["decoder_plan_digest"]
    assert plan.document.config_digest == expect["config_digest"]


@pytest.mark.parametrize("case", params("model_valid"))
def test_recorded_plan(case: dict[str, Any]) -> None:
    assert_plan(decoder_plan(config_of(case), **case["workload"], lossy=True), case["expect"])


NOT_FAITHFUL = {
    "qwen2/syn-24": ("rope_theta",),
    "qwen2/syn-35": ("rope_scaling",),
    "qwen2/syn-36": ("head_dim",),
    "qwen2/raw-dup-unknown": ("zzz",),
    "phi4_mini": ("model_type",),
    "qwen3_5_text": ("text_config.attn_output_gate",),
    "gemma4_text": ("text_config.model_type",),
}
"""Cases, or whole families, that the format gets wrong, and the keys to be named."""


@pytest.mark.parametrize("case", params("model_valid"))
def test_default_gives_the_same_plan_or_names_the_keys(case: dict[str, Any]) -> None:
    keys = NOT_FAITHFUL.get(case["id"]) or NOT_FAITHFUL.get(case["expect"]["model_family"])
    if keys is None:
        assert_plan(decoder_plan(config_of(case), **case["workload"]), case["expect"])
        return
    with pytest.raises(NotFaithful) as refusal:
        decoder_plan(config_of(case), **case["workload"])
    assert refusal.value.keys == keys


@pytest.mark.parametrize("case", [p for p in params("model_valid") if "config" in p.values[0]])
def test_order_of_keys_does_not_matter(case: dict[str, Any]) -> None:
    assert_plan(decoder_plan(permuted(case["config"]), **case["workload"], lossy=True), case["expect"])


LENIENT = {"qwen2", "qwen3", "phi3"}
"""Families whose adapter ignores keys that it does not know."""
OTHER_NAMES = {
    "_name_or_path": "someone/else",
    "transformers_version": "9.9",
    "a_key_of_nobody": {"x": [1, None]},
}


def is_lenient(case: dict[str, Any]) -> bool:
    return isinstance(case.get("config"), dict) and case["config"].get("model_type") in LENIENT


@pytest.mark.parametrize("case", [p for p in params("model_valid") if is_lenient(p.values[0])])
def test_names_of_the_model_do_not_matter(case: dict[str, Any]) -> None:
    config = permuted(case["config"] | OTHER_NAMES)
    assert_plan(decoder_plan(config, **case["workload"], lossy=True), case["expect"])


@pytest.mark.parametrize("case", [p for p in params("model_invalid") if is_lenient(p.values[0])])
def test_refusals_do_not_depend_on_names(case: dict[str, Any]) -> None:
    config, found = case["config"] | OTHER_NAMES, []
    for one in (case["config"], permuted(config)):
        try:
            found.append(decoder_plan(one, **case["workload"], lossy=True).digest)
        except ConfigRefused as refusal:
            found.append(f"{refusal.kind} {refusal.keys}")
    assert found[0] == found[1]


@pytest.mark.parametrize("case", params("model_valid"))
def test_recorded_evictions(case: dict[str, Any]) -> None:
    plan = decoder_plan(config_of(case), **case["workload"], lossy=True)
    for eviction in case["expect"]["kv_cache_eviction"]:
        if eviction["ok"]:
            found = evict_kv_cache(plan, permuted(eviction["component"]))
            assert (found.digest, len(found.canonical_bytes)) == (
                eviction["digest"],
                eviction["bytes_length"],
            )
        else:
            with pytest.raises(PassError) as refusal:
                evict_kv_cache(plan, eviction["component"])
            assert refusal.value.code == "pass.plan"


@pytest.mark.parametrize("reorder", [lambda value: value, permuted], ids=["as recorded", "keys permuted"])
@pytest.mark.parametrize("case", params("model_invalid"))
def test_recorded_refusal(case: dict[str, Any], reorder: Any) -> None:
    config, expect = reorder(config_of(case)), case["expect"]
    if expect["ok"]:
        plan = decoder_plan(config, **case["workload"], lossy=True)
        assert plan.digest == expect["decoder_plan_digest"]
        return
    with pytest.raises(ConfigRefused) as refusal:
        decoder_plan(config, **case["workload"], lossy=True)
    is_argument = expect["error_type"] in {"TypeError", "OverflowError"}
    assert refusal.value.kind == ("argument" if is_argument else KINDS[expect["error"].split(":")[0]])


@pytest.mark.parametrize(
    "case", [p for p in params("model_invalid") if "missing field" in str(p.values[0]["expect"])]
)
def test_a_missing_field_is_named(case: dict[str, Any]) -> None:
    name = case["expect"]["error"].split("`")[1]
    with pytest.raises(ConfigRefused) as refusal:
        decoder_plan(config_of(case), **case["workload"])
    assert [key.split(".")[-1] for key in refusal.value.keys] == [name]


def component_of(case: dict[str, Any]) -> Any:
    argument = case["argument"]
    if case["how"] == "constructor":
        return kv_cache_eviction(**argument)
    if case["how"] == "create_component":
        return {**argument, "params": checked_params(argument["component"], argument["params"])}
    return argument


@pytest.mark.parametrize("reorder", [lambda value: value, permuted], ids=["as recorded", "keys permuted"])
@pytest.mark.parametrize("case", params("kv_components"))
def test_recorded_component(case: dict[str, Any], reorder: Any) -> None:
    plan = decoder_plan(reorder(case["plan"]["config"]), **case["plan"]["workload"], lossy=True)
    for component in case["plan"]["apply_first"]:
        plan = evict_kv_cache(plan, component)
    expect = case["expect"]
    if expect["ok"]:
        assert evict_kv_cache(plan, reorder(component_of(case))).digest == expect["digest"]
        return
    if "ConfigurationError" in expect["error_type"]:
        with pytest.raises(ComponentError):
            component_of(case)
        return
    with pytest.raises(PassError) as refusal:
        evict_kv_cache(plan, reorder(component_of(case)))
    wanted = next(code for prefix, code in PASS_FAULTS.items() if expect["error"].startswith(prefix))
    assert refusal.value.code == wanted
