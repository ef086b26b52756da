"""Every code that lowering reports has its page, with a refused and an accepted plan."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "pllm_lang" / "ir" / "lower").glob("*.py"))
REPORTED = re.compile(r'(?:report\(ctx|reading\.report\(|Problem\()\s*,?\s*"([a-z]+\.[a-z_]+)"')
COMPUTED = ("types.shape_mismatch", "types.format_mismatch")
CODES = sorted({*COMPUTED, *(code for path in SOURCES for code in REPORTED.findall(path.read_text()))})


@pytest.mark.parametrize("code", CODES)
def test_a_reported_code_has_a_page(code: str) -> None:
    family, name = code.split(".")
    assert (ROOT / "docs" / "rules" / family / f"{name}.md").read_text().startswith(f"# {code}\n")


def test_the_codes_are_found() -> None:
    assert len(CODES) > 25
