"""Every code that resolving and reading can give has its page and its corpus folder, and nothing else has one."""

import re
from pathlib import Path

import pytest

import pllm_lang
from tests.corpus_harness import CORPUS

PACKAGE = Path(pllm_lang.__file__).parent
PAGES = PACKAGE.parent / "docs" / "rules"
FAMILIES = ("names", "modules", "numbers", "records", "policies")
CODE = re.compile(rf'"((?:{"|".join(FAMILIES)})\.[a-z_]+)"')


def emitted() -> set[str]:
    sources = [*(PACKAGE / "resolve").rglob("*.py"), *(PACKAGE / "catalog").rglob("*.py")]
    return {code for path in sources for code in CODE.findall(path.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("code", sorted(emitted()))
def test_a_code_has_a_page_and_a_case(code: str) -> None:
    family, name = code.split(".")
    assert (PAGES / family / f"{name}.md").is_file()
    cases = list((CORPUS / family / name).rglob("*.pllm"))
    assert any(code in path.read_text(encoding="utf-8") for path in cases)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_page_is_about_a_code_that_nothing_gives(family: str) -> None:
    known = {code for code in emitted() if code.startswith(family + ".")}
    pages = {f"{family}.{page.stem}" for page in (PAGES / family).glob("*.md") if page.stem != "index"}
    assert pages <= known
