"""What a reader copies from the first pages is in the layout of `pllm fmt` already."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from pllm_lang.cli.app import app
from pllm_lang.resolve.locate import shipped_modules

ROOT = Path(__file__).parent.parent
PAGES = (
    ROOT / "README.md",
    ROOT / "docs/index.md",
    ROOT / "docs/tutorial.md",
    ROOT / "docs/language.md",
    ROOT / "docs/library.md",
    *(ROOT / "docs/how-to").glob("*.md"),
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_plans_of_the_page_are_formatted(page: Path) -> None:
    for block in re.findall(
        r"^```pllm\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    ):
        result = CliRunner().invoke(app, ["fmt", "--diff", "-"], input=block, standalone_mode=False)
        assert result.output == ""


def test_every_module_of_the_library_is_listed() -> None:
    page = (ROOT / "docs/library.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(std\.\w+)`", page)) == set(shipped_modules())
