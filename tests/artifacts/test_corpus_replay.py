"""Every accepted plan of the corpus and the examples is locked and replayed; the few that replay cannot follow are listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pllm_lang.artifacts.lock import compile_report
from pllm_lang.artifacts.replay.lock import replay
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.catalog.records import Record
from pllm_lang.cli.checking import check_files
from pllm_lang.verify.experiments import check_record
from tests.artifacts.locks import ROOT

BEYOND = {
    "bounds/requirement/error_after_truncation.pllm": "certificate.beyond",  # speaks of an error
    "bounds/domain/published_functions.pllm": "certificate.beyond",  # so do its requirements
    "versions/defect/shipped_under_a_name.pllm": "certificate.beyond",  # and those of this plan
    "protocol/wrong_result/fresh_by_another.pllm": "certificate.meaning",  # the same
    "protocol/wrong_result/not_uniform.pllm": "certificate.meaning",  # local truncation rests on uniform shares
    "placement/state/cache_in_pieces.pllm": "certificate.beyond",  # a state that is kept in pieces
    "reports/R01_accepted.pllm": "certificate.facts",  # tensors known entry by entry
}
CORPUS = ROOT / "tests" / "corpus"
FILES = sorted(
    [*CORPUS.glob("*/*/*.pllm"), *CORPUS.glob("reports/*.pllm"), *(ROOT / "examples").glob("*.pllm")]
)


def name_of(path: Path) -> str:
    return path.relative_to(CORPUS).as_posix() if path.is_relative_to(CORPUS) else path.name


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_what_is_accepted_is_proved_again(path: Path) -> None:
    checked = check_files([str(path)], str(path.parent))
    project, library = checked.opened.project, checked.opened.library
    codes: set[str] = set()
    for report in checked.reports:
        if not report.accepted:
            continue
        records = (library.get(key) for key in library.keys("experiment"))
        own = [r for r in records if isinstance(r, Record) and r.name == report.name]
        experiment = check_record(project, library, own[0]).experiment if own else None
        try:
            replay(compile_report(report, project, library, experiment).content)
        except ReplayError as problem:
            codes.add(problem.code)
    assert codes == ({BEYOND[name_of(path)]} if name_of(path) in BEYOND else set())
