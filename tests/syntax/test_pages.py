"""The pages of syntax findings: every code has one, and what it shows is refused or accepted as it says."""

import re
from collections import Counter
from pathlib import Path

import pytest

import pllm_lang.syntax
import pllm_lang.text
from pllm_lang.syntax.parse import parse
from pllm_lang.text.source import make_source

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "rules" / "syntax").glob("*.md"))
BLOCK = re.compile(r"## (Refused|Accepted)\n.*?```pllm\n(.*?)```", re.S)
BLOCKS = [
    (page, kind, text) for page in PAGES for kind, text in BLOCK.findall(page.read_text(encoding="utf-8"))
]
# Texts that show these are too long for a page; tests/syntax/test_limits.py has them.
NOT_SHOWN = {"too_long", "too_many", "too_large"}


def codes_in_the_code() -> set[str]:
    folders = [Path(package.__path__[0]) for package in (pllm_lang.syntax, pllm_lang.text)]
    texts = [path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py")]
    full = {code for text in texts for code in re.findall(r'"((?:syntax|suppression|file)\.[a-z_]+)"', text)}
    slips = {
        f"syntax.{name}" for text in texts for name in re.findall(r'slip\(\s*trouble,\s*"([a-z_]+)"', text)
    }
    return full | slips


def marked(text: str) -> Counter[tuple[int, str]]:
    lines = enumerate(text.split("\n"), 1)
    return Counter((line, code) for line, part in lines for code in part.partition("#!")[2].split())


@pytest.mark.parametrize(
    ("page", "kind", "text"), BLOCKS, ids=[f"{page.stem}-{kind}" for page, kind, _ in BLOCKS]
)
def test_blocks_are_refused_or_accepted_as_marked(page: Path, kind: str, text: str) -> None:
    source = make_source(page.name, text)
    found = Counter((source.line_column(f.span.start)[0], f.code) for f in parse(source).findings)
    assert found == marked(text)
    assert bool(found) == (kind == "Refused")
    assert kind == "Accepted" or {code for _, code in found} == {f"syntax.{page.stem}"}


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    pages = {f"{page.parent.name}.{page.stem}" for page in (ROOT / "docs" / "rules").glob("*/*.md")}
    codes = codes_in_the_code()
    assert codes <= pages
    assert {page for page in pages if page.startswith(("syntax.", "suppression."))} <= codes


def test_every_syntax_page_shows_a_bad_and_a_good_text() -> None:
    shown = {(page.stem, kind) for page, kind, _ in BLOCKS}
    for page in PAGES:
        assert (page.stem, "Accepted") in shown
        assert (page.stem, "Refused") in shown or page.stem in NOT_SHOWN
