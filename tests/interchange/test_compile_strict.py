"""What the SDK's compiler accepts by mistake is refused by default; the rest compiles to the same lock."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pllm_lang.interchange import CompilationError, compile_request
from tests.interchange.cases import params
from tests.interchange.requests import FIXTURE, add_copy, changed, fixture, put


def tensor(shape: list[int]) -> dict[str, Any]:
    return {"shape": shape, "numeric": "wrap32"}


def shapes(source: list[int], target: list[int]) -> tuple[Callable[[Any], object], ...]:
    return (
        put("input", tensor(source)),
        put("output", tensor(target)),
        put("operations.0.output", tensor(target)),
    )


def representations(source: str, target: str) -> tuple[Callable[[Any], object], ...]:
    ends = (("input_representation", source), ("output_representation", target))
    return tuple(
        put(f"{at}{key}", value) for at in ("", "operations.0.", "methods.0.") for key, value in ends
    )


def conversion(target: str) -> tuple[Callable[[Any], object], ...]:
    step = {"id": "convert", "operator": "conversion", "output_representation": target}
    return (
        add_copy("operations", **step),
        add_copy("methods", id="converter", operator="conversion", output_representation=target),
        add_copy(
            "kernels",
            id="convert",
            method_id="converter",
            implementation="explicit_representation_conversion",
        ),
        add_copy("candidate_evidence", method_id="converter", kernel_id="convert"),
        put("output_representation", target),
    )


def versions(*found: str) -> tuple[Callable[[Any], object], ...]:
    """The fixture's method and kernel, declared in each of the given versions of the method."""
    first, *others = found
    edits: list[Callable[[Any], object]] = [
        put("methods.0.version", first),
        put("kernels.0.method_version", first),
        put("candidate_evidence.0.method_version", first),
    ]
    for version in others:
        kernel = f"matrix-for-{version}"
        edits += [
            add_copy("methods", version=version),
            add_copy("kernels", id=kernel, method_version=version),
            add_copy("candidate_evidence", method_version=version, kernel_id=kernel),
        ]
    return tuple(edits)


def threads(count: int) -> Callable[[Any], object]:
    return put("configuration.pipeline.components.kernels.params.threads", count)


def model(**values: Any) -> Callable[[Any], object]:
    return put("configuration.pipeline.model", {"source": "a/b", **values})


MATERIAL = {"id": "material.masks", "digest": "f" * 64}
MISTAKES = {
    "batch of zero": (shapes([0, 3], [0, 2]), ("E_INVALID_TENSOR", "layer.0.o_proj")),
    "batch of 2**64-1": (shapes([2**64 - 1, 3], [2**64 - 1, 2]), ("E_INVALID_TENSOR", "layer.0.o_proj")),
    "integer of 2**53": (shapes([1, 2**53], [1, 1]), ("E_INVALID_TENSOR", "layer.0.o_proj")),
    "too many elements": (shapes([2**30, 2**30], [2**30, 1]), ("E_INVALID_TENSOR", "layer.0.o_proj")),
    "public product": (representations("public", "public"), ("E_REPRESENTATION", "layer.0.o_proj")),
    "plaintext product": (
        representations("client_plaintext", "client_plaintext"),
        ("E_REPRESENTATION", "layer.0.o_proj"),
    ),
    "product of ciphertexts": (
        representations("ciphertext", "ciphertext"),
        ("E_REPRESENTATION", "layer.0.o_proj"),
    ),
    "result in the open": (representations("masked_ring", "public"), ("E_REPRESENTATION", "layer.0.o_proj")),
    "opening as conversion": (conversion("public"), ("E_REPRESENTATION", "convert")),
    "conversion to labels": (conversion("boolean_label"), ("E_REPRESENTATION", "convert")),
    "version 10 before 9": (versions("9", "10"), ("E_INVALID_VERSION", "masked-product")),
    "version 1.10 before 1.9": (versions("1.10", "1.9"), ("E_INVALID_VERSION", "masked-product")),
    "33 threads": ((threads(33),), ("E_INVALID_CONTEXT", "configuration.pipeline.components.kernels")),
    "tiny model that does not exist": ((model(kind="tiny"),), ("E_INVALID_DOCUMENT", "compile_document")),
    "endpoint with credentials": (
        (model(kind="ollama", endpoint="http://user:word@host"),),
        ("E_INVALID_DOCUMENT", "compile_document"),
    ),
    "budget of 2**53": (
        (put("configuration.budget.requests", 2**53),),
        ("E_INVALID_DOCUMENT", "compile_document"),
    ),
    "one-use material twice": (
        (lambda request: request["context"]["material_requests"].append(MATERIAL),),
        ("E_DUPLICATE_ID", "material.masks"),
    ),
}
SOUND = {
    "as it is": (),
    "larger": shapes([64, 4096], [64, 11008]),
    "additive shares": representations("additive_share", "additive_share"),
    "plaintext at the client": (
        *representations("client_plaintext", "client_plaintext"),
        put("context.execution_role", "client"),
        put("context.static_role_plans.0.role", "inference"),
    ),
    "masked to shares": conversion("additive_share"),
    "versions in both orders alike": versions("1", "10"),
    "32 threads": (threads(32),),
    "a model of the hub": (model(revision="main"),),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_is_refused_by_default_only(name: str) -> None:
    edits, expected = MISTAKES[name]
    request = changed(*edits)
    assert len(compile_request(request, strict=False).plan_lock_digest) == 64
    with pytest.raises(CompilationError) as refusal:
        compile_request(request)
    assert {(found.code, found.subject_id) for found in refusal.value.diagnostics} == {expected}


@pytest.mark.parametrize("name", SOUND)
def test_sound_request_compiles_alike(name: str) -> None:
    request = changed(*SOUND[name])
    assert compile_request(request) == compile_request(request, strict=False)


MISTAKEN_CASES = {
    "ok/shape-0x3x2",
    "ok/shape-1x9007199254740992x1",
    "ok/shape-18446744073709551615x2x2",
    "ok/public-repr",
    "ok/client-plaintext-at-inference",
}


@pytest.mark.parametrize("case", [p for p in params("compile_requests") if p.values[0]["expect"]["ok"]])
def test_recorded_requests_by_default(case: dict[str, Any]) -> None:
    source = case.get("request") or case["request_text"]
    if case["id"] in MISTAKEN_CASES:
        with pytest.raises(CompilationError):
            compile_request(source)
    else:
        assert compile_request(source).plan_lock_digest == case["expect"]["plan_lock_digest"]


def test_seed_example() -> None:
    plan = compile_request(json.loads(FIXTURE.read_text(encoding="utf-8")))
    assert plan.input_shape == (2, 3)
    assert plan.output_shape == (2, 2)
    assert len(plan.plan_lock_digest) == 64


def test_mapping_text_and_bytes_are_one() -> None:
    text = FIXTURE.read_text(encoding="utf-8")
    assert compile_request(text) == compile_request(text.encode()) == compile_request(fixture())
