"""A text shows at most four entries of a tensor, with how many there are; JSON shows all."""

import json

from pllm_lang.text.finding import Finding, Span
from pllm_lang.text.render_full import render_full
from pllm_lang.text.render_json import render_json
from pllm_lang.text.source import make_source

WITNESS = "x: [1, -2, 3, 4, 5, 6]; w: [7, 8, 9, 10]"
FINDING = Finding("bounds.overflow", "too large", Span("p", 0, 1), data={"witness": WITNESS})
SOURCES = {"p": make_source("p", "x\n")}


def test_a_text_shows_the_first_entries() -> None:
    text = render_full([FINDING], SOURCES)
    assert "x: [1, -2, 3, 4, ... 6 entries]; w: [7, 8, 9, 10]" in text


def test_json_shows_all() -> None:
    (found,) = json.loads(render_json([FINDING], SOURCES))["findings"]
    assert found["data"]["witness"] == WITNESS
