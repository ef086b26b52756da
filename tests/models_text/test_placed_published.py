"""One published config of each family under a pipeline: proved, with the rows that its linear layers burn."""

from __future__ import annotations

from math import prod
from pathlib import Path

import pytest

from pllm_lang.cli.checking import check_files
from pllm_lang.models import ModelGraph
from pllm_lang.models.errors import LoweringError
from pllm_lang.models.graph import Stage
from tests.models.published import DATA, index, lowered

TOKENS, NEW = 16, 4
EXPERIMENT = """pllm 1

import std.pipelines [masked_linear_cpu]
import std.policies [single_evaluator]

stock corrections {
  of: correction
  count: ROWS
  provider: preparation
  ring_bits: 32
  fresh: true
}

experiment whole under single_evaluator {
  model: huggingface("CONFIG")
  pipeline: masked_linear_cpu
  stock: [corrections]
  budget: { requests: 1, max_input_tokens: 16, max_new_tokens: 4 }
}
"""


def first_of_each_family() -> list[str]:
    found: dict[str, str] = {}
    for file in sorted(index()):
        family = file.partition("__")[0]
        if family not in found and _graph(file) is not None:
            found[family] = file
    return list(found.values())


def _graph(file: str) -> ModelGraph | None:
    try:
        return lowered(file).graph
    except LoweringError:
        return None


def rows(graph: ModelGraph) -> int:
    """Rows that go through a linear layer of a block: once in prefill, and once for every later token."""
    return _rows(graph.prefill) + (NEW - 1) * _rows(graph.decode)


def _rows(stage: Stage) -> int:
    return sum(
        len(repeat.layers) * prod(op.shape[:-1])
        for repeat in stage.layers
        for op in repeat.ops
        if op.operator == "linear"
    )


def shortage(file: str, count: int) -> list[str]:
    path = str(DATA / "real" / "whole.pllm")
    text = EXPERIMENT.replace("ROWS", str(count)).replace("CONFIG", Path(file).name)
    checked = check_files([path], str(DATA / "real"), {path: text})
    codes = [found.code for found in checked.findings if found.severity.value == "error"]
    assert [report.accepted for report in checked.reports] == [not codes]
    return codes


@pytest.mark.parametrize("file", first_of_each_family())
def test_the_whole_model_is_proved_with_exactly_its_rows(file: str) -> None:
    graph = _graph(file)
    assert graph is not None
    assert shortage(file, rows(graph)) == []
    assert shortage(file, rows(graph) - 1) == ["material.shortage"]
