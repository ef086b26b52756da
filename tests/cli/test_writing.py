"""Replacing a file: whole or not at all, and never what somebody else has written meanwhile."""

import os
import stat
from io import FileIO
from pathlib import Path

import pytest

from pllm_lang.cli import writing
from pllm_lang.cli.writing import replace_decoded, replace_text


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "plan.pllm"
    path.write_text("theirs")
    assert not replace_decoded(str(path), "mine", "fixed")
    assert path.read_text() == "theirs"


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plan.pllm"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        replace_text(str(path), "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["plan.pllm"]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755])
def test_the_mode_stays(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "plan.pllm"
    path.write_text("old")
    path.chmod(mode)
    replace_text(str(path), "new\r\n")
    assert path.read_bytes() == b"new\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_has_the_rights_of_new_files(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        replace_text(str(tmp_path / "new"), "text")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_a_file_with_several_names_is_whole_or_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plan.pllm"
    path.write_text("the old text")
    (tmp_path / "other").hardlink_to(path)
    replace_text(str(path), "new")
    assert (tmp_path / "other").read_text() == "new"
    put, tries = writing._put, list[bytes]()  # pyright: ignore[reportPrivateUsage]

    def full_once(stream: FileIO, data: bytes) -> None:
        tries.append(data)
        put(stream, data[:2])
        if len(tries) == 1:
            raise OSError(28, "No space left on device")
        put(stream, data)

    monkeypatch.setattr(writing, "_put", full_once)
    with pytest.raises(OSError, match="No space"):
        replace_text(str(path), "newer")
    assert (tmp_path / "other").read_text() == "new"


def test_a_chain_of_links_stays(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "one").symlink_to("real")
    (tmp_path / "two").symlink_to("one")
    replace_text(str(tmp_path / "two"), "new")
    assert (tmp_path / "two").is_symlink()
    assert (tmp_path / "one").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
