"""The component table against the SDK's own records, and the rules that the table states."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllm_lang.catalog.load import shipped_library
from pllm_lang.interchange import ComponentError, checked_params, component_records, kv_cache_eviction
from pllm_lang.interchange.component_table import table_text
from pllm_lang.interchange.components import TABLE

OBSERVED = json.loads(
    (Path(__file__).parents[1] / "data" / "peer" / "components.json").read_text(encoding="utf-8")
)
ITEMS = {item["component"]: item for item in OBSERVED["data"]["items"]}
LANES = "pllm/independent-lanes/v1"


def schema_of(name: str) -> dict[str, Any]:
    """The parameter schema that our record states, in the words of the observed ones."""
    schemas: dict[str, Any] = {}
    for key, rule in component_records()[name].params.items():
        length = rule.kind == "text"
        found: dict[str, Any] = {
            "integer": {"type": "integer"},
            "text": {"type": "string"},
            "choice": {"enum": list(rule.choices)},
            "flag": {"type": "boolean"},
            "ratio": {"$ref": "#/$defs/ratio"},
            "integers": {
                "type": "array",
                "minItems": 1,
                "items": {"type": "integer", "minimum": rule.least},
            },
        }[rule.kind]
        bounds = {
            "minLength" if length else "minimum": rule.least,
            "maxLength" if length else "maximum": rule.most,
        }
        found |= {k: v for k, v in bounds.items() if v is not None and rule.kind in {"integer", "text"}}
        schemas[key] = found | ({"pattern": rule.pattern} if rule.pattern else {})
    return schemas


@pytest.mark.parametrize("name", sorted(ITEMS))
def test_record_says_what_was_observed(name: str) -> None:
    item, record = ITEMS[name], component_records()[name]
    assert (record.version, record.phase) == (item["version"], item["lifecycle_phase"])
    assert f"pllm/{record.category}" == item["category"]
    assert list(record.capabilities) == item["capabilities"]
    assert list(record.host_features) == item["required_host_features"]
    assert list(record.roles) == item["role_eligibility"]
    observed = item["parameter_schema"]
    properties = {
        key: {k: v for k, v in found.items() if not (k == "type" and "enum" in found)}
        for key, found in observed.get("properties", {}).items()
    }
    if name == "pllm/kv-cache-eviction":  # the observed record has no upper limit, a document has one
        properties["implementation"] |= {"maxLength": 1 << 20}
    assert schema_of(name) == properties
    assert sorted(record.params) == sorted(observed.get("required", []))


def test_the_table_is_what_the_library_says() -> None:
    assert TABLE.read_text(encoding="utf-8") == table_text(shipped_library())


def test_no_record_more() -> None:
    assert len(component_records()) == len(ITEMS) == 31


@pytest.mark.parametrize(
    ("component", "params", "code", "subject"),
    [
        (LANES, {}, "component.missing", "max_elements"),
        (LANES, {"max_elements": 4, "x": 1}, "component.unknown", "x"),
        (LANES, {"max_elements": 1}, "component.value", "max_elements"),
        (LANES, {"max_elements": 5}, "component.value", "max_elements"),
        (LANES, {"max_elements": True}, "component.value", "max_elements"),
        (LANES, {"max_elements": 4.0}, "component.value", "max_elements"),
        (LANES, {"max_elements": "4"}, "component.value", "max_elements"),
        ("pllm/accuracy", {"dataset": "", "measure": "task_score"}, "component.value", "dataset"),
        ("pllm/accuracy", {"dataset": "x" * 257, "measure": "task_score"}, "component.value", "dataset"),
        ("pllm/accuracy", {"dataset": 1, "measure": "task_score"}, "component.value", "dataset"),
        ("pllm/cost", {"basis": "request", "currency": "usd"}, "component.value", "currency"),
        ("pllm/cost", {"basis": "request", "currency": "USD\n"}, "component.value", "currency"),
        ("pllm/bfv-correlations/v1", {"poly_modulus_degree": 4097}, "component.value", "poly_modulus_degree"),
        (
            "pllm/bfv-correlations/v1",
            {"poly_modulus_degree": 4096.0},
            "component.value",
            "poly_modulus_degree",
        ),
        ("acme/x", {"a__b": 1}, "component.name", "params"),
        ("acme/x", {"": 1}, "component.name", "params"),
        ("acme/x", {"a": [{"b__c": 1}]}, "component.name", "params.a[0]"),
        ("acme/x", {"component": 1}, "component.name", "component"),
        ("acme/x", {"params": 1}, "component.name", "params"),
    ],
)
def test_wrong_parameters(component: str, params: dict[str, Any], code: str, subject: str) -> None:
    with pytest.raises(ComponentError) as refusal:
        checked_params(component, params)
    assert (refusal.value.code, refusal.value.subject) == (code, f"{component}.{subject}")


def test_parameters_of_others_are_left_alone() -> None:
    params = {"a": {"component": 1}, "b": [1, None, 1.5]}
    assert checked_params("acme/x", params) == params
    assert checked_params("pllm/not-known-to-this-release", params) == params


def test_eviction_defaults() -> None:
    assert kv_cache_eviction() == {
        "component": "pllm/kv-cache-eviction",
        "params": {
            "implementation": "pllm/importance-kv-cache-eviction/v1",
            "observation_window": {"numerator": 1, "denominator": 5},
            "static_keep": {"numerator": 3, "denominator": 10},
            "dynamic_keep": {"numerator": 1, "denominator": 4},
            "alpha": {"numerator": 3, "denominator": 5},
            "cluster_sizes": [32, 16],
            "share_adjacent_layers": True,
        },
    }


@given(st.integers(1, 9), st.integers(1, 9))
def test_ratios_are_not_reduced(numerator: int, denominator: int) -> None:
    if numerator > denominator:
        with pytest.raises(ComponentError):
            kv_cache_eviction(alpha=(numerator, denominator))
        return
    found = kv_cache_eviction(alpha=(numerator, denominator))["params"]["alpha"]
    assert found == {"numerator": numerator, "denominator": denominator}


def test_records_are_frozen() -> None:
    record = component_records()[LANES]
    with pytest.raises(AttributeError):
        record.version = "2"  # type: ignore[misc]
    assert msgspec.structs.replace(record, version="2") != record
