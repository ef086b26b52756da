"""Every `.pllm` block of the docs is a test: accepted, or refused with exactly the codes that it shows."""

import re
from pathlib import Path

import pytest

from pllm_lang.verify.registry import rule_codes
from tests.corpus_harness import CORPUS, check_file

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```pllm\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMPANION = re.compile(r"^`(\w+\.json)`:\n\n```json\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = [
    pytest.param(page, text, id=f"{page.relative_to(ROOT)}-{number}")
    for page in PAGES
    for number, text in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")), 1)
]


@pytest.mark.parametrize(("page", "text"), BLOCKS)
def test_block(page: Path, text: str, tmp_path: Path) -> None:
    for name, content in COMPANION.findall(page.read_text(encoding="utf-8")):
        (tmp_path / name).write_text(content, encoding="utf-8")
    path = tmp_path / "block.pllm"
    path.write_text(text, encoding="utf-8")
    check_file(path)


# No block of a page can show these: they are about whole files, texts too long to print, the command itself, and other commands.
NOT_SHOWN = {
    *("file.missing", "file.not_text", "file.too_large", "file.unreadable"),
    *("syntax.too_large", "syntax.too_long", "syntax.too_many"),
    *("suppression.no_reason", "suppression.not_allowed", "suppression.unused"),
    *("export.not_faithful", "export.refused", "import.not_said", "import.refused"),
}
RULE_PAGES = [
    page
    for page in sorted((ROOT / "docs" / "rules").glob("*/*.md"))
    if f"{page.parent.name}.{page.stem}" not in NOT_SHOWN
]


@pytest.mark.parametrize("page", RULE_PAGES, ids=lambda page: f"{page.parent.name}.{page.stem}")
def test_rule_page_shows_its_code_and_a_clean_plan(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    code = f"{page.parent.name}.{page.stem}"
    assert text.startswith(f"# {code}\n")
    refused, accepted = text.partition("\n## Accepted\n")[::2]
    assert [block for block in BLOCK.findall(refused) if code in block.split("#!", 1)[-1]]
    assert all("#!" not in block for block in BLOCK.findall(accepted))
    assert BLOCK.findall(accepted)


@pytest.mark.parametrize("code", rule_codes())
def test_every_rule_has_a_page_and_a_corpus_folder(code: str) -> None:
    family, name = code.split(".")
    assert (ROOT / "docs" / "rules" / family / f"{name}.md").is_file()
    assert list((CORPUS / family / name).rglob("*.pllm"))
