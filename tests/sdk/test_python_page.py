"""The reference page of the Python interface: its blocks are one program, and its names are all that there are."""

from __future__ import annotations

import importlib
import shutil
from pathlib import Path

import pytest

import pllm_lang
from pllm_lang.runtime.fallback import NumpyKernels
from tests.runtime.backends import using
from tests.sdk.python_blocks import blocks_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "python.md"
FIXTURE = Path("schemas", "fixtures", "compile-request.valid.json")


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / FIXTURE).parent.mkdir(parents=True)
    shutil.copy(ROOT / FIXTURE, tmp_path / FIXTURE)
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {"__name__": "page"}
    blocks = blocks_of(PAGE)
    assert len(blocks) >= 8
    with using(NumpyKernels("test")):
        for number, text in enumerate(blocks, 1):
            exec(compile(text, f"<python.md, block {number}>", "exec"), scope)


def test_the_page_names_every_public_name() -> None:
    text = PAGE.read_text(encoding="utf-8")
    missing = {name for name in pllm_lang.__all__ if name not in text}
    for module in ("nonlinear", "passes", "sources", "kernels"):
        public = importlib.import_module(f"pllm_lang.{module}").__all__
        missing |= {name for name in public if name not in text}
    assert missing <= {"PlanPass", "NonlinearProtocol"}
