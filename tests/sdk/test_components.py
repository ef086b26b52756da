"""Component classes against the library's records, the observed schemas, and wrong arguments."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllm_lang import Component, ConfigurationError
from pllm_lang.catalog.expr import Apply, Expr, ListOf, Num, Ref, Text
from pllm_lang.catalog.load import shipped_library
from pllm_lang.kernels import Cpu, KernelBackend
from pllm_lang.passes import KvCacheEviction, PlanPass, QuantizeWeights
from pllm_lang.profiles import FreivaldsVerify, GuardedLinear
from pllm_lang.schedulers import (
    BoundedIndependentElementsProtectedTensorSchedule,
    ChunkedIndependentLanesProtectedTensorSchedule,
    IndependentLanesProtectedTensorSchedule,
    ScalarProtectedTensorSchedule,
)
from pllm_lang.sdk.by_id import VIEWS, component_from_spec

PEER = Path(__file__).parents[1] / "data" / "peer" / "components.json"
OBSERVED = {item["component"]: item for item in json.loads(PEER.read_text(encoding="utf-8"))["data"]["items"]}
LEAST = {ChunkedIndependentLanesProtectedTensorSchedule: {"max_elements": 5}}


def made(view: type[Component]) -> Component:
    """The component with its defaults, and the least where there is none."""
    return view(**LEAST.get(view, {}))  # type: ignore[arg-type]


def plain(expr: Expr | None) -> Any:
    """A default of a record as Python writes it."""
    match expr:
        case None:
            return inspect.Parameter.empty
        case Num(value):
            return int(value)
        case Ref(name):
            return {"true": True, "false": False}[name]
        case Text(value):
            return value
        case ListOf(items):
            return tuple(map(plain, items))
        case Apply("/", (above, below)):
            return (plain(above), plain(below))
    raise AssertionError(expr)


@pytest.mark.parametrize("view", VIEWS.values(), ids=lambda view: view.__name__)
def test_signature_is_that_of_the_record(view: type[Component]) -> None:
    record = shipped_library().by_id(view.id)
    assert record is not None
    own = record.fields.get("own_params", ListOf(()))
    assert isinstance(own, ListOf)
    ours = {item.name for item in own.items if isinstance(item, Ref)}
    stated = {spec.name: plain(spec.default) for spec in record.params if spec.name not in ours}
    parameters = inspect.signature(view).parameters.values()
    assert {parameter.name: parameter.default for parameter in parameters} == stated
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters)


@pytest.mark.parametrize("view", VIEWS.values(), ids=lambda view: view.__name__)
def test_document_is_one_that_the_sdk_takes(view: type[Component]) -> None:
    spec = made(view).to_spec()
    observed = OBSERVED[view.id]
    assert spec["component"] == view.id
    assert f"pllm/{view.category}" == observed["category"]
    jsonschema.validate(spec["params"], observed["parameter_schema"])


@pytest.mark.parametrize("view", VIEWS.values(), ids=lambda view: view.__name__)
def test_view_is_a_value_that_never_changes(view: type[Component]) -> None:
    found = made(view)
    spec = found.to_spec()
    for name in ("component", "params", "category", "id", "record", "_params", "new"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(found, name, "x")
        with pytest.raises(AttributeError, match="immutable"):
            delattr(found, name)
    changed = found.to_spec()
    changed["params"]["x"] = 1
    changed["component"] = "y"
    with pytest.raises(TypeError):
        found.params["x"] = 1  # type: ignore[index]
    assert found.to_spec() == spec
    assert made(view) == found
    assert hash(made(view)) == hash(found)
    assert copy.copy(found) is copy.deepcopy(found) is found
    kept = pickle.loads(pickle.dumps(found))
    assert (type(kept), kept) == (view, found)
    read = component_from_spec(spec)
    assert (type(read), read) == (view, found)


def test_arguments_are_snapshots() -> None:
    sizes, ratio = [32, 16], {"numerator": 1, "denominator": 2}
    found = KvCacheEviction(cluster_sizes=sizes, alpha=ratio)
    sizes.append(7)
    ratio["denominator"] = 3
    assert found.params["cluster_sizes"] == [32, 16]
    assert found.params["alpha"] == {"numerator": 1, "denominator": 2}
    found.params["cluster_sizes"].append(1)
    assert found.params["cluster_sizes"] == [32, 16]
    assert found == KvCacheEviction(cluster_sizes=(32, 16), alpha=(1, 2))
    assert found != KvCacheEviction(cluster_sizes=(32, 16), alpha=(2, 4))


Lanes = IndependentLanesProtectedTensorSchedule
Chunks = ChunkedIndependentLanesProtectedTensorSchedule
WRONG: list[tuple[type[Component], dict[str, Any], str]] = [
    (Cpu, {"threads": 0}, "threads must be an integer >= 1, not 0"),
    (Cpu, {"threads": True}, "threads must be an integer >= 1, not True"),
    (Cpu, {"threads": 2.0}, "threads must be an integer >= 1, not 2.0"),
    (Cpu, {"threads": "2"}, "threads must be an integer >= 1, not '2'"),
    (Lanes, {"max_elements": 5}, "max_elements must be an integer in 2..4, not 5"),
    (Lanes, {"max_elements": 1}, "max_elements must be an integer in 2..4, not 1"),
    (Chunks, {"max_elements": 4}, "max_elements must be an integer in 5..4000000, not 4"),
    (FreivaldsVerify, {"target_failure_bits": 81}, "target_failure_bits must be an integer in 1..80, not 81"),
    (
        GuardedLinear,
        {"output_dither_bound": -1},
        "output_dither_bound must be an integer >= 0, not -1",
    ),
    (KvCacheEviction, {"static_keep": (6, 5)}, "static_keep must be in (0, 1], not (6, 5)"),
    (KvCacheEviction, {"alpha": 0.5}, "alpha must be a (numerator, denominator) pair, not 0.5"),
    (KvCacheEviction, {"alpha": (1, 2, 3)}, "alpha must be a (numerator, denominator) pair, not (1, 2, 3)"),
    (KvCacheEviction, {"alpha": (0, 1)}, "alpha.numerator must be an integer >= 1, not 0"),
    (KvCacheEviction, {"cluster_sizes": 32}, "cluster_sizes must be a list of integers, not 32"),
    (KvCacheEviction, {"cluster_sizes": ()}, "cluster_sizes must be non-empty, not ()"),
    (KvCacheEviction, {"cluster_sizes": (32, 0)}, "cluster_sizes[1] must be an integer >= 1, not 0"),
    (
        KvCacheEviction,
        {"cluster_sizes": (48, 32)},
        "cluster_sizes must fall, each size a divisor of the one before, not (48, 32)",
    ),
    (KvCacheEviction, {"share_adjacent_layers": 1}, "share_adjacent_layers must be a bool, not 1"),
    (KvCacheEviction, {"implementation": ""}, "implementation must be a non-empty string, not ''"),
    (QuantizeWeights, {"bits": "8"}, "bits must be an integer, not '8'"),
]


@pytest.mark.parametrize(("view", "arguments", "message"), WRONG)
def test_wrong_argument(view: type[Component], arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        view(**arguments)
    assert str(refusal.value) == message
    assert refusal.value.code == "component.value"
    assert refusal.value.subject == message.partition(" ")[0]


@pytest.mark.parametrize(
    ("view", "arguments", "named"),
    [
        (Cpu, {"thread": 2}, "thread"),
        (ScalarProtectedTensorSchedule, {"max_elements": 1}, "max_elements"),
        (Chunks, {}, "max_elements"),
    ],
)
def test_arguments_that_the_record_does_not_have(
    view: type[Component], arguments: dict[str, Any], named: str
) -> None:
    with pytest.raises(TypeError, match=named):
        view(**arguments)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"threads": 1, "b": 1, "a": 2}, "component params have unknown fields: ['a', 'b']"),
        ({}, "component params have missing fields: ['threads']"),
        ({"threads": 1, "a__b": 1}, "params 'a__b' is no key: keys are nonempty and without '__'"),
        ({"threads": 1, "component": 1}, "component is reserved"),
    ],
)
def test_documents_with_wrong_fields(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        component_from_spec({"component": "pllm/cpu", "params": params})
    assert str(refusal.value) == message


def test_a_component_is_of_its_category() -> None:
    assert PlanPass("pllm/kv-cache-eviction", KvCacheEviction().params) == KvCacheEviction()
    with pytest.raises(ConfigurationError, match="pllm/cpu is a kernel-backend, not a compiler-pass"):
        PlanPass("pllm/cpu", {"threads": 1})
    for wrong in ("", None, 3):
        with pytest.raises(ConfigurationError, match="component must be a non-empty string"):
            KernelBackend(wrong)  # type: ignore[arg-type]


def test_components_of_others_are_kept_as_they_are() -> None:
    found = KernelBackend("acme/gpu", {"a": {"b": [1, None, 1.5]}})
    assert found.to_spec() == {"component": "acme/gpu", "params": {"a": {"b": [1, None, 1.5]}}}
    assert found.record is None
    with pytest.raises(ConfigurationError):
        KernelBackend("acme/gpu", {"a": object()})
    with pytest.raises(ConfigurationError):
        KernelBackend("acme/gpu", {"a": float("nan")})


@given(st.sampled_from([Lanes, Chunks, BoundedIndependentElementsProtectedTensorSchedule]), st.integers())
def test_bounds_are_those_of_the_record(view: type[Component], size: int) -> None:
    observed = OBSERVED[view.id]["parameter_schema"]["properties"]["max_elements"]
    if observed["minimum"] <= size <= observed["maximum"]:
        assert view(max_elements=size).params == {"max_elements": size}  # type: ignore[call-arg]
    else:
        with pytest.raises(ConfigurationError, match=r"^max_elements must be an integer in "):
            view(max_elements=size)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("component", "params", "message"),
    [
        ("pllm/cpu", 3, "params must be a mapping, not 3"),
        ("pllm/cpu", {1: 2}, "params 1 is no key"),
        ("acme/\ud800", {}, "a string holds a lone surrogate"),
        ("acme/x", {"a": "\udfff"}, "a string holds a lone surrogate"),
        ("acme/x", {"a": 10**5000}, "not a JSON value"),
    ],
)
def test_what_no_document_can_say_is_refused_at_once(component: str, params: Any, message: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        Component(component, params)
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize("huge", [10**5000, "x" * 10**6, [[[]]] * 10**5], ids=["number", "text", "list"])
def test_messages_quote_no_more_than_a_line(huge: Any) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        Lanes(max_elements=huge)
    assert len(str(refusal.value)) < 160
