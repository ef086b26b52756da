"""A file is read within limits, or a finding says why not."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllm_lang.syntax.parse import Parsed, parse
from pllm_lang.text.finding import Finding
from pllm_lang.text.limits import MAX_FILE_BYTES
from pllm_lang.text.read import decode_source, read_source
from pllm_lang.text.source import Source


def code(found: Source | Finding) -> str:
    assert isinstance(found, Finding)
    assert found.message
    assert found.help
    return found.code


def test_text_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.pllm"
    path.write_bytes("pllm 1\r\n# é\n".encode())
    found = read_source(path, "a.pllm")
    assert isinstance(found, Source)
    assert (found.name, found.text) == ("a.pllm", "pllm 1\r\n# é\n")


def test_a_byte_order_mark_is_dropped() -> None:
    found = decode_source("a", b"\xef\xbb\xbfpllm 1\n")
    assert isinstance(found, Source)
    assert found.text == "pllm 1\n"


def test_what_is_no_readable_file(tmp_path: Path) -> None:
    assert code(read_source(tmp_path / "none.pllm", "n")) == "file.missing"
    assert code(read_source(tmp_path, "n")) == "file.unreadable"
    assert code(read_source("/dev/zero", "n")) == "file.unreadable"
    assert code(read_source("a\0b", "n")) == "file.unreadable"
    assert code(read_source("x" * 5000, "n")) == "file.unreadable"
    os.mkfifo(tmp_path / "pipe")
    assert code(read_source(tmp_path / "pipe", "n")) == "file.unreadable"


def test_a_large_file_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "large.pllm"
    with path.open("wb") as stream:
        stream.truncate(100_000_000)
    assert code(read_source(path, "n")) == "file.too_large"


def test_a_file_at_the_limit_is_read() -> None:
    assert isinstance(decode_source("a", b" " * MAX_FILE_BYTES), Source)
    assert code(decode_source("a", b" " * (MAX_FILE_BYTES + 1))) == "file.too_large"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"pllm 1\0", "byte 7 of line 1 is NUL: this is no text"),
        (b"pllm 1\n\xff", "byte 1 of line 2 is not UTF-8: 0xff"),
        ("pllm 1".encode("utf-16"), "byte 4 of line 1 is NUL: this is no text"),
        (b"caf\xe9", "byte 4 of line 1 is not UTF-8: 0xe9"),
        (b"\xed\xa0\x80", "byte 1 of line 1 is not UTF-8: 0xed"),
    ],
)
def test_what_is_no_text(data: bytes, message: str) -> None:
    found = decode_source("a", data)
    assert code(found) == "file.not_text"
    assert isinstance(found, Finding)
    assert found.message == message


@given(st.binary(max_size=300))
def test_any_bytes_end_as_a_tree_or_as_findings(data: bytes) -> None:
    found = decode_source("a", data)
    assert isinstance(found, Finding) or isinstance(parse(found), Parsed)
