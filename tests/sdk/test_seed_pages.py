"""Every Python example of the two seed pages runs, with only its import lines changed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from pllm_lang.runtime.fallback import NumpyKernels
from tests.runtime.backends import kernels_of, using
from tests.sdk.python_blocks import blocks_of, run_block

ROOT = Path(__file__).parents[2]
SEEDS = ROOT / "tests" / "data" / "seeds"
FIXTURE = Path("schemas", "fixtures", "compile-request.valid.json")
IMPORT = re.compile(r"^(from|import) pllm\b")

# The kernels here are C++, so the page's own line cannot hold; `docs/reference/python.md` says so.
THEIR_KERNELS = 'assert installed["implementation"] in {"rust", "python-reference"}'
OUR_KERNELS = 'assert installed["implementation"] in {"cpp-cppyy", "python-reference"}'

EXAMPLES = {page: blocks_of(SEEDS / f"{page}.txt") for page in ("compiler", "kernels")}
CASES = [(page, number) for page, blocks in EXAMPLES.items() for number in range(len(blocks))]
ON_C_PLUS_PLUS = [
    pytest.param(page, number, "cpp", marks=pytest.mark.system) for page, number in CASES if page == "kernels"
]
RUNS = [*((page, number, "numpy") for page, number in CASES), *ON_C_PLUS_PLUS]


def rewritten(text: str) -> str:
    lines = (IMPORT.sub(r"\1 pllm_lang", line) for line in text.splitlines(keepends=True))
    return "".join(lines).replace(THEIR_KERNELS, OUR_KERNELS)


def test_the_pages_have_the_examples_that_we_know_of() -> None:
    assert {page: len(blocks) for page, blocks in EXAMPLES.items()} == {"compiler": 7, "kernels": 4}


@pytest.mark.parametrize(("page", "number"), CASES)
def test_only_imports_and_one_named_line_are_changed(page: str, number: int) -> None:
    before = EXAMPLES[page][number]
    lines = list(zip(before.splitlines(), rewritten(before).splitlines(), strict=True))
    changed = [old for old, new in lines if old != new]
    assert changed
    assert all(IMPORT.match(line) or line == THEIR_KERNELS for line in changed)


@pytest.mark.parametrize(("page", "number", "backend"), RUNS)
def test_example(
    page: str, number: int, backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / FIXTURE).parent.mkdir(parents=True)
    shutil.copy(ROOT / FIXTURE, tmp_path / FIXTURE)
    monkeypatch.chdir(tmp_path)
    with using(kernels_of(backend)):
        run_block(rewritten(EXAMPLES[page][number]), f"{page}_{number}")


def test_numpy_serves_where_there_is_no_c_plus_plus_and_says_so() -> None:
    with using(NumpyKernels("there is no compiler")):
        scope = run_block(rewritten(EXAMPLES["kernels"][3]), "capabilities")
    assert scope["installed"]["implementation"] == "python-reference"
    assert scope["installed"]["compiled"] is False
    assert scope["installed"]["reason"] == "there is no compiler"
