"""Notes say a thing once: no finding of the corpus has a note twice, or speaks twice of ranges without norms."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pllm_lang.cli.checking import check_files
from pllm_lang.text.finding import Finding, Verdict
from pllm_lang.verify.narrations.told import leak_data, leak_message, leak_notes
from pllm_lang.verify.protocol.report import Leak, View
from tests.corpus_harness import CORPUS

FILES = sorted(path for folder in ("bounds", "reports") for path in (CORPUS / folder).rglob("*.pllm"))
ALONE = "from intervals alone"


def findings(path: Path) -> Iterator[Finding]:
    yield from check_files([str(path)], str(path.parent)).findings


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CORPUS)))
def test_no_note_stands_twice(path: Path) -> None:
    for found in findings(path):
        assert len(set(found.notes)) == len(found.notes)
        assert sum(ALONE in note for note in found.notes) <= 1


def test_two_operands_without_norms_are_one_note(tmp_path: Path) -> None:
    path = tmp_path / "p.pllm"
    path.write_text(
        "pllm 1\n\nimport std.formats [fx64_16]\nimport std.methods [fixed_linear_exact, fixed_mul_exact]\n\n"
        "plan p {\n"
        "  input x: fx64_16[4, 4096] from client where abs(x) <= 4096\n"
        "  weight v: fx64_16[8, 4096] public where abs(v) <= 1\n"
        "  weight w: fx64_16[8, 4096] public where abs(w) <= 1\n"
        "  a = linear(x, v) using fixed_linear_exact\n"
        "  b = linear(x, w) using fixed_linear_exact\n"
        "  y = mul(a, b) using fixed_mul_exact\n"
        "  output y to client\n}\n"
    )
    refused = list(findings(path))
    assert refused
    for found in refused:
        (note,) = (note for note in found.notes if ALONE in note)
        assert "the ranges of `x` and `y` come from" in note


def test_a_long_leak_is_told_by_its_first_terms() -> None:
    combination = " + ".join(f"u[{i}]" for i in range(9)) + " - v[0]"
    leak = Leak(combination, "x[0] - x[1]", (), (("x = [1, 2, 3, 4, 5, 6, 7]",), ("x = [0, 0]",)), (1, 0))
    view = View(("b",), Verdict.REFUTED, leak=leak)
    assert leak_message(view) == "`b` learns `x[0] - x[1]` from `u[0] + u[1] + u[2] + u[3] + ... 10 terms`"
    assert next(leak_notes(view)) == "executed: 1 with x = [1, 2, 3, 4, ... 7 entries]; 0 with x = [0, 0]"
    assert leak_data(view)["term"] == f"{combination} = x[0] - x[1]"
