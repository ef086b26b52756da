"""The built documentation in a real browser at 1280 pixels: nothing of a page is cut, overlaps or is too small to read, and its
pictures are as large as `test_pictures.py` takes them to be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.pictures.browser import WIDTH, measured_in_place
from tests.pictures.test_pictures import COLUMN, PICTURES, natural_width

pytestmark = pytest.mark.system
DOCS = Path(__file__).parents[2] / "docs"
PAGES = (
    *("index", "tutorial", "language", "performance", "models/status", "rules/index", "editors/index"),
    *("rules/bounds/intermediate", "records/index", "records/component/index"),
    *("records/component/components-binary_table", "kernels/figures"),
    *(
        f"how-to/{name}"
        for name in ("component", "cost", "coverage", "graph", "read-a-refusal", "whole-model")
    ),
)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "-d",
        str(built / "trees"),
        str(DOCS),
        str(built / "html"),
    ]
    subprocess.run(command, check=True, timeout=900)
    return built / "html"


def seen(site: Path, page: str, folder: Path, dark: bool) -> dict[str, Any]:
    path = site / f"{page}.html"
    copy = path.with_name(f"measured-{path.name}")
    text = path.read_text(encoding="utf-8")
    return measured_in_place(text, copy, folder / "profile", dark=dark, roots="article, .sidebar-tree")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("page", PAGES)
def test_the_page_is_readable(site: Path, page: str, dark: bool, tmp_path: Path) -> None:
    found = seen(site, page, tmp_path, dark)
    assert found["wrong"] == []
    assert found["texts"] > 20
    assert found["width"] <= WIDTH
    for image in found["images"]:
        path = PICTURES / Path(image["src"]).name
        if path.is_file():
            assert image["width"] >= min(COLUMN, natural_width(path.read_text(encoding="utf-8")))


def test_every_picture_is_on_a_page() -> None:
    said = "".join(path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md"))
    assert [path.name for path in PICTURES.glob("*.svg") if f"pictures/{path.name}" not in said] == []
