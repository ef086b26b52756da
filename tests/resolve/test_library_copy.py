"""A checkout's `stdlib/` beside an installed package: equal copies are the library's modules, edited ones a project's."""

import shutil
from pathlib import Path

from pllm_lang.resolve.locate import locate_main
from pllm_lang.resources import stdlib_dir


def test_an_equal_copy_is_the_module_of_the_library(tmp_path: Path) -> None:
    copy = tmp_path / "stdlib" / "formats.pllm"
    copy.parent.mkdir()
    shutil.copy(stdlib_dir() / "formats.pllm", copy)
    assert locate_main(str(copy), str(tmp_path)).name == "std.formats"


def test_an_edited_copy_is_a_file_of_the_project(tmp_path: Path) -> None:
    copy = tmp_path / "stdlib" / "formats.pllm"
    copy.parent.mkdir()
    copy.write_text((stdlib_dir() / "formats.pllm").read_text() + "# edited\n")
    assert locate_main(str(copy), str(tmp_path)).name == "./stdlib/formats"


def test_a_file_of_another_folder_is_a_file_of_the_project(tmp_path: Path) -> None:
    copy = tmp_path / "formats.pllm"
    shutil.copy(stdlib_dir() / "formats.pllm", copy)
    assert locate_main(str(copy), str(tmp_path)).name == "./formats"
