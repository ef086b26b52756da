"""The corpus: `.pllm` files with the expected findings written on the line they concern.

A line that ends in `#! code another.code` must carry exactly the findings of these codes (one twice for two
findings); a finding belongs to the line that its span starts on. A file without any `#!` must be clean.
Findings in other files (an imported one, the library) are never expected.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from pllm_lang.cli.checking import Checked, check_files
from pllm_lang.text.finding import Finding

CORPUS = Path(__file__).parent / "corpus"
MARK = "#!"


def corpus_files(folder: str = "") -> list[Path]:
    """All corpus files below a folder of `tests/corpus`, in order."""
    return sorted((CORPUS / folder).rglob("*.pllm"))


def checked(path: Path, root: Path | None = None) -> Checked:
    """The full check of one file; by default its own folder is the project's root."""
    return check_files([str(path)], str(root or path.parent))


def findings_of(path: Path, root: Path | None = None) -> tuple[Finding, ...]:
    return checked(path, root).findings


def expected(text: str) -> Counter[tuple[int, str]]:
    """(line, code) pairs that the `#!` comments of a text ask for."""
    found: Counter[tuple[int, str]] = Counter()
    for number, line in enumerate(text.splitlines(), 1):
        _, mark, codes = line.partition(MARK)
        found.update((number, code) for code in codes.split() if mark)
    return found


def actual(path: Path, findings: tuple[Finding, ...]) -> Counter[tuple[int, str]]:
    """(line, code) pairs of the findings; one in another file counts as line 0 with that file's name."""
    text = path.read_text(encoding="utf-8")
    found: Counter[tuple[int, str]] = Counter()
    for finding in findings:
        own = os.path.realpath(finding.span.file) == os.path.realpath(path)
        line = text.count("\n", 0, finding.span.start) + 1 if own else 0
        found[line, finding.code if own else f"{finding.code} in {finding.span.file}"] += 1
    return found


def check_file(path: Path, root: Path | None = None) -> None:
    """Assert that a corpus file gives exactly the findings written in it."""
    findings = findings_of(path, root)
    wanted, found = expected(path.read_text(encoding="utf-8")), actual(path, findings)
    missing = "".join(
        f"\n  line {line}: expected {code}" for line, code in sorted((wanted - found).elements())
    )
    extra = "".join(
        f"\n  line {line}: unexpected {code}" for line, code in sorted((found - wanted).elements())
    )
    said = "".join(f"\n    {f.code}: {f.message}" for f in findings) if extra else ""
    problems = missing + extra + said
    assert not problems, f"{path}{problems}"
