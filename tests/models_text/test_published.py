"""Published configs as text: checked without a finding, stable under printing, one digest; or refused by name."""

from __future__ import annotations

import pytest

from pllm_lang.cli.checking import check_files
from pllm_lang.ir.walk import nodes
from pllm_lang.models import LoweringError, ModelGraph, graph_digest, lower_model
from pllm_lang.models.text.model import model_text
from pllm_lang.syntax.format import format_source, print_file
from pllm_lang.syntax.parse import parse
from pllm_lang.text.source import make_source
from tests.models.published import DATA, index, lowered
from tests.models_text.lowered import opened

FAMILIES = [
    "cohere__aya-23-8B.json",
    "exaone__EXAONE-4.0-32B.json",
    "gemma__gemma-2b.json",
    "gemma2__gemma-2-2b-it.json",
    "gemma3__gemma-3-27b-it.json",
    "gpt2__gpt2.json",
    "gpt_neox__pythia-1b.json",
    "granite__granite-3.3-8b-instruct.json",
    "llama__Llama-3.1-8B-Instruct.json",
    "llama__Meta-Llama-3.1-405B.json",
    "mistral__Mistral-7B-v0.1-no-architectures.json",
    "phi__phi-2-msft.json",
    "phi3__phi-4.json",
    "phi3__Phi-4-mini-instruct.json",
    "qwen2__Qwen2.5-0.5B.json",
    "qwen2_moe__Qwen1.5-MoE-A2.7B-Chat.json",
    "qwen3_moe__Qwen3-235B-A22B.json",
    "qwen3__Qwen3-0.6B.json",
]
NOT_WRITTEN = {"text.operator", "text.quantization", "text.carried"}


@pytest.mark.parametrize("file", FAMILIES)
def test_the_text_checks_and_keeps_its_digest(file: str) -> None:
    text = model_text(lowered(file).graph)
    checked = check_files(["/nowhere/model.pllm"], "/nowhere", {"/nowhere/model.pllm": text})
    assert [(found.code, found.message) for found in checked.findings] == []
    (report,) = checked.reports
    assert report.accepted
    parsed = parse(make_source("model.pllm", text))
    assert format_source(parsed) == text
    digest = opened(text).digest
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


def lowered_configs() -> list[str]:
    """Published configs that have a graph; tests/models sees to the others."""
    return [file for file, entry in sorted(index().items()) if entry and _graph(file) is not None]


def _graph(file: str) -> ModelGraph | None:
    try:
        return lowered(file).graph
    except LoweringError:
        return None


def _text(graph: ModelGraph) -> str | LoweringError:
    try:
        return model_text(graph)
    except LoweringError as refused:
        return refused


@pytest.mark.parametrize("file", lowered_configs())
def test_every_lowered_config_is_written_or_refused_by_name(file: str) -> None:
    text = _text(lowered(file).graph)
    if isinstance(text, LoweringError):
        assert text.code in NOT_WRITTEN
        assert text.key
    else:
        assert opened(text).findings == ()


def test_more_than_half_are_written() -> None:
    written = [file for file in lowered_configs() if isinstance(_text(lowered(file).graph), str)]
    assert len(written) >= 57


def test_a_batch_is_refused_by_name() -> None:
    data = (DATA / "real" / "qwen2__Qwen2.5-0.5B.json").read_bytes()
    graph = lower_model(data, batch=2, max_input_tokens=8, max_new_tokens=2).graph
    with pytest.raises(LoweringError) as refused:
        model_text(graph)
    assert refused.value.code == "text.batch"
