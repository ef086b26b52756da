"""Every picture of the docs, in a real browser as wide as its page shows it at 1280 pixels; and those that a command alone makes
are what it makes today."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pictures.browser import SMALLEST, measured

pytestmark = pytest.mark.system
ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"
COLUMN = 900
"""Narrower than the column of a page with a picture; test_site.py looks at the pages themselves."""

MADE_BY = {
    "graph": ("graph", "beaver_block.pllm"),
    "cost": ("cost", "whole_model.pllm", "--format", "svg"),
}
SHOWN = {
    "refusal": "refused/llama_block_intervals.pllm",
    "leak": "refused/beaver_block_dealer.pllm",
    "coverage": "refused/moe_layer_sparse.pllm",
}


def page(picture: str, width: int) -> str:
    """As an image is shown: as wide as the column, if it is not narrower."""
    drawn = re.sub(r'^<svg([^>]*?) width="(\d+)" height="\d+"', r'<svg\1 data-wide="\2"', picture)
    style = f"body{{margin:0}} .column{{width:{width}px}} svg{{width:100%;height:auto;display:block}}"
    head = f'<head><meta charset="utf-8"><style>{style}</style></head>'
    return f'<!doctype html><html>{head}<body><div class="column">{drawn}</div></body></html>'


def natural_width(picture: str) -> int:
    found = re.search(r'<svg[^>]*? width="(\d+)"', picture)
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("path", sorted(PICTURES.glob("*.svg")), ids=lambda path: path.stem)
def test_it_is_readable(path: Path, dark: bool, tmp_path: Path) -> None:
    picture = path.read_text(encoding="utf-8")
    found = measured(page(picture, min(COLUMN, natural_width(picture))), tmp_path, dark=dark)
    assert found["wrong"] == []
    assert found["texts"] > 20


def test_a_picture_too_small_to_read_is_found(tmp_path: Path) -> None:
    picture = (PICTURES / "graph.svg").read_text(encoding="utf-8")
    wrong = measured(page(picture, 600), tmp_path)["wrong"]
    assert any(re.match(r"\d+\.\dpx: ", one) and float(one.split("px")[0]) < SMALLEST for one in wrong)


def told(*call: str) -> str:
    command = [sys.executable, "-m", "pllm_lang.cli.main", *call]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT / "examples", timeout=300
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.mark.parametrize("name", MADE_BY)
def test_it_is_what_the_command_draws(name: str) -> None:
    """Where this fails, `python docs/pictures/make.py` makes the pictures anew."""
    assert (PICTURES / f"{name}.svg").read_text(encoding="utf-8") == told(*MADE_BY[name])


@pytest.mark.parametrize("name", ["refusal", "leak"])
def test_it_says_what_the_check_says(name: str) -> None:
    shown = re.findall(r"<text[^>]*>(.*?)</text>", (PICTURES / f"{name}.svg").read_text(encoding="utf-8"))
    one, other = ("".join(text.split()) for text in ("".join(shown), told("check", SHOWN[name])))
    for escaped, plain in (("&gt;", ">"), ("&lt;", "<"), ("&amp;", "&")):
        one = one.replace(escaped, plain)
    assert one == f"$pllmcheck{SHOWN[name]}" + other


def test_the_report_says_what_coverage_says() -> None:
    picture = (PICTURES / "coverage.svg").read_text(encoding="utf-8")
    (body,) = re.findall(
        r"<body>(.*?)</body>", told("coverage", SHOWN["coverage"], "--format", "html"), re.DOTALL
    )
    assert body in picture
