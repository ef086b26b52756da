"""Every recorded compile request gives what is recorded, under any order of keys and any names."""

from __future__ import annotations

import base64
import copy
import json
import re
from typing import Any

import pytest

from pllm_lang.interchange import CompilationError, CompiledRegion, compile_request
from tests.interchange.cases import params, permuted
from tests.interchange.renaming import renamed_request
from tests.interchange.requests import fixture

DOCUMENTS = ("logical_plan", "execution_plan", "plan_lock", "region_program")
ALL = params("compile_requests")
MAPPINGS = [p for p in ALL if "request" in p.values[0]]
WELL_FORMED = [p for p in MAPPINGS if "E_INVALID_DOCUMENT" not in str(p.values[0]["expect"])]
ACCEPTED = [p for p in WELL_FORMED if p.values[0]["expect"]["ok"]]


def source_of(case: dict[str, Any]) -> Any:
    if "request_base64" in case:
        return base64.b64decode(case["request_base64"])
    return case["request"] if "request" in case else case["request_text"]


def diagnostics(source: Any, *, strict: bool = False) -> list[tuple[str, str]]:
    with pytest.raises(CompilationError) as refusal:
        compile_request(source, strict=strict)
    found = [(found.code, found.subject_id) for found in refusal.value.diagnostics]
    assert found == sorted(found)
    assert all(found.message for found in refusal.value.diagnostics)
    return found


def recorded(case: dict[str, Any]) -> list[tuple[str, str]]:
    return sorted((found["code"], found["subject_id"]) for found in case["expect"]["diagnostics"])


def assert_compiled(found: CompiledRegion, expect: dict[str, Any]) -> None:
    assert found.configuration_digest == expect["configuration_digest"]
    for name in DOCUMENTS:
        assert len(getattr(found, name)) == expect["lengths"][name]
        assert getattr(found, f"{name}_digest") == expect[f"{name}_digest"]
    assert list(found.input_shape) == expect["input_shape"]
    assert list(found.output_shape) == expect["output_shape"]
    steps = json.loads(found.region_program)["steps"]
    parts = [
        [f"{step[part]['id']}@{step[part]['version']}" for part in ("method", "kernel")] for step in steps
    ]
    assert parts == expect["selected"]


@pytest.mark.parametrize("case", ALL)
def test_recorded_request(case: dict[str, Any]) -> None:
    if case["expect"]["ok"]:
        assert_compiled(compile_request(source_of(case), strict=False), case["expect"])
    else:
        assert diagnostics(source_of(case)) == recorded(case)


@pytest.mark.parametrize("case", MAPPINGS)
def test_order_of_keys_does_not_matter(case: dict[str, Any]) -> None:
    request = permuted(case["request"])
    if case["expect"]["ok"]:
        assert_compiled(compile_request(request, strict=False), case["expect"])
    else:
        assert diagnostics(request) == recorded(case)


@pytest.mark.parametrize("case", [p for p in WELL_FORMED if not p.values[0]["expect"]["ok"]])
def test_renamed_request_is_refused_alike(case: dict[str, Any]) -> None:
    request, rename = renamed_request(case["request"])
    assert diagnostics(request) == sorted((code, rename(subject)) for code, subject in recorded(case))


@pytest.mark.parametrize("case", ACCEPTED)
def test_renamed_request_compiles_alike(case: dict[str, Any]) -> None:
    request, rename = renamed_request(case["request"])
    assert request != case["request"]
    before, after = compile_request(case["request"], strict=False), compile_request(request, strict=False)
    assert after.plan_lock_digest != before.plan_lock_digest
    for name in DOCUMENTS:
        assert without_digests(getattr(after, name)) == _renamed(
            without_digests(getattr(before, name)), rename
        )


def without_digests(data: bytes) -> Any:
    return json.loads(re.sub(rb'"[0-9a-f]{64}"', b'"digest"', data))


def _renamed(value: Any, rename: Any) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(inner, rename) for key, inner in value.items()}
    if isinstance(value, list):
        return [_renamed(inner, rename) for inner in value]
    if not isinstance(value, str):
        return value
    slot, dot, part = value.rpartition(".")
    return f"{rename(slot)}.{part}" if dot and part in {"method", "kernel"} else rename(value)


def with_a_second(part: str, where: int) -> Any:
    """The fixture with a second entry of the same name and another content, before or behind the first."""
    request = fixture()
    second = copy.deepcopy(request[part][0])
    second["tool" if part == "assurance_results" else "artifact_digest"] = "0" * 64
    request[part].insert(where, second)
    return request


@pytest.mark.parametrize(("part", "counts"), [("methods", 0), ("kernels", 0), ("assurance_results", 1)])
def test_which_of_two_with_one_name_evidence_is_for(part: str, counts: int) -> None:
    """Observed of the SDK: the first method and kernel, but the last assurance result."""
    for where in (0, 1):
        codes = {code for code, _ in diagnostics(with_a_second(part, where))}
        assert codes == {"E_DUPLICATE_ID"} | ({"E_INVALID_ASSURANCE"} if where == counts else set())


@pytest.mark.parametrize(("part", "again"), [("method", False), ("kernel", False), ("", True)])
def test_evidence_for_another_artifact_is_no_duplicate(part: str, again: bool) -> None:
    """Observed of the SDK: evidence is given twice only where both artifacts are the same."""
    request = fixture()
    second = copy.deepcopy(request["candidate_evidence"][0])
    if part:
        second[f"{part}_artifact_digest"] = "0" * 64
    request["candidate_evidence"].append(second)
    assert {code for code, _ in diagnostics(request)} == {
        "E_DUPLICATE_ID" if again else "E_INVALID_ASSURANCE"
    }
