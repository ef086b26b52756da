"""What we write is taken by the real SDK and means the same there; the SDK runs in its own environment."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pllm_lang.cli.app import app
from pllm_lang.interchange import (
    BudgetDoc,
    CompilationError,
    ComponentDoc,
    ExperimentDoc,
    ExperimentError,
    ModelDoc,
    compile_request,
    configuration_digest,
    decoder_plan,
    evict_kv_cache,
    experiment_bytes,
    kv_cache_eviction,
    pipeline_digest,
    resolve_experiment,
)
from pllm_lang.interchange.experiment.written import written
from tests.interchange.conftest import AskPeer
from tests.interchange.mutations import mutated_requests
from tests.interchange.requests import FIXTURE, fixture
from tests.interchange.test_compile_strict import MISTAKES, SOUND, changed

pytestmark = pytest.mark.system

CORE = {
    "linear": ComponentDoc("pllm/masked-linear", {}),
    "preparation": ComponentDoc("pllm/model-aware-corrections", {}),
    "inference": ComponentDoc("pllm/inference", {}),
    "kernels": ComponentDoc("pllm/cpu", {"threads": 2}),
}
VERIFIED = CORE | {"verification": ComponentDoc("pllm/freivalds-verify/v1", {"target_failure_bits": 40})}
BLINDED = {**CORE, "linear": ComponentDoc("pllm/blinded-linear/v1", {})}
del BLINDED["preparation"]
COMPOSITIONS: dict[str, dict[str, ComponentDoc]] = {
    "masked": CORE,
    "verified": VERIFIED,
    "blinded": BLINDED,
    "with a pass": CORE | {"cache": ComponentDoc(**kv_cache_eviction(cluster_sizes=(8, 4)))},
    "of others": CORE | {"x": ComponentDoc("acme/gpu", {"rate": 1e-7, "name": "é", "on": [True, None]})},
}
MODELS = {
    "tiny": ModelDoc("qwen2", "tiny"),
    "hub": ModelDoc("Qwen/Qwen2.5-0.5B", revision="main", local_files_only=True),
    "named": ModelDoc("/models/x", "gguf", model_id="x"),
    "ollama": ModelDoc("llama3", "ollama", endpoint="http://127.0.0.1:11434"),
}


def experiments() -> list[ExperimentDoc]:
    budget = BudgetDoc(3, 64, 8)
    return [
        ExperimentDoc(
            f"{composition} {model}", MODELS[model], COMPOSITIONS[composition], "local://here", budget
        )
        for composition in COMPOSITIONS
        for model in MODELS
    ]


def test_exported_experiments_resolve_with_the_same_digests(ask_peer: AskPeer) -> None:
    found = experiments()
    answers = ask_peer([{"resolve": [experiment_bytes(one).decode(), "json"]} for one in found])
    for experiment, answer in zip(found, answers, strict=True):
        assert answer["configuration_digest"] == configuration_digest(experiment), experiment.name
        assert answer["pipeline_digest"] == pipeline_digest(experiment), experiment.name
        if "unresolved" in answer:
            with pytest.raises(ExperimentError):
                resolve_experiment(experiment)
            continue
        ours, theirs = resolve_experiment(experiment), answer["resolved"]
        assert theirs["composition_digest"] == ours.composition_digest
        assert (theirs["model"], theirs["client_runtime"]) == (ours.model, ours.profile.client_runtime)
        assert theirs["verification_target_failure_bits"] == ours.verification_target_failure_bits
    assert sum("resolved" in answer for answer in answers) == 3 * len(MODELS)


def compiled_here(request: Any) -> dict[str, Any]:
    try:
        plan = compile_request(request, strict=False)
    except CompilationError as refusal:
        return {"diagnostics": [[found.code, found.subject_id] for found in refusal.diagnostics]}
    names = ("configuration", "logical_plan", "execution_plan", "plan_lock")
    return {"digests": [getattr(plan, f"{name}_digest") for name in names], "lock": plan.plan_lock.decode()}


def test_fixture_compiles_to_the_same_lock(ask_peer: AskPeer) -> None:
    requests = [fixture(), FIXTURE.read_text(encoding="utf-8")]
    answers = ask_peer([{"compile": request} for request in requests])
    assert answers == [compiled_here(request) for request in requests]
    assert all(len(answer["digests"][3]) == 64 for answer in answers)


def test_requests_of_the_strictness_tests_compile_alike(ask_peer: AskPeer) -> None:
    requests = [changed(*edits) for edits, _ in MISTAKES.values()] + [
        changed(*edits) for edits in SOUND.values()
    ]
    answers = ask_peer([{"compile": request} for request in requests])
    assert answers == [compiled_here(request) for request in requests]
    assert all("digests" in answer for answer in answers)


@pytest.mark.parametrize("seed", range(3))
def test_random_requests_compile_or_fail_alike(ask_peer: AskPeer, seed: int) -> None:
    requests = mutated_requests(seed, 400)
    answers = ask_peer([{"compile": request} for request in requests])
    differing = [n for n, answer in enumerate(answers) if answer != compiled_here(requests[n])]
    assert differing == []
    assert any("digests" in answer for answer in answers)
    assert len({code for answer in answers for code, _ in answer.get("diagnostics", [])}) > 8


def random_model(source: random.Random) -> tuple[dict[str, Any], dict[str, int]]:
    kv_heads, group, head_dim = source.randint(1, 4), source.randint(1, 4), 2 * source.randint(1, 32)
    heads = kv_heads * group
    config: dict[str, Any] = {
        "model_type": "qwen2",
        "hidden_size": heads * head_dim,
        "intermediate_size": source.randint(1, 300),
        "num_hidden_layers": source.randint(1, 6),
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "vocab_size": source.randint(1, 1000),
        "max_position_embeddings": 2048,
        "hidden_act": "silu",
        "rms_norm_eps": source.choice([1e-6, 1e-5, "1e-6", 0.1 * source.random()]),
        "rope_theta": source.choice([10000.0, 1000000, 7]),
        "tie_word_embeddings": source.random() < 0.5,
    }
    work = {
        "batch": source.randint(1, 3),
        "max_input_tokens": source.randint(1, 900),
        "max_new_tokens": source.randint(1, 90),
    }
    return config, work


def test_random_models_lower_and_evict_alike(ask_peer: AskPeer) -> None:
    source = random.Random(5)
    questions: list[list[Any]] = []
    for _ in range(60):
        small = source.randint(1, 40)
        component = kv_cache_eviction(
            alpha=(1, source.randint(1, 9)),
            static_keep=(source.randint(1, 5), 5),
            dynamic_keep=(source.randint(1, 7), 7),
            cluster_sizes=[small * 4, small * 2, small][: source.randint(1, 3)],
            share_adjacent_layers=source.random() < 0.5,
        )
        questions += [[*random_model(source), used] for used in (None, component)]
    answers = ask_peer([{"lower": question} for question in questions])
    for (config, work, component), answer in zip(questions, answers, strict=True):
        plan = decoder_plan(config, **work)
        plan = plan if component is None else evict_kv_cache(plan, component)
        assert answer == {"digest": plan.digest, "length": len(plan.canonical_bytes)}


PLAN_FILE = """pllm 1

import std.components [cpu, freivalds_verify, kv_cache_eviction]
import std.pipelines [verified_masked_linear_cpu]
import std.policies [single_evaluator]

model small = huggingface("config.json")
model evicted = huggingface("config.json") |> kv_cache_eviction(cluster_sizes: [8, 4])

experiment checked = "checked twice" under single_evaluator {
  source: tiny("qwen2", model_id: "small")
  pipeline: verified_masked_linear_cpu(
    kernels: cpu(threads: 2),
    verification: freivalds_verify(target_failure_bits: 64),
  )
  deployment: local(root: "local://checked")
  budget: { requests: 2, max_input_tokens: 64, max_new_tokens: 8 }
}
"""


def written_by_export(folder: Path, name: str, suffix: str) -> tuple[str, str]:
    """The file that `pllm export` writes for a declaration, and the digest that it prints."""
    target = folder / f"{name}{suffix}"
    arguments = ["export", str(folder / "e.pllm") + f":{name}", "-o", str(target)]
    done = CliRunner().invoke(app, arguments, standalone_mode=False)
    assert done.return_value == 0, done.output
    digest = re.search(r"digest ([0-9a-f]{64})", done.stderr)
    assert digest is not None
    return target.read_text(encoding="utf-8"), digest[1]


def test_what_the_command_exports_is_loaded(ask_peer: AskPeer, tmp_path: Path) -> None:
    config, _ = random_model(random.Random(1))
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "e.pllm").write_text(PLAN_FILE)
    as_json, digest = written_by_export(tmp_path, "checked", ".json")
    as_yaml, _ = written_by_export(tmp_path, "checked", ".yaml")
    plan, plan_digest = written_by_export(tmp_path, "small", ".json")
    evicted, evicted_digest = written_by_export(tmp_path, "evicted", ".json")
    found = ask_peer(
        [
            {"resolve": [as_json, "json"]},
            {"resolve": [as_yaml, "yaml"]},
            {"load": [plan, None]},
            {"load": [evicted, None]},
            {"lower": [config, {"batch": 1, "max_input_tokens": 64, "max_new_tokens": 16}, None]},
        ]
    )
    assert found[0] == found[1]
    assert found[0]["configuration_digest"] == digest
    assert found[0]["resolved"]["verification_target_failure_bits"] == 64
    assert [answer["digest"] for answer in found[2:]] == [plan_digest, evicted_digest, plan_digest]


NAMES = [
    *("010", "yes", "null", "1e3", "0x1f", "1_000", "12:30", "2024-01-01", "~", ".nan", "=", "<<"),
    *(
        "a: b",
        "# x",
        "a #b",
        " lead",
        "trail ",
        "\t",
        "'",
        '"',
        "-",
        "- a",
        "? a",
        "&a",
        "*a",
        "!x",
        "%",
        "@",
        "`",
    ),
    *("{", "[a]", "a\nb", "a\n\n b", "\x85", "\u2028", "\ufeff", "\x7f", "é", "😀", "\\", "\x00"),
]


def test_names_survive_both_formats(ask_peer: AskPeer) -> None:
    budget = BudgetDoc(1, 1, 1)
    found = [ExperimentDoc(name, ModelDoc(name), CORE, name, budget) for name in NAMES]
    for form in ("json", "yaml"):
        answers = ask_peer([{"resolve": [written(one, form), form]} for one in found])
        assert [answer.get("configuration_digest") for answer in answers] == [
            configuration_digest(one) for one in found
        ]
