"""Every corpus file gives exactly the findings that are written in it."""

from pathlib import Path

import pytest

from tests.corpus_harness import CORPUS, check_file, corpus_files


@pytest.mark.parametrize("path", corpus_files(), ids=lambda path: str(path.relative_to(CORPUS)))
def test_corpus(path: Path) -> None:
    check_file(path)


def test_there_is_a_corpus() -> None:
    assert len(corpus_files()) > 0
