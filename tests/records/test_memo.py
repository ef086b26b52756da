"""An editor's memo: only what changed is read again, and nothing else comes out."""

from pathlib import Path

import pytest

from pllm_lang.catalog.load import Opened, open_project
from pllm_lang.catalog.read import module as reading
from pllm_lang.catalog.read.memo import Memo

TEXT = """pllm 1
operator twice {F} (x: F[...s]) -> (y: F[...s]) {
  means y = 2 * x
}
component a = "test/a" {
  kind: method
  version: "1"
  implements: twice
  requires max_abs(y) < 100
}
component b = "test/b" {
  kind: schedule
  version: "1"
}
"""


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the declarations that are read."""
    names: list[str] = []
    inner = reading.read_declaration

    def noting(decl, ctx, find):  # type: ignore[no-untyped-def]
        names.append(decl.name.id)
        return inner(decl, ctx, find)

    monkeypatch.setattr(reading, "read_declaration", noting)
    return names


def open_text(folder: Path, text: str, memo: Memo) -> Opened:
    path = str(folder / "a.pllm")
    return open_project([path], str(folder), {path: text}, memo=memo)


def test_only_what_changed_is_read_again(tmp_path: Path, reads: list[str]) -> None:
    memo: Memo = {}
    open_text(tmp_path, TEXT, memo)
    assert sorted(reads) == ["a", "b", "twice"]
    reads.clear()
    open_text(tmp_path, TEXT, memo)
    assert reads == []
    open_text(tmp_path, TEXT.replace('"test/b"', '"test/c"'), memo)
    assert reads == ["b"]


def test_a_changed_operator_is_noticed_by_its_component(tmp_path: Path, reads: list[str]) -> None:
    memo: Memo = {}
    open_text(tmp_path, TEXT, memo)
    reads.clear()
    opened = open_text(tmp_path, TEXT.replace("(y: F", "(z: F").replace("means y", "means z"), memo)
    assert sorted(reads) == ["a", "twice"]
    assert [f.code for f in opened.findings] == ["names.unknown"]
