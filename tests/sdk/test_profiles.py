"""The profiles of the SDK as records: the classes show them, and what the records say of the run-time is what resolves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pllm_lang import Deployment, ExecutionBudget, Experiment
from pllm_lang.catalog.expr import MapOf, Ref, Text
from pllm_lang.cli.checking import check_files
from pllm_lang.ir.lower.pipeline.slots import OUTSIDE, REST, read_slots
from pllm_lang.ir.plan import ComponentUse
from pllm_lang.profiles import MaskedLinearCpu, ProprietaryBlinded, ProprietaryGuarded
from pllm_lang.sdk.errors import ConfigurationError
from pllm_lang.sdk.library import shipped_library
from pllm_lang.sdk.profiles import PROFILES, Profile
from pllm_lang.sources import TinyModel
from pllm_lang.text.finding import Severity, Verdict
from tests.models.tiny_configs import TINY

OF_THE_CLIENT = (REST, OUTSIDE, "state")
NAMES = {
    "baseline.masked_linear_cpu", "research.verified_masked_linear_cpu", "runtime.proprietary_guarded",
    "runtime.proprietary_blinded", "runtime.direct_fhe",
}  # fmt: skip
"""As the pllm.run SDK 0.1.0a2 names them."""


@pytest.mark.parametrize("profile", PROFILES, ids=lambda one: one.__name__)
def test_the_class_has_the_components_of_its_record(profile: type[Profile]) -> None:
    found: list[str] = []
    slots = read_slots(
        ComponentUse(profile.library_key, ()), shipped_library(), None, lambda *said: found.append(str(said))
    )
    assert slots is not None
    assert found == []
    records = {
        slot: shipped_library().component(use.key) for slot, use in slots.named if slot not in OF_THE_CLIENT
    }
    made = profile(TinyModel()).components
    assert {slot: used.component for slot, used in made.items()} == {
        slot: r.id for slot, r in records.items() if r
    }
    assert set(profile.slots) == set(made)
    assert all(isinstance(used, profile.slots[slot]) for slot, used in made.items())


@pytest.mark.parametrize("profile", PROFILES, ids=lambda one: one.__name__)
def test_the_record_says_how_it_runs(profile: type[Profile]) -> None:
    experiment = Experiment("x", profile(TinyModel()), Deployment.local(root="r"), ExecutionBudget(1, 8, 4))
    resolved = experiment.resolve().profile
    fields = profile(TinyModel()).record.fields
    stated = fields["runtime"]
    assert isinstance(stated, MapOf)
    values = {
        name: value.value if isinstance(value, Text) else _boolean(value) for name, value in stated.entries
    }
    assert values | {"privacy_protocol": values.get("privacy_protocol")} == {
        name: getattr(resolved, name) for name in resolved.__struct_fields__
    }
    assert getattr(fields["profile"], "value", "") in NAMES


def _boolean(value: object) -> bool:
    assert isinstance(value, Ref)
    return {"true": True, "false": False}[value.name]


def test_a_slot_takes_its_own_kind_only() -> None:
    with pytest.raises(ConfigurationError, match="GuardedLinear"):
        ProprietaryGuarded(TinyModel(), linear=ProprietaryBlinded.method)
    with pytest.raises(TypeError):
        ProprietaryGuarded(TinyModel(), preparation=None)  # type: ignore[call-arg]


@pytest.mark.parametrize("profile", PROFILES, ids=lambda one: one.__name__)
def test_coverage_names_what_nobody_published(profile: type[Profile]) -> None:
    from pllm_lang import lower_model

    config: dict[str, Any] = {"model_type": "llama"} | TINY["llama"]
    report = lower_model(config, batch=1, max_input_tokens=4, max_new_tokens=2).coverage(profile(TinyModel()))
    missing = [row for row in report.rows if row.level == "missing"]
    unpublished = [row.subject for row in missing if row.aspect == "assurance"]
    masked = profile in PROFILES[:2]
    assert unpublished == ([] if masked else [profile(TinyModel()).components["linear"].component])
    assert [row for row in missing if row.aspect != "assurance"] == []


@pytest.mark.parametrize("name", ["proprietary_guarded", "proprietary_blinded", "direct_fhe_cpu"])
def test_an_experiment_with_an_unpublished_method_is_unproved(tmp_path: Path, name: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"} | TINY["llama"]))
    path = tmp_path / "plan.pllm"
    path.write_text(
        "pllm 1\n\n"
        f"import std.pipelines [{name}]\nimport std.policies [single_evaluator]\n\n"
        "experiment x under single_evaluator {\n"
        f'  model: huggingface("config.json")\n  pipeline: {name}\n'
        "  budget: { requests: 1, max_input_tokens: 4, max_new_tokens: 2 }\n}\n"
    )
    checked = check_files([str(path)], str(tmp_path))
    errors = [found for found in checked.findings if found.severity is Severity.ERROR]
    assert [report.accepted for report in checked.reports] == [False]
    assert ("placement.no_protocol", Verdict.UNPROVED) in {(found.code, found.verdict) for found in errors}


def test_masked_is_the_default() -> None:
    assert MaskedLinearCpu(TinyModel()).record.name == "masked_linear_cpu"
