"""The examples under a policy: accepted, and each refused twin for its reason, at its line."""

from pathlib import Path

import pytest

from tests.corpus_harness import checked

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
ACCEPTED = ("first_look", "three_party_block", "beaver_block", "moe_layer", "whole_model")
REFUSED = {
    "first_look_short_stock": ("material.shortage", "using masked_linear(bits: 32)"),
    "three_party_block_merged": ("coverage.missing_conversion", "xs"),
    "beaver_block_dealer": ("placement.leak", "using beaver_matmul(product: wide, dealer: p0)"),
    "whole_model_short_stock": ("material.shortage", "stock: [corrections]"),
    "moe_layer_sparse": ("placement.reveals", "using open_gather(server: inference)"),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str) -> None:
    found = checked(EXAMPLES / f"{name}.pllm")
    assert found.findings == ()
    assert all(report.accepted for report in found.reports)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused(name: str) -> None:
    code, text = REFUSED[name]
    path = EXAMPLES / "refused" / f"{name}.pllm"
    found = checked(path)
    assert [finding.code for finding in found.findings] == [code]
    span = found.findings[0].span
    assert path.read_text(encoding="utf-8")[span.start : span.end] == text
    assert not all(report.accepted for report in found.reports)
