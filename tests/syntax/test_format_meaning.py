"""Formatting changes no meaning: the same plans, records and findings, on every text that we have and on random plans."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pllm_lang.cli.checking import Checked, check_files
from pllm_lang.ir.digest import plan_digest
from pllm_lang.syntax.format import format_source
from pllm_lang.syntax.parse import has_errors, parse
from pllm_lang.text.source import make_source
from tests.corpus_harness import corpus_files
from tests.ir.lowering import lower
from tests.ir.random_plans import Text, Writing, texts, write

ROOT = Path(__file__).parents[2]
FILES = [
    *sorted((ROOT / "stdlib").glob("*.pllm")),
    *sorted((ROOT / "examples").rglob("*.pllm")),
    *corpus_files(),
]


def formatted(text: str) -> str:
    return format_source(parse(make_source("t.pllm", text)))


def meaning(checked: Checked) -> tuple[object, ...]:
    """What plans, the records of the project and the findings are, without places."""
    library = checked.opened.library
    plans = [(report.name, plan_digest(report.plan, library), report.accepted) for report in checked.reports]
    own = [key for key in library.keys("") if key.startswith("./")]
    records = {key: library.digest_of(key) for key in own if library.get(key) is not None}
    said = Counter(
        (finding.code, finding.severity, finding.verdict, finding.count) for finding in checked.findings
    )
    return plans, records, said, [report.name for report in checked.protocols]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_means_the_same_once_it_is_formatted(path: Path) -> None:
    text = path.read_bytes().decode("utf-8-sig")
    once = formatted(text)
    assert formatted(once) == once
    if has_errors(parse(make_source("t.pllm", text))):
        assert once == text
        return
    before, after = (check_files([str(path)], str(path.parent), {str(path): shown}) for shown in (text, once))
    assert meaning(after) == meaning(before)


@settings(max_examples=60, deadline=None)
@given(text=texts(), seed=st.integers(1, 1000), rename=st.booleans())
def test_random_plans_keep_their_digest(text: Text, seed: int, rename: bool) -> None:
    main, files = write(text, Writing(seed, layout=True, rename=rename))
    before = lower(main, "", files)
    after = lower(formatted(main), "", {name: formatted(other) for name, other in files.items()})
    assert before.codes == after.codes == []
    assert plan_digest(after.plan, after.library) == plan_digest(before.plan, before.library)
