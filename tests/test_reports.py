"""The public failures of `tests/corpus/reports`: code, place, value and limit as the JSON of `pllm check` gives them.

Where the numbers come from: each file's first lines name the public report; the figures were computed by hand from
its constants (see `tests/corpus/reports/ORIGIN.md`).
"""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

from pllm_lang.cli.app import app
from tests.corpus_harness import CORPUS

REPORTS = CORPUS / "reports"
TOP64 = str(2**63 - 1)

# file, code, line, text under the span, numbers that the finding must carry, a word of its help or message
REFUSED = [
    ("R01_refused", "bounds.overflow", "s", {"value": "102870", "limit": str(Fraction(2**30 - 1, 2**16)), "needs": "34"}, "34 bits"),
    ("R01_boundary_refused", "bounds.overflow", "s", {"value": "102870", "needs": "34"}, "34 bits"),
    ("R01_range_refused", "bounds.overflow", "s", {"value": str(396900 + Fraction(81, 2**16)), "needs": "36"}, "36 bits"),
    ("R02_refused", "bounds.intermediate", "mul(x, y)", {"term": "p", "limit": TOP64}, "at most 29 fraction bits"),
    ("R02_boundary_refused", "bounds.intermediate", "mul(x, y)", {"term": "p", "limit": TOP64}, "at most 29 fraction bits"),
    ("R02_local_truncation_refused", "bounds.failure", "mul(x, y)", {"limit": str(Fraction(1, 2**20))}, "wrong result"),
    ("R03_refused", "coverage.party_count", "using fixed_mul_two_party", {"value": "3", "limit": "2"}, "2 parties"),
    ("R04_refused", "bounds.intermediate", "mul(left, right)", {"needs": "198", "limit": str(2**127 - 1)}, "198 bits"),
    ("R04_boundary_refused", "bounds.intermediate", "mul(left, right)", {"needs": "198", "limit": str(2**196 - 1)}, "198 bits"),
    ("R05_refused", "bounds.domain", "gelu(x)", {"value": "10000", "limit": "8192"}, "gelu_32"),
    ("R05_boundary_refused", "bounds.domain", "gelu(x)", {"value": "8192", "limit": "8192"}, "gelu_32"),
    ("R07_refused", "target.ring", "mul(x, y)", {"value": "64", "limit": "128, 64"}, "128 bits"),
    ("R08_refused", "coverage.no_component", "cast(left, to: fx64_16)", {}, "cast"),
    ("R08_refused", "coverage.no_component", "relu(left)", {}, "relu"),
    ("R08_refused", "coverage.no_component", "gather(table, rows)", {}, "gather"),
    ("R13_refused", "target.defect", "using bfv_multiply", {"value": "1.2.5", "limit": "modulus_bits > 51"}, "avx512ifma"),
    ("R14_refused", "target.capacity", "using sigma_linear", {"limit": str(24 * 2**30)}, "24.0 GiB"),
    ("R14_refused", "coverage.requirement", "using sigma_softmax", {}, "power of two"),
    ("R14_boundary_refused", "target.capacity", "using sigma_linear", {"value": "42950066176", "limit": "42950066175"}, "bytes"),
    ("R14_capacity_refused", "target.capacity", "using sigma_linear", {"limit": str(24 * 2**30)}, "24.0 GiB"),
    ("R14_length_refused", "coverage.requirement", "using sigma_softmax", {}, "power of two"),
    ("R15_refused", "bounds.domain", "polynomial(x", {"value": "7252", "limit": "1024"}, "plaintext space"),
    ("R15_boundary_refused", "bounds.domain", "polynomial(x", {"value": "1700", "limit": "1024"}, "plaintext space"),
    ("R16_truncation_refused", "coverage.requirement", "using prime_truncate", {"value": "64", "limit": "84"}, "84"),
    ("R16_truncation_boundary_refused", "coverage.requirement", "using prime_truncate", {"value": "83", "limit": "84"}, "84"),
    ("R16_comparison_refused", "coverage.requirement", "using prime_compare", {"value": "128", "limit": "170"}, "170"),
    ("R16_comparison_boundary_refused", "coverage.requirement", "using prime_compare", {"value": "169", "limit": "170"}, "170"),
]  # fmt: skip
WITNESSES = {
    "R01_range_refused": "a: all entries 35; b: all entries 35",
    "R15_refused": "x: all entries 6",
    "R05_refused": "x: all entries 10000",
}
ACCEPTED = sorted(path.stem for path in REPORTS.glob("*_accepted.pllm"))
REPORTS_OF_THE_NUMERIC_CHECKS = ("R01", "R02", "R03", "R04", "R05", "R07", "R08", "R13", "R14", "R15", "R16")


def checked(name: str) -> dict:
    path = REPORTS / f"{name}.pllm"
    result = CliRunner().invoke(
        app, ["check", "--format", "json", "--no-cache", "--no-dependents", str(path)], standalone_mode=False
    )
    assert result.exception is None, result.exception
    return {"exit": result.return_value, **json.loads(result.output)}


@pytest.mark.parametrize(("name", "code", "under", "numbers", "said"), REFUSED)
def test_refused(name: str, code: str, under: str, numbers: dict[str, str], said: str) -> None:
    document = checked(name)
    assert (document["exit"], document["verdict"]) == (1, "refused")
    text = (REPORTS / f"{name}.pllm").read_text(encoding="utf-8")
    found = [f for f in document["findings"] if f["code"] == code and _under(f, text).startswith(under)]
    assert len(found) == 1, [(f["code"], _under(f, text)) for f in document["findings"]]
    finding = found[0]
    assert {key: finding["data"].get(key) for key in numbers} == numbers
    assert said in " ".join([finding["message"], finding["help"], *finding["notes"]])
    assert finding["verdict"] in ("refuted", "unproved")


@pytest.mark.parametrize(("name", "witness"), WITNESSES.items())
def test_witness(name: str, witness: str) -> None:
    findings = [f for f in checked(name)["findings"] if f["verdict"] == "refuted"]
    assert any(f["data"].get("witness") == witness for f in findings)


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str) -> None:
    document = checked(name)
    assert (document["exit"], document["verdict"], document["findings"]) == (0, "accepted", [])
    assert all(plan["verdict"] == "accepted" for plan in document["plans"])


@pytest.mark.parametrize("report", REPORTS_OF_THE_NUMERIC_CHECKS)
def test_every_report_has_both_sides(report: str) -> None:
    assert any(name.startswith(report) for name, *_ in REFUSED)
    assert any(name.startswith(report) for name in ACCEPTED)


def test_the_failure_of_the_local_truncation_is_about_thirty_percent_an_entry() -> None:
    finding = next(
        f for f in checked("R02_local_truncation_refused")["findings"] if f["code"] == "bounds.failure"
    )
    assert Fraction("0.30") < Fraction(finding["data"]["value"]) / 8 < Fraction("0.31")


def _under(finding: dict, text: str) -> str:
    span = finding["span"]
    return text[span["start"]["offset"] : span["end"]["offset"]]


def test_the_folder_says_where_its_cases_come_from() -> None:
    assert Path(REPORTS / "ORIGIN.md").is_file()
