"""What `--format json` prints is what the published schema says."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from pllm_lang.syntax.parse import parse
from pllm_lang.text.finding import Edit, Finding, Fix, Label, Severity, Span, Verdict
from pllm_lang.text.render_json import SCHEMA, render_json
from pllm_lang.text.source import make_source

FILE = Path(__file__).parents[2] / "schemas" / f"{SCHEMA}.json"
VALIDATOR = Draft202012Validator(json.loads(FILE.read_text(encoding="utf-8")))
SOURCE = make_source("p.pllm", "pllm 1\nplan p {\n  x == 3\n}\n")

spans = st.builds(Span, st.sampled_from(["p.pllm", "elsewhere.pllm"]), st.integers(0, 9), st.integers(9, 20))
fixes = st.builds(
    Fix,
    st.text(),
    st.lists(st.builds(Edit, spans, st.text()), min_size=1, max_size=2).map(tuple),
    st.booleans(),
)
findings = st.builds(
    Finding,
    st.sampled_from(["bounds.overflow", "names.unknown"]),
    st.text(min_size=1),
    spans,
    st.sampled_from(Severity),
    st.none() | st.sampled_from(Verdict),
    st.lists(st.builds(Label, spans, st.text()), max_size=2).map(tuple),
    st.lists(st.text(), max_size=2).map(tuple),
    st.text(),
    st.dictionaries(st.text(), st.text(), max_size=2),
    st.lists(fixes, max_size=2).map(tuple),
)


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(VALIDATOR.schema)


@given(st.lists(findings, max_size=4))
def test_any_findings_fit_the_schema(found: list[Finding]) -> None:
    VALIDATOR.validate(json.loads(render_json(found, {"p.pllm": SOURCE})))


def test_syntax_findings_fit_the_schema() -> None:
    found = parse(SOURCE).findings
    assert found
    VALIDATOR.validate(json.loads(render_json(found, {"p.pllm": SOURCE})))


@pytest.mark.parametrize("change", [{"verdict": "maybe"}, {"counts": {}}, {"more": 1}, {"schema": "v2"}])
def test_the_schema_refuses_other_documents(change: dict[str, object]) -> None:
    document = json.loads(render_json([], {}))
    assert VALIDATOR.is_valid(document)
    assert not VALIDATOR.is_valid(document | change)
