"""Facts of a whole model: a pipeline in a ring that the number of inputs does not fit is proved from what was measured."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from pllm_lang.cli.checking import check_files
from pllm_lang.cli.measuring import facts_text
from pllm_lang.models import lower_model
from pllm_lang.text.finding import Finding, Severity
from pllm_lang.verify.check import PlanReport
from tests.measure.checkpoints import save
from tests.models.random_weights import random_weights
from tests.models.tiny_configs import TINY

INNER = 640
CONFIG = {"model_type": "llama"} | TINY["llama"] | {"intermediate_size": INNER, "torch_dtype": "float32"}
PLAN = """pllm 1

import std.components [client_local_kv, cpu, inference, masked_linear, model_aware_corrections]
import std.formats [act8, weight8]
import std.methods [clear]
import std.policies [single_evaluator]

pipeline narrow {
  linear: masked_linear(bits: 24)
  preparation: model_aware_corrections
  inference: inference
  kernels: cpu(threads: 1)
  state: client_local_kv
  activations: act8
  weights: weight8
  outside_layers: clear
  everything_else: clear
}

stock corrections {
  of: correction
  count: 1000
  provider: preparation
  ring_bits: 24
  weights: "CHECKPOINT"
  fresh: true
}

experiment small under single_evaluator {
  model: huggingface("config.json")
  pipeline: narrow
  facts: "facts.json"
  stock: [corrections]
  budget: { requests: 1, max_input_tokens: 4, max_new_tokens: 3 }
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    write_weights(tmp_path, 0)
    return tmp_path


def write_weights(folder: Path, seed: int) -> None:
    graph = lower_model(CONFIG, batch=1, max_input_tokens=4, max_new_tokens=3).graph
    source = random_weights(graph)
    rng = np.random.default_rng(seed)
    tensors = {
        weight.name.replace("*", str(layer)): (
            source(weight.name, layer) + rng.normal(size=weight.shape) / 9
        ).astype("f4")
        for weight in graph.weights
        for layer in weight.layers or (None,)
    }
    save(folder / "checkpoint" / "model.safetensors", tensors)


def check(
    folder: Path, *, bits: int = 8, checkpoint: str = "", facts: bool = True
) -> tuple[PlanReport, list[Finding]]:
    document = facts_text(str(folder / "checkpoint"), bits, None)
    (folder / "facts.json").write_bytes(document)
    text = PLAN.replace("CHECKPOINT", checkpoint or json.loads(document)["checkpoint"])
    (folder / "plan.pllm").write_text(text if facts else re.sub(r"  (facts|weights: \").*\n", "", text))
    checked = check_files([str(folder / "plan.pllm")], str(folder))
    (report,) = checked.reports
    return report, [found for found in checked.findings if found.severity is Severity.ERROR]


def test_the_number_of_inputs_alone_does_not_fit(folder: Path) -> None:
    report, errors = check(folder, facts=False)
    assert not report.accepted
    assert {found.code for found in errors} == {"bounds.carrier"}
    assert all(str(INNER * 127 * 127) in found.message for found in errors)


def test_what_was_measured_fits(folder: Path) -> None:
    report, errors = check(folder)
    assert errors == []
    assert report.accepted
    assert any(o.code == "material.binding" for o in report.obligations)


@pytest.mark.parametrize("bits", [0, 4])
def test_facts_of_other_numbers_prove_nothing_of_the_integers(folder: Path, bits: int) -> None:
    """Neither those of the real weights nor those of integers of 4 bits are used for integers of 8."""
    report, errors = check(folder, bits=bits)
    assert not report.accepted
    assert {found.code for found in errors} == {"bounds.carrier"}


def test_material_for_other_weights_is_refused(folder: Path) -> None:
    document = json.loads(facts_text(str(folder / "checkpoint"), 8, None))
    write_weights(folder, 1)
    report, errors = check(folder, checkpoint=document["checkpoint"])
    assert not report.accepted
    assert {found.code for found in errors} == {"material.binding"}
