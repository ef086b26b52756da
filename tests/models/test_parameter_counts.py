"""Parameter counts of the graph against the counts in the models' names.

A count agrees where it is less than one unit of the stated number's last digit away (publishers round, cut or
raise), with the embedding table or without it (both are usual). What does not agree stands here with its
cause.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from pllm_lang.models import parameter_count
from pllm_lang.models.parameters import family_size
from tests.models.published import index, lowered

STATED = {
    file: Fraction(str(entry["params_nominal_B"]))
    for file, entry in index().items()
    if entry.get("params_nominal_B")
}
EXCEPTIONS = {
    "bert__snowflake-arctic-embed-m.json": "an encoder, refused",
    "llama_vision__Llama-3.2-90B-Vision-Instruct.json": "layers with cross-attention, refused",
    "nemotron_nas__Llama-3_3-Nemotron-Super-49B-v1.json": "sizes of its own in every layer, refused",
    "lfm2__LFM2.5-VL-1.6B.json": "1.6 counts the image encoder; the text decoder is LFM2-1.2B with 1.17",
}


def unit(stated: Fraction) -> Fraction:
    """One unit of the last digit that is not zero: 1 for 7, 1/10 for 2.4, 10 for 230."""
    size = Fraction(1)
    while (stated / size).denominator != 1:
        size /= 10
    while (stated / (size * 10)).denominator == 1:
        size *= 10
    return size


def counts(file: str) -> tuple[Fraction, Fraction]:
    """Billions in all, and without the embedding table."""
    graph = lowered(file).graph
    table = graph.prefill.before[0].weights["weight"]
    rows = sum(family_size(weight) for weight in graph.weights if weight.name == table)
    total = parameter_count(graph)
    return Fraction(total, 10**9), Fraction(total - rows, 10**9)


def test_the_table_is_short() -> None:
    assert len(STATED) == 86
    assert set(EXCEPTIONS) < set(STATED)
    assert len(STATED) - len(EXCEPTIONS) >= 80


@pytest.mark.parametrize("file", sorted(set(STATED) - set(EXCEPTIONS)))
def test_count_agrees_with_the_name(file: str) -> None:
    assert any(abs(count - STATED[file]) < unit(STATED[file]) for count in counts(file))


def test_the_exception_that_is_lowered_really_differs() -> None:
    file = "lfm2__LFM2.5-VL-1.6B.json"
    assert all(abs(count - STATED[file]) >= unit(STATED[file]) for count in counts(file))


@pytest.mark.parametrize(
    ("file", "exact"),
    [
        ("llama__Meta-Llama-3.1-8B.json", 8_030_261_248),
        ("llama__TinyLlama-1.1B-Chat-v1.0.json", 1_100_048_384),
        ("gpt2__gpt2.json", 124_439_808),
        ("qwen2__Qwen2.5-0.5B.json", 494_032_768),
        ("gemma2__gemma-2-2b-it.json", 2_614_341_888),
        ("qwen3__Qwen3-0.6B.json", 596_049_920),
    ],
)
def test_exact_counts_of_known_checkpoints(file: str, exact: int) -> None:
    """The numbers that the hubs show for these checkpoints."""
    assert parameter_count(lowered(file).graph) == exact
