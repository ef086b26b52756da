"""Whole models behind pipelines: every missing operator, role, record, machine and stock by name and number."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pllm_lang.artifacts.coverage_report import Coverage, Row
from pllm_lang.cli.covering import coverage_of_target
from tests.models.tiny_configs import TINY

LAYERS = int(TINY["llama"]["num_hidden_layers"])
PLAN = """pllm 1

import std.components [cpu, inference, masked_linear, model_aware_corrections]
import std.formats [act8, weight8]
import std.pipelines [masked_linear_cpu, proprietary_guarded]
import std.policies [client_server, single_evaluator]

pipeline bare {
  linear: masked_linear(bits: 32)
  preparation: model_aware_corrections
  inference: inference
  kernels: cpu(threads: 1)
  activations: act8
  weights: weight8
}

policy strict tightens single_evaluator {
  requires claim "kernel" outcomes [proved_in_model]
}

target tiny {
  isa: [avx2]
  memory: 1KiB
}

stock few {
  of: correction
  count: 10
  provider: preparation
  ring_bits: 32
  fresh: true
}

deployment here {
  kind: remote
  hosts: { client: tiny, preparation: tiny, inference: tiny }
  administered_by: { client: user, preparation: helper, inference: operator }
}
"""
EXPERIMENT = """
experiment x under POLICY {
  model: huggingface("config.json")
  pipeline: PIPELINE
  MORE
  budget: { requests: 1, max_input_tokens: 4, max_new_tokens: 3 }
}
"""
MODEL_LINE = PLAN.count("\n") + 3


def coverage(folder: Path, policy: str, pipeline: str, more: str = "") -> Coverage:
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"} | TINY["llama"]))
    text = EXPERIMENT.replace("POLICY", policy).replace("PIPELINE", pipeline).replace("MORE", more)
    (folder / "plan.pllm").write_text(PLAN + text)
    return coverage_of_target(f"{folder / 'plan.pllm'}:x")


def missing(report: Coverage) -> list[Row]:
    assert not report.complete
    return [row for row in report.rows if row.level == "missing"]


def test_every_operator_that_no_component_does(tmp_path: Path) -> None:
    rows = missing(coverage(tmp_path, "single_evaluator", "bare"))
    operators = {row.subject: row for row in rows if row.aspect == "operator"}
    assert set(operators) >= {
        "rms_norm",
        "rotary_embedding",
        "softmax",
        "silu",
        "mul",
        "add",
        "argmax",
        "embedding",
    }
    assert "linear" not in operators
    # two stages of LAYERS layers with two norms and a last one
    assert operators["rms_norm"].occurrences == 2 * (2 * LAYERS + 1)
    assert {row.subject for row in rows if row.aspect == "conversion"} == {"encode"}
    for row in operators.values():
        assert [(place.file, place.line) for place in row.places] == [
            (str(tmp_path / "plan.pllm"), MODEL_LINE)
        ]
        assert row.code == "coverage.no_component"


def test_every_role_that_nobody_plays(tmp_path: Path) -> None:
    rows = missing(coverage(tmp_path, "client_server", "masked_linear_cpu"))
    assert {(row.aspect, row.subject) for row in rows} == {("role", "preparation"), ("role", "inference")}
    assert all("pllm/" in row.by and row.places for row in rows)


def test_machines_stocks_and_claims(tmp_path: Path) -> None:
    rows = missing(coverage(tmp_path, "strict", "masked_linear_cpu", "deployment: here\n  stock: [few]"))
    by_aspect = {row.aspect: row for row in rows}
    assert set(by_aspect) == {"material", "target", "assurance"}
    # seven layers' rows for four input and two further positions
    assert f"burns {7 * LAYERS * 6} of `correction`" in by_aspect["material"].by
    assert "`kernel` of `masked_linear`" in by_aspect["assurance"].by
    assert by_aspect["target"].occurrences == 3


def test_a_method_that_nobody_published(tmp_path: Path) -> None:
    rows = missing(coverage(tmp_path, "single_evaluator", "proprietary_guarded"))
    assert "placement.no_protocol" in {row.code for row in rows}


def test_a_complete_one_names_hosts_slots_and_assumptions(tmp_path: Path) -> None:
    plan = PLAN.replace("1KiB", "1GiB").replace("count: 10\n", "count: 200\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.coverage.test_experiments.PLAN", plan)
        report = coverage(
            tmp_path, "single_evaluator", "masked_linear_cpu", "deployment: here\n  stock: [few]"
        )
    assert report.complete
    rows = {(row.aspect, row.subject): row for row in report.rows}
    assert rows["target", "inference"].by == "runs on tiny"
    assert rows["version", "pllm/cpu"].by == "version 1, as kernels"
    assert rows["operator", "linear"].level == "covered"
    assert any(row.aspect == "assurance" and row.level == "assumed" for row in report.rows)
