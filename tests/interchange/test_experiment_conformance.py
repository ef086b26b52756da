"""Every recorded experiment loads, is digested, resolves or is refused as recorded, in any order of keys."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from pllm_lang.interchange import (
    ComponentError,
    DocumentError,
    ExperimentDoc,
    ExperimentError,
    configuration_digest,
    experiment_bytes,
    experiment_from_spec,
    experiment_spec,
    pipeline_digest,
    resolve_experiment,
)
from tests.interchange.cases import params, permuted

ALL = params("experiments")
ACCEPTED = [p for p in ALL if p.values[0]["expect"]["ok"]]
REFUSED = [p for p in ALL if not p.values[0]["expect"]["ok"]]
FACTS = ("privacy_mode", "proprietary_protocol", "requires_preparation", "client_runtime", "privacy_protocol")


def read(case: dict[str, Any], reorder: Any = lambda value: value) -> ExperimentDoc:
    if "text" in case:
        return experiment_from_spec(case["text"], format=case["format"])
    return experiment_from_spec(reorder(case["spec"]))


@pytest.mark.parametrize("reorder", [lambda value: value, permuted], ids=["as recorded", "keys permuted"])
@pytest.mark.parametrize("case", ACCEPTED)
def test_recorded_experiment(case: dict[str, Any], reorder: Any) -> None:
    found, expect = read(case, reorder), case["expect"]
    assert experiment_bytes(found).decode() == expect["canonical"]
    assert configuration_digest(found) == expect["configuration_digest"]
    assert pipeline_digest(found) == expect["pipeline_digest"]


@pytest.mark.parametrize("case", ACCEPTED)
def test_document_reads_back(case: dict[str, Any]) -> None:
    found = read(case)
    assert experiment_from_spec(experiment_spec(found)) == found
    assert experiment_from_spec(experiment_bytes(found)) == found


@pytest.mark.parametrize("case", REFUSED)
def test_recorded_refusal(case: dict[str, Any]) -> None:
    with pytest.raises((ExperimentError, ComponentError, DocumentError)) as refusal:
        read(case, permuted)
    last = refusal.value.subject.split(".")[-1]
    assert (
        not last.isidentifier() or last in str(case.get("spec", case.get("text"))) + case["expect"]["error"]
    )


@pytest.mark.parametrize("case", ACCEPTED)
def test_recorded_resolution(case: dict[str, Any]) -> None:
    found, expect = read(case), case["expect"]["resolve"]
    if not expect["ok"]:
        with pytest.raises(ExperimentError) as refusal:
            resolve_experiment(found)
        is_composition = "composition" in expect["error"]
        assert refusal.value.code == ("experiment.composition" if is_composition else "experiment.native")
        return
    resolved = resolve_experiment(found)
    assert resolved.model == expect["model"]
    assert resolved.composition_digest == expect["composition_digest"]
    assert resolved.configuration_digest == expect["configuration_digest"]
    assert resolved.verification_component == expect["verification_component"]
    assert resolved.verification_target_failure_bits == expect["verification_target_failure_bits"]
    assert {fact: getattr(resolved.profile, fact) for fact in FACTS} == {fact: expect[fact] for fact in FACTS}


@pytest.mark.parametrize("case", [p for p in ACCEPTED if "spec" in p.values[0]])
def test_other_name_and_place(case: dict[str, Any]) -> None:
    spec = {
        **case["spec"],
        "name": "another name",
        "deployment": {"kind": "local", "root": "local://elsewhere"},
    }
    wanted = json.loads(case["expect"]["canonical"]) | {key: spec[key] for key in ("name", "deployment")}
    text = json.dumps(wanted, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    found = experiment_from_spec(spec)
    assert (
        configuration_digest(found) == hashlib.sha256(f"pllm.configuration.v1\0{text}".encode()).hexdigest()
    )
    assert pipeline_digest(found) == case["expect"]["pipeline_digest"]


@pytest.mark.parametrize("case", [p for p in REFUSED if isinstance(p.values[0].get("spec"), dict)])
def test_refusal_does_not_depend_on_names(case: dict[str, Any]) -> None:
    spec = permuted(case["spec"])
    renamed = {**spec, "name": "another"} if isinstance(spec.get("name"), str) and spec["name"] else spec
    with pytest.raises((ExperimentError, ComponentError, DocumentError)) as refusal:
        experiment_from_spec(renamed)
    with pytest.raises(type(refusal.value)) as recorded:
        experiment_from_spec(case["spec"])
    assert (refusal.value.code, refusal.value.subject) == (recorded.value.code, recorded.value.subject)
