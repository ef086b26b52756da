"""Published configs as text: checked without a finding, stable under printing, one digest."""

from __future__ import annotations

import pytest

from pllm_lang.cli.checking import check_files
from pllm_lang.ir.digest import plan_digest
from pllm_lang.ir.walk import nodes
from pllm_lang.models import LoweringError, graph_digest, lower_model
from pllm_lang.models.text.model import model_text
from pllm_lang.syntax.format import format_source, print_file
from pllm_lang.syntax.parse import parse
from pllm_lang.text.source import make_source
from tests.models.published import DATA, index, lowered
from tests.models_text.lowered import opened

WRITTEN = 104
"""Every config that has a graph."""


def lowered_configs() -> list[str]:
    """Published configs that have a graph; tests/models sees to the others."""
    return [file for file, entry in sorted(index().items()) if entry and _has_graph(file)]


def _has_graph(file: str) -> bool:
    try:
        return bool(lowered(file))
    except LoweringError:
        return False


def test_every_config_with_a_graph_is_written() -> None:
    assert len(lowered_configs()) == WRITTEN


@pytest.mark.parametrize("file", lowered_configs())
def test_the_text_checks_and_keeps_its_digest(file: str) -> None:
    text = model_text(lowered(file).graph)
    checked = check_files(["/nowhere/model.pllm"], "/nowhere", {"/nowhere/model.pllm": text})
    assert [(found.code, found.message) for found in checked.findings] == []
    (report,) = checked.reports
    assert report.accepted
    parsed = parse(make_source("model.pllm", text))
    assert format_source(parsed) == text
    digest = plan_digest(report.plan, checked.opened.library)
    assert opened(print_file(parsed.file)).digest == digest
    renamed = model_text(lowered(file).graph, "another name")
    assert renamed != text
    assert opened(renamed).digest == digest


def test_equal_layers_stand_once() -> None:
    """126 layers take as many steps as one; Gemma 3's pattern of six stands once, and its rest of two beside it."""
    large = opened(model_text(lowered("llama__Meta-Llama-3.1-405B.json").graph))
    small = opened(model_text(lowered("llama__Meta-Llama-3-8B.json").graph))
    assert [len(list(nodes(s.body))) for s in large.plan.stages] == [
        len(list(nodes(s.body))) for s in small.plan.stages
    ]
    text = model_text(lowered("gemma3__gemma-3-27b-it.json").graph)
    assert text.count("repeat turn in 0..<10 carrying") == 2


def test_the_documentation_names_config_graph_and_checkpoint() -> None:
    graph = lowered("qwen2__Qwen2.5-0.5B.json").graph
    text = model_text(graph)
    assert f"## Graph  {graph_digest(graph)}\n" in text
    assert f"## Config {graph.config.digest}\n" in text
    for weight in graph.weights:
        assert f"  ## {weight.name}\n" in text


def test_a_quantised_checkpoint_says_so() -> None:
    """Its numbers are taken for what they stand for, and that is another plan than the one of weights in bf16."""
    quantised = model_text(lowered("qwen3__Qwen3-32B-FP8.json").graph)
    assert "## The checkpoint stores quantised weights (fp8, e4m3, dynamic)." in quantised
    assert "import std.formats [f32, token]\n" in quantised
    assert "bf16" in model_text(lowered("qwen3__Qwen3-0.6B.json").graph)


def test_several_sequences_run_together() -> None:
    data = (DATA / "real" / "gpt2__gpt2.json").read_bytes()
    graph = lower_model(data, batch=2, max_input_tokens=8, max_new_tokens=2).graph
    found = opened(model_text(graph))
    assert found.findings == ()
    assert found.plan.stages[0].inputs[0].type.shape == (2, 8)
