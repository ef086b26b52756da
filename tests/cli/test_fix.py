"""`pllm check --fix` as a user calls it: what is written, what never is, and what stays as it was."""

import os
import stat
from pathlib import Path

import pytest

from pllm_lang.cli import fixing
from pllm_lang.cli.call import Call, Wanted
from pllm_lang.cli.config import Config, Settings
from pllm_lang.cli.fixing import fix_call
from tests.cli.process import pllm
from tests.corpus_harness import corpus_files

# An unused import (safe), a missing import (safe), and a step that nothing covers (unsafe).
BAD = """pllm 1

import std.formats [int8, int16]

plan p {
  input x: int8[4] from client where abs(x) <= 9
  y = cast(x, to: int32) @ client
  z = neg(x)
  output y to client
  output z to client
}
"""
SAFE = BAD.replace("int16", "int32")
ALL = SAFE.replace("z = neg(x)", "z = neg(x) using local_total").replace(
    "int32]\n", "int32]\nimport std.methods [local_total]\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bad.pllm").write_text(BAD)
    return tmp_path


def test_safe_fixes_are_applied_and_the_rest_is_told(folder: Path) -> None:
    done = pllm(folder, "check", "--fix", "bad.pllm")
    assert (folder / "bad.pllm").read_text() == SAFE
    assert done.returncode == 1
    assert "coverage.no_component" in done.stdout
    assert "names." not in done.stdout
    assert "2 fixes in 1 file applied" in done.stderr


def test_unsafe_fixes_are_applied_when_they_are_asked_for(folder: Path) -> None:
    done = pllm(folder, "check", "--fix", "--unsafe-fixes", "bad.pllm")
    assert (folder / "bad.pllm").read_text() == ALL
    assert done.returncode == 0
    assert pllm(folder, "check", "bad.pllm").returncode == 0


def test_fixing_twice_changes_nothing_more(folder: Path) -> None:
    pllm(folder, "check", "--fix", "bad.pllm")
    done = pllm(folder, "check", "--fix", "bad.pllm")
    assert (folder / "bad.pllm").read_text() == SAFE
    assert "0 fixes applied; 1 finding more by `--unsafe-fixes`" in done.stderr


def test_diff_writes_nothing(folder: Path) -> None:
    done = pllm(folder, "check", "--diff", "bad.pllm")
    assert done.returncode == 1
    assert "\n-import std.formats [int8, int16]\n+import std.formats [int8, int32]\n" in done.stdout
    assert (folder / "bad.pllm").read_text() == BAD
    unsafe = pllm(folder, "check", "--diff", "--unsafe-fixes", "bad.pllm")
    assert "+  z = neg(x) using local_total\n" in unsafe.stdout
    assert (folder / "bad.pllm").read_text() == BAD


def test_a_refused_plan_without_a_fix_does_not_pass_with_diff(folder: Path) -> None:
    (folder / "bad.pllm").write_text(SAFE)
    assert pllm(folder, "check", "--diff", "bad.pllm").returncode == 1


def test_unsafe_alone_is_a_wrong_call(folder: Path) -> None:
    assert pllm(folder, "check", "--unsafe-fixes", "bad.pllm").returncode == 2
    assert (folder / "bad.pllm").read_text() == BAD


def test_standard_input_gives_the_fixed_text(folder: Path) -> None:
    done = pllm(folder, "check", "--fix", "-", "--stdin-filename", "bad.pllm", stdin=BAD)
    assert done.stdout == SAFE
    assert done.returncode == 1
    assert "coverage.no_component" in done.stderr
    assert (folder / "bad.pllm").read_text() == BAD


def test_only_files_of_the_call_change(folder: Path) -> None:
    (folder / "formats.pllm").write_text("pllm 1\n\nformat narrow = int(-10, 10)\n")
    user = SAFE.replace("import", 'import "formats.pllm" [narrow]\nimport', 1)
    (folder / "user.pllm").write_text(user)
    done = pllm(folder, "check", "--fix", "formats.pllm")
    assert "user.pllm" in done.stdout, "a plan that uses the file is checked with it"
    assert (folder / "user.pllm").read_text() == user, "and is not changed"


def test_suppressed_and_ignored_findings_are_not_fixed(folder: Path) -> None:
    text = SAFE.replace("int32]\n", "int32, int64]  # pllm: allow[names.unused] for the next layer\n")
    (folder / "bad.pllm").write_text(text)
    pllm(folder, "check", "--fix", "bad.pllm")
    assert (folder / "bad.pllm").read_text() == text
    (folder / "bad.pllm").write_text(text.split("  #")[0] + text[text.index("\n\nplan") :])
    before = (folder / "bad.pllm").read_text()
    pllm(folder, "check", "--fix", "--ignore", "names.unused", "bad.pllm")
    assert (folder / "bad.pllm").read_text() == before


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_and_byte_order_mark_stay(bom: bytes, end: str, folder: Path) -> None:
    path = folder / "bad.pllm"
    path.write_bytes(bom + BAD.replace("\n", end).encode())
    pllm(folder, "check", "--fix", "--unsafe-fixes", "bad.pllm")
    assert path.read_bytes() == bom + ALL.replace("\n", end).encode()


def test_a_line_more_in_a_file_of_other_line_ends(folder: Path) -> None:
    """What stands behind it moves by one character more: the findings there are the same."""
    text = BAD.replace("z = neg(x)", "z = neg(x)\n  v = exp(x)").replace("output z", "output v\n  output z")
    fixed: list[str] = []
    for end in ("\n", "\r\n"):
        (folder / "bad.pllm").write_bytes(text.replace("\n", end).encode())
        pllm(folder, "check", "--fix", "--unsafe-fixes", "bad.pllm")
        fixed.append((folder / "bad.pllm").read_bytes().decode())
    assert "import std.methods" in fixed[0]
    assert fixed[1] == fixed[0].replace("\n", "\r\n")


def test_mode_and_links_stay(folder: Path) -> None:
    real = folder / "real.pllm"
    (folder / "bad.pllm").rename(real)
    real.chmod(0o640)
    (folder / "bad.pllm").symlink_to("real.pllm")
    pllm(folder, "check", "--fix", "bad.pllm")
    assert (folder / "bad.pllm").is_symlink()
    assert real.read_text() == SAFE
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert sorted(os.listdir(folder)) == ["bad.pllm", "real.pllm"], "nothing is left behind"


def test_all_names_of_a_file_keep_naming_it(folder: Path) -> None:
    (folder / "same.pllm").hardlink_to(folder / "bad.pllm")
    pllm(folder, "check", "--fix", "bad.pllm")
    assert (folder / "bad.pllm").samefile(folder / "same.pllm")
    assert (folder / "same.pllm").read_text() == SAFE
    assert sorted(os.listdir(folder)) == ["bad.pllm", "same.pllm"]


PAIR = """pllm 1

import std.formats [fx64_16]
import std.methods [fixed_mul_exact]

plan p {
  input x: fx64_16[4] from client where abs(x) <= 2^20
  input y: fx64_16[4] from client where abs(y) <= 2
  v = mul(x, x)
  w = mul(y, y)
  u = mul(y, y) using fixed_mul_exact
  output v to client
  output w to client
  output u to client
}
"""


def test_a_fix_that_fails_in_one_place_is_tried_in_the_next(tmp_path: Path) -> None:
    """With a component the product of `x` would leave its ring, which is an error more; that of `y` would not."""
    fixed = fix_call(call_of(tmp_path / "pair.pllm", PAIR), Wanted(), unsafe=True)
    text = next(iter(fixed.call.buffers.values()))
    assert "w = mul(y, y) using fixed_mul_exact" in text
    assert not fixed.stopped


@pytest.mark.parametrize("path", corpus_files("names") + corpus_files("coverage"), ids=lambda path: path.stem)
def test_one_call_reaches_the_end(path: Path) -> None:
    once = fix_call(call_of(path, path.read_text(encoding="utf-8")), Wanted(), unsafe=True)
    assert not once.stopped
    assert not fix_call(once.call, Wanted(), unsafe=True).titles


def test_a_text_that_nobody_wrote_is_given_up_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fixing, "MAX_SECONDS", 0)
    fixed = fix_call(call_of(tmp_path / "bad.pllm", BAD), Wanted(), unsafe=True)
    assert fixed.stopped
    assert not fixed.changes


def call_of(path: Path, text: str) -> Call:
    settings = Settings(str(path.parent), Config(), ())
    return Call(settings, (str(path),), buffers={str(path): text}, named=(str(path),))


def test_many_safe_fixes_go_together(folder: Path) -> None:
    names = ["act8", "fx64_16", "fx64_18", "int16", "int32", "int64", "q7", "ring64", "weight8"]
    (folder / "bad.pllm").write_text(
        f"pllm 1\n\nimport std.formats [{', '.join(names)}]\nimport std.methods [local_total]\n\nconst a = 1\n"
    )
    done = pllm(folder, "check", "--fix", "bad.pllm")
    assert (folder / "bad.pllm").read_text() == "pllm 1\n\n\nconst a = 1\n"
    assert done.returncode == 0


def test_an_unused_suppression_goes_with_its_line(folder: Path) -> None:
    text = (
        "pllm 1\n\n# pllm: allow[names.unused] no more\nconst a = 1  # pllm: allow[names.unused] nor here\n"
    )
    (folder / "bad.pllm").write_text(text)
    pllm(folder, "check", "--fix", "bad.pllm")
    assert (folder / "bad.pllm").read_text() == "pllm 1\n\nconst a = 1\n"


def test_an_accepted_answer_after_a_fix_is_the_answer_of_a_fresh_check(folder: Path) -> None:
    done = pllm(folder, "check", "--fix", "--unsafe-fixes", "--format", "json", "bad.pllm")
    assert pllm(folder, "check", "--no-cache", "--format", "json", "bad.pllm").stdout == done.stdout


def test_from_a_plan_without_imports_to_an_accepted_one(tmp_path: Path) -> None:
    """What an unknown name hid is no error that its import adds: the fixes go on from there."""
    body = "  input x: int8[1, 64] from client\n  weight w: int8[32, 64] public\n  y = linear(x, w)\n  output y\n"
    text = f"pllm 1\nplan mine {{\n{body}}}\n"
    (tmp_path / "mine.pllm").write_text(text)
    told = pllm(tmp_path, "check", "mine.pllm")
    assert "fix (unsafe): Import `int8` from `std.formats`" in told.stdout
    done = pllm(tmp_path, "check", "--fix", "--unsafe-fixes", "mine.pllm")
    assert done.returncode == 0, done.stdout
    assert pllm(tmp_path, "check", "mine.pllm").returncode == 0
