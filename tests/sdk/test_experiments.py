"""Experiments, pipelines and sources against recorded documents and digests, and wrong parts."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from pllm_lang import ConfigurationError, Deployment, ExecutionBudget, Experiment, Pipeline
from pllm_lang.kernels import Cpu, KernelBackend
from pllm_lang.passes import KvCacheEviction
from pllm_lang.profiles import (
    DirectFHEProfile,
    FreivaldsVerify,
    GuardedLinear,
    MaskedLinearCpu,
    Profile,
    ProprietaryBlinded,
    ProprietaryGuarded,
    VerifiedMaskedLinearCpu,
)
from pllm_lang.sources import BundleModel, ModelSource, TinyModel
from tests.interchange.cases import load

CASES = [pytest.param(case, id=case["id"]) for case in load("experiments")]
ACCEPTED = [param for param in CASES if param.values[0]["expect"]["ok"]]
REFUSED = [param for param in CASES if not param.values[0]["expect"]["ok"]]
PROFILES: dict[type[Profile], str] = {
    MaskedLinearCpu: "masked_transformer_v1",
    VerifiedMaskedLinearCpu: "masked_transformer_v1",
    ProprietaryGuarded: "guarded_blinded_transformer_v1",
    ProprietaryBlinded: "blinded_ole_transformer_v1",
    DirectFHEProfile: "direct_fhe_transformer_v1",
}


def experiment(**parts: Any) -> Experiment:
    """A small experiment with some parts replaced."""
    defaults: dict[str, Any] = {
        "name": "exp",
        "pipeline": MaskedLinearCpu(TinyModel()),
        "deployment": Deployment.local(root="local://x"),
        "budget": ExecutionBudget(requests=1, max_input_tokens=64, max_new_tokens=1),
    }
    return Experiment(**(defaults | parts))


def read(case: dict[str, Any]) -> Experiment:
    return Experiment.from_spec(case.get("spec", case.get("text")), format=case.get("format"))


@pytest.mark.parametrize("case", ACCEPTED)
def test_recorded_experiment(case: dict[str, Any]) -> None:
    found, expect = read(case), case["expect"]
    assert found.canonical_bytes().decode() == expect["canonical"]
    assert found.configuration_digest() == expect["configuration_digest"]
    assert found.pipeline.digest() == expect["pipeline_digest"]
    if expect["resolve"]["ok"]:
        assert found.resolve().composition_digest == expect["resolve"]["composition_digest"]
        assert found.resolve().profile.client_runtime == expect["resolve"]["client_runtime"]
    else:
        with pytest.raises(ConfigurationError):
            found.resolve()


@pytest.mark.parametrize("case", REFUSED)
def test_recorded_refusal(case: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        read(case)


@pytest.mark.parametrize("name", ["ok/masked", "ok/threads-2", "ok/verified-48"])
def test_the_classes_write_what_was_recorded(name: str) -> None:
    pipelines = {
        "ok/masked": MaskedLinearCpu(TinyModel()),
        "ok/threads-2": MaskedLinearCpu(TinyModel(), kernels=Cpu(threads=2)),
        "ok/verified-48": VerifiedMaskedLinearCpu(
            TinyModel(), verification=FreivaldsVerify(target_failure_bits=48)
        ),
    }
    recorded = next(case for case in load("experiments") if case["id"] == name)
    found = experiment(pipeline=pipelines[name])
    assert found.to_spec() == recorded["spec"]
    assert found.configuration_digest() == recorded["expect"]["configuration_digest"]


@pytest.mark.parametrize("profile", PROFILES)
def test_profile_resolves_and_is_the_pipeline_of_the_library(profile: type[Profile]) -> None:
    pipeline = profile(TinyModel())
    assert experiment(pipeline=pipeline).resolve().profile.client_runtime == PROFILES[profile]
    stated = {"linear", "preparation", "inference", "kernels", "verification"} & set(pipeline.record.fields)
    assert set(pipeline.components) == stated


@pytest.mark.parametrize("profile", PROFILES)
def test_documents_give_back_the_classes_that_wrote_them(profile: type[Profile]) -> None:
    wrote = experiment(pipeline=profile(TinyModel(), kernels=Cpu(threads=3)))
    found = Experiment.from_spec(wrote.canonical_bytes())
    assert found == wrote
    assert type(found.pipeline) is profile
    assert type(found.pipeline.components["kernels"]) is Cpu
    changed = wrote.to_spec()
    changed["pipeline"]["components"]["kernels"]["component"] = "acme/gpu"
    assert type(Experiment.from_spec(changed).pipeline) is Pipeline


def test_experiment_never_changes() -> None:
    found = experiment()
    digest, spec = found.configuration_digest(), found.to_spec()
    for part in (found, found.pipeline, found.pipeline.model, found.deployment, found.budget):
        for name in ("name", "pipeline", "root", "requests", "model", "components", "model_id", "document"):
            with pytest.raises(AttributeError, match="immutable"):
                setattr(part, name, None)
    spec["pipeline"]["components"].clear()
    spec["budget"]["requests"] = 9
    with pytest.raises(TypeError):
        found.pipeline.components["kernels"] = Cpu(threads=9)  # type: ignore[index]
    assert found.configuration_digest() == digest
    assert copy.deepcopy(found) is found
    assert pickle.loads(pickle.dumps(found)) == found
    assert hash(experiment()) == hash(found)
    assert experiment(name="other") != found


def test_components_given_are_a_snapshot() -> None:
    given = {"kernels": Cpu()}
    found = Pipeline(TinyModel(), given)
    given["kernels"] = Cpu(threads=2)
    assert found.components["kernels"] == Cpu()


def budget(**parts: Any) -> ExecutionBudget:
    return ExecutionBudget(**({"requests": 1, "max_input_tokens": 1, "max_new_tokens": 1} | parts))


WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: TinyModel("qwen3"), "model.source a tiny model is one of qwen2"),
    (lambda: TinyModel(model_id=""), "model.model_id must be a non-empty string, not ''"),
    (lambda: BundleModel("x", format="onnx"), "model.kind 'onnx' is none of "),
    (lambda: ModelSource("x", kind="tiny", revision="main"), "model.source a tiny model is one of qwen2"),
    (lambda: ModelSource("x", endpoint="http://a"), "model.endpoint does not apply to kind 'huggingface'"),
    (lambda: Deployment.local(root=""), "deployment.root must be a non-empty string, not ''"),
    (lambda: Deployment("cloud", "x"), "deployment.kind must be 'local'"),
    (lambda: budget(requests=0), "budget.requests must be an integer >= 1, not 0"),
    (lambda: budget(max_new_tokens=True), "budget.max_new_tokens must be an integer >= 1, not True"),
    (lambda: budget(max_input_tokens=1.0), "budget.max_input_tokens must be an integer >= 1, not 1.0"),
    (lambda: experiment(name=""), "name must be a non-empty string, not ''"),
    (lambda: experiment(pipeline=3), "pipeline must be a Pipeline, not int"),
    (lambda: experiment(deployment="x"), "deployment must be a Deployment, not str"),
    (lambda: experiment(budget={}), "budget must be a ExecutionBudget, not dict"),
    (lambda: MaskedLinearCpu("qwen2"), "model must be a ModelSource, not str"),  # type: ignore[arg-type]
    (
        lambda: MaskedLinearCpu(TinyModel(), kernels=KvCacheEviction()),  # type: ignore[arg-type]
        "kernels must be a KernelBackend, not KvCacheEviction",
    ),
    (
        lambda: VerifiedMaskedLinearCpu(TinyModel(), kernels=KernelBackend("acme/gpu")),
        "pipeline.components.kernels must hold pllm/cpu, not acme/gpu",
    ),
    (lambda: Pipeline(TinyModel(), None), "components must be a Mapping, not NoneType"),  # type: ignore[arg-type]
    (lambda: ModelSource("\ud800"), "a string holds a lone surrogate"),
    (lambda: Deployment.local(root="\ud800"), "a string holds a lone surrogate"),
    (lambda: experiment(name="\ud800"), "a string holds a lone surrogate"),
    (lambda: budget(requests=10**5000), "not a JSON value"),
    (lambda: Experiment.from_spec(3), "a document is a mapping, bytes or text, not int"),  # type: ignore[arg-type]
    (lambda: Pipeline(TinyModel(), {"a__b": Cpu()}), "pipeline.components 'a__b' is no slot name"),
    (lambda: Pipeline(TinyModel(), {"kernels": "pllm/cpu"}), "kernels must be a Component, not str"),  # type: ignore[dict-item]
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_wrong_part(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        make()
    assert str(refusal.value).startswith(message)


def test_a_composition_that_no_profile_has_is_stated_but_not_resolved() -> None:
    found = experiment(pipeline=MaskedLinearCpu(TinyModel(), linear=GuardedLinear()))
    with pytest.raises(
        ConfigurationError, match="linear must hold pllm/masked-linear, not pllm/guarded-linear"
    ):
        found.resolve()
