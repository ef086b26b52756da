"""Random documents: the real SDK takes and refuses the same ones, and gives the same digests."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from pllm_lang.interchange import (
    DecoderPlan,
    ExperimentError,
    InterchangeError,
    configuration_digest,
    decoder_plan,
    evict_kv_cache,
    experiment_from_spec,
    kv_cache_eviction,
    pipeline_digest,
    resolve_experiment,
)
from tests.interchange.cases import load
from tests.interchange.conftest import AskPeer
from tests.interchange.json_mutations import mutated, spelled

pytestmark = pytest.mark.system
MAX_LAYERS = 40
"""Of a mutated configuration: more would only take time, on both sides."""


def without_words(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer with the sentences of its refusals taken out."""
    return {key: "…" if key in {"error", "unresolved"} else value for key, value in answer.items()}


def resolved_here(text: str, format: str) -> dict[str, Any]:
    try:
        found = experiment_from_spec(text, format=format)
    except InterchangeError as fault:
        return {"error": str(fault)}
    answer: dict[str, Any] = {
        "configuration_digest": configuration_digest(found),
        "pipeline_digest": pipeline_digest(found),
    }
    try:
        plan = resolve_experiment(found)
    except ExperimentError as fault:
        return answer | {"unresolved": str(fault)}
    names = ("model", "composition_digest", "verification_target_failure_bits")
    facts = {name: getattr(plan, name) for name in names}
    profile = {name: getattr(plan.profile, name) for name in ("client_runtime", "privacy_mode")}
    return answer | {"resolved": facts | profile}


@pytest.mark.parametrize("seed", range(2))
def test_random_experiments_load_and_resolve_alike(ask_peer: AskPeer, seed: int) -> None:
    source = random.Random(seed)
    specs = [json.loads(c["expect"]["canonical"]) for c in load("experiments") if c["expect"]["ok"]]
    texts = [
        (spelled(mutated(source.choice(specs), source, source.choice([0, 1, 1, 1, 2, 3])), source), form)
        for form in ("json", "yaml")
        for _ in range(400)
    ]
    answers = ask_peer([{"resolve": list(question)} for question in texts])
    for (text, form), answer in zip(texts, answers, strict=True):
        assert without_words(answer) == without_words(resolved_here(text, form)), text
    assert sum("error" in answer for answer in answers) > 300
    assert sum("resolved" in answer for answer in answers) > 60
    assert sum("unresolved" in answer for answer in answers) > 20


def config_questions(source: random.Random, count: int) -> list[list[Any]]:
    cases = [c for c in load("model_valid") if "config" in c]
    families = sorted({c["expect"]["model_family"] for c in cases})
    found: list[list[Any]] = []
    for _ in range(count):
        family = source.choice([*families, "qwen2", "qwen3", "qwen3"])
        case = source.choice([c for c in cases if c["expect"]["model_family"] == family])
        config = mutated(case["config"], source, source.choice([0, 1, 1, 1, 2, 3]))
        layers = config.get("num_hidden_layers", 0)
        if isinstance(layers, int) and layers > MAX_LAYERS:
            continue
        found.append([spelled(config, source) if source.random() < 0.7 else config, case["workload"], None])
    return found


@pytest.mark.parametrize("seed", range(2))
def test_random_configurations_lower_alike(ask_peer: AskPeer, seed: int) -> None:
    questions = config_questions(random.Random(seed), 500)
    answers = ask_peer([{"lower": question} for question in questions])
    for (config, work, _), answer in zip(questions, answers, strict=True):
        try:
            plan = decoder_plan(config, **work, lossy=True)
            ours: dict[str, Any] = {"digest": plan.digest, "length": len(plan.canonical_bytes)}
        except InterchangeError as fault:
            ours = {"error": str(fault)}
        assert without_words(answer) == without_words(ours), config
    assert sum("error" in answer for answer in answers) > 200
    assert sum("digest" in answer for answer in answers) > 60


def small_plans(count: int) -> list[DecoderPlan]:
    cases = [
        c for c in load("model_valid") if c["expect"]["model_family"] in {"qwen2", "qwen3"} and "config" in c
    ]
    cases.sort(key=lambda case: case["expect"]["canonical_bytes_length"])
    return [decoder_plan(c["config"], **c["workload"], lossy=True) for c in cases[:count]]


def test_exported_plans_load_and_evict_alike(ask_peer: AskPeer) -> None:
    source, plans = random.Random(3), small_plans(12)
    questions: list[tuple[DecoderPlan, str | None]] = [(plan, None) for plan in plans]
    for _ in range(500):
        component = kv_cache_eviction(cluster_sizes=source.choice([[8, 4], [2], [32, 16, 4]]))
        changed = mutated(component, source, source.choice([0, 1, 1, 2, 3]))
        questions.append((source.choice(plans), spelled(changed, source)))
    answers = ask_peer([{"load": [plan.canonical_bytes.decode(), used]} for plan, used in questions])
    for (plan, used), answer in zip(questions, answers, strict=True):
        graphs = (plan.document.prefill, plan.document.decode)
        wanted: dict[str, Any] = {
            "digest": plan.digest,
            "operators": sum(len(graph.operations) for graph in graphs),
        }
        try:
            wanted |= {} if used is None else {"evicted": evict_kv_cache(plan, used).digest}
        except InterchangeError as fault:
            wanted |= {"error": str(fault)}
        assert without_words(answer) == without_words(wanted), used
    assert sum("error" in answer for answer in answers) > 200
    assert sum("evicted" in answer for answer in answers) > 80
