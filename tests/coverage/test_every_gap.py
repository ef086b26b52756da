"""Over the whole corpus: the report names every error that a check finds, at its place, and is complete for what passes."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from pllm_lang.artifacts.coverage import coverage_of, document
from pllm_lang.cli.checking import check_files
from pllm_lang.text.finding import Severity
from tests.corpus_harness import CORPUS

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "pllm.lang.coverage.v1.json").read_text())
FOLDERS = (
    "assurance",
    "bounds",
    "coverage",
    "material",
    "placement",
    "protocol",
    "target",
    "versions",
    "experiments",
    "reports",
)
FILES = sorted(path for folder in FOLDERS for path in (CORPUS / folder).rglob("*.pllm"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CORPUS)))
def test_every_error_of_a_plan_is_a_row(path: Path) -> None:
    checked = check_files([str(path)], str(path.parent))
    for report in checked.reports:
        coverage = coverage_of(report, checked.sources)
        jsonschema.validate(json.loads(document(coverage)), SCHEMA)
        assert coverage.complete == report.accepted
        missing = [row for row in coverage.rows if row.level == "missing"]
        assert bool(missing) == (not report.accepted)
        told = {(row.code, place.file, place.line) for row in missing for place in row.places}
        for finding in report.findings:
            if finding.severity is Severity.ERROR and finding.span.file in checked.sources:
                line, _ = checked.sources[finding.span.file].line_column(finding.span.start)
                assert (finding.code, finding.span.file, line) in told, finding.code


ASPECTS = {
    "coverage/no_component": "operator",
    "coverage/missing_conversion": "conversion",
    "placement/role": "role",
    "bounds/carrier": "bound",
    "assurance/missing": "assurance",
    "versions/defect": "version",
    "material/shortage": "material",
    "target/capacity": "target",
    "placement/leak": "placement",
}


@pytest.mark.parametrize("rule", ASPECTS)
def test_each_kind_of_gap_has_its_aspect(rule: str) -> None:
    code = rule.replace("/", ".")
    rows = [
        row
        for path in sorted((CORPUS / rule).glob("*.pllm"))
        for checked in [check_files([str(path)], str(path.parent))]
        for report in checked.reports
        for row in coverage_of(report, checked.sources).rows
        if row.code == code
    ]
    assert rows
    assert {row.aspect for row in rows} == {ASPECTS[rule]}
    assert {row.level for row in rows} == {"missing"}
    assert all(row.by and row.subject and row.places for row in rows)
