"""The components of the SDK stand in the library as its listing has them (`tests/data/peer/ORIGIN.md`)."""

import json
from pathlib import Path
from typing import Any

import pytest

from pllm_lang.catalog.expr import Apply, Between, Expr, ListOf, Num, Ref, Text
from pllm_lang.catalog.load import shipped_library
from pllm_lang.catalog.records import Component, ParamSpec

LISTING = Path(__file__).parents[1] / "data" / "peer" / "components.json"
ITEMS: list[dict[str, Any]] = json.loads(LISTING.read_text())["data"]["items"]
KINDS = {
    "pllm/benchmark-metric": "metric",
    "pllm/compiler-pass": "pass",
    "pllm/correlation-source": "preparation",
    "pllm/inference-role": "role",
    "pllm/kernel-backend": "kernels",
    "pllm/nonlinear-protocol": "method",
    "pllm/preparation-provider": "preparation",
    "pllm/protected-scheduler": "schedule",
    "pllm/protocol-method": "method",
    "pllm/state-protocol": "state",
    "pllm/verification-scheme": "verification",
}


def component(item: dict[str, Any]) -> Component:
    found = shipped_library().by_id(item["component"])
    assert found is not None
    return found


def texts(found: Component, field: str) -> list[str]:
    value = found.fields.get(field, ListOf(()))
    items = value.items if isinstance(value, ListOf) else (value,)
    return [item.value for item in items if isinstance(item, Text)]


def schema_of(param: ParamSpec) -> dict[str, Any]:
    """The JSON schema that a parameter of a record amounts to."""
    allowed = param.allowed
    match param.kind:
        case "boolean":
            return {"type": "boolean"}
        case "ratio":
            return {"$ref": "#/$defs/ratio"}
        case "integer":
            return {"type": "integer"} | limits(allowed)
        case "word":
            assert isinstance(allowed, ListOf)
            return {"enum": [item.name for item in allowed.items if isinstance(item, Ref)]}
        case "list":
            assert isinstance(allowed, Apply)
            return {"type": "array", "minItems": 1, "items": {"type": "integer"} | limits(allowed.args[0])}
        case "text":
            return {"type": "string"} | text_limits(allowed)
        case _:
            raise AssertionError(param.kind)


def limits(allowed: Expr | None) -> dict[str, Any]:
    match allowed:
        case ListOf():
            return {"enum": [int(item.value) for item in allowed.items if isinstance(item, Num)]}
        case Between(low=Num() as low, high=Num() as high):
            return {"minimum": int(low.value), "maximum": int(high.value)}
        case Apply(fn=">=", args=(_, Num() as low)):
            return {"minimum": int(low.value)}
        case _:
            return {}


def text_limits(allowed: Expr | None) -> dict[str, Any]:
    assert isinstance(allowed, Apply)
    if allowed.named:
        ((_, pattern),) = allowed.named
        assert isinstance(pattern, Text)
        return {"pattern": f"^{pattern.value}$"}
    (length,) = allowed.args
    assert isinstance(length, Between)
    assert isinstance(length.low, Num)
    assert isinstance(length.high, Num)
    return {"minLength": int(length.low.value), "maxLength": int(length.high.value)}


def test_all_31_are_there() -> None:
    assert len(ITEMS) == 31


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item["component"])
def test_what_the_listing_says(item: dict[str, Any]) -> None:
    found = component(item)
    assert found.kind == KINDS[item["category"]]
    assert found.version == item["version"]
    assert texts(found, "category") == [item["category"]]
    assert texts(found, "category_version") == [item["category_version"]]
    assert texts(found, "provider") == [item["provider"]]
    assert texts(found, "distribution") == [item["distribution"]]
    assert texts(found, "capabilities") == item["capabilities"]
    assert list(found.host_features) == item["required_host_features"]
    assert sorted(found.roles) == sorted(item["role_eligibility"])
    assert "-".join(phase.replace("_", "-") for phase in found.phases) == item["lifecycle_phase"]


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item["component"])
def test_parameters_are_those_of_the_listing(item: dict[str, Any]) -> None:
    found = component(item)
    own = found.fields.get("own_params", ListOf(()))
    assert isinstance(own, ListOf)
    names = {part.name for part in own.items if isinstance(part, Ref)}
    schemas = {p.name: schema_of(p) for p in found.params if p.name not in names}
    wanted = dict(item["parameter_schema"].get("properties", {}))
    if item["component"] == "pllm/kv-cache-eviction":
        # the listing has no upper limit here, the record's is the longest document that is read
        wanted["implementation"] = wanted["implementation"] | {"maxLength": 1 << 20}
    assert schemas == wanted
    assert names.isdisjoint(wanted)
