"""Facts files: strict, exact, bound to digests."""

import hashlib
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from pllm_lang.resolve.facts_file import read_config, read_facts
from pllm_lang.resolve.modules import FactsFile, Measured
from pllm_lang.resolve.project import load
from pllm_lang.text.regular_file import Unreadable

CHECKPOINT = "sha256:" + "0" * 64


def document(**changes: Any) -> dict[str, Any]:
    facts = {"w": {"min": "-127", "max": "127", "row_norm1": "64", "row_norm2_sq": "1/128"}}
    return {"schema": "pllm.lang.facts.v1", "checkpoint": CHECKPOINT, "facts": facts} | changes


def test_a_facts_file_is_read_exactly(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_text(json.dumps(document(calibrated=["w"])))
    found = read_facts(str(path))
    assert isinstance(found, FactsFile)
    assert found.facts == {"w": Measured(min=-127, max=127, row_norm1=64, row_norm2_sq=Fraction(1, 128))}
    assert found.checkpoint == CHECKPOINT
    assert found.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found.calibrated == ("w",)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        json.dumps(document(schema="pllm.lang.facts.v2")),
        json.dumps(document(checkpoint="sha256:00")),
        json.dumps(document(more=1)),
        json.dumps(document(facts=[])),
        json.dumps(document(facts={"w": {}})),
        json.dumps(document(facts={"w": {"max": 127}})),
        json.dumps(document(facts={"w": {"max": "1.5"}})),
        json.dumps(document(facts={"w": {"max": "1/0"}})),
        json.dumps(document(facts={"w": {"maximum": "1"}})),
        json.dumps(document(facts={"w": {"row_norm1": "-1"}})),
        json.dumps(document(facts={"w": {"min": "2", "max": "1"}})),
        json.dumps(document(facts={"w": {"max": "9" * 1001}})),
        json.dumps(document(calibrated=["v"])),
        '{"schema": "pllm.lang.facts.v1", "schema": "pllm.lang.facts.v1"}',
        "[" * 100_000,
        '{"facts": NaN}',
    ],
)
def test_anything_else_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "f.json"
    path.write_text(text)
    found = read_facts(str(path))
    assert isinstance(found, Unreadable)
    assert found.code == "facts.invalid"


def test_a_plan_finds_its_facts_and_a_model_its_configuration(tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text(json.dumps(document()))
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    text = 'pllm 1\nmodel m = huggingface("config.json")\nplan p {\n  facts "f.json"\n}\n'
    (tmp_path / "a.pllm").write_text(text)
    module = load([str(tmp_path / "a.pllm")], str(tmp_path), {}).modules["./a"]
    assert module.facts["f.json"].facts["w"].max == 127
    assert module.configs["config.json"].text == '{"model_type": "llama"}'


def test_a_configuration_that_is_missing_or_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.json").write_bytes(b"\xff\xfe")
    missing, latin = read_config(str(tmp_path / "none.json")), read_config(str(tmp_path / "latin.json"))
    assert isinstance(missing, Unreadable)
    assert missing.code == "file.missing"
    assert isinstance(latin, Unreadable)
    assert latin.code == "file.not_text"
