"""A whole model of every family behind masked linear layers: `pllm check` proves it, prefill and decode.

Tiny configs, the pipeline `masked_linear_cpu`, one coalition of a semi-honest evaluator.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pllm_lang.cli.checking import check_files
from pllm_lang.text.finding import Severity
from tests.models.tiny_configs import TINY

PROTECTED = tuple(sorted(TINY))
"""Types of models that are accepted with the pipeline."""
PLAN = """pllm 1

import std.pipelines [masked_linear_cpu]
import std.policies [single_evaluator]

experiment small under single_evaluator {
  model: huggingface("config.json")
  pipeline: masked_linear_cpu
  budget: { requests: 1, max_input_tokens: 4, max_new_tokens: 3 }
}
"""


@pytest.mark.parametrize("model_type", PROTECTED)
def test_a_model_behind_masked_linear_layers_is_accepted(tmp_path: Path, model_type: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type} | TINY[model_type]))
    (tmp_path / "plan.pllm").write_text(PLAN)
    checked = check_files([str(tmp_path / "plan.pllm")], str(tmp_path))
    assert [found for found in checked.findings if found.severity is Severity.ERROR] == []
    (report,) = checked.reports
    assert report.accepted
    masked = [
        met
        for met in (report.flow.met if report.flow else ())
        if met.step.use is not None and met.step.use.key == "std.components.masked_linear"
    ]
    assert len(masked) >= 2 * 4
    assert {obligation.code for obligation in report.obligations} >= {"placement.leak", "bounds.carrier"}
