"""From a file, or bytes, to a `Source`, within limits: a regular file of bounded size, UTF-8, without NUL.

In: a path or bytes, and the name that messages use. Out: a `Source`, or the finding that says why there is
none.
"""

from __future__ import annotations

import os

from pllm_lang.text.finding import Finding, Span
from pllm_lang.text.limits import MAX_FILE_BYTES
from pllm_lang.text.regular_file import Unreadable, read_bytes
from pllm_lang.text.source import Source, make_source

LINE_END = b"\n"
TOO_LARGE = "split it into modules"


def read_source(path: str | os.PathLike[str], name: str) -> Source | Finding:
    """The text of a file. Devices, pipes and folders are not opened; at most MAX_FILE_BYTES are read."""
    data = read_bytes(path, MAX_FILE_BYTES)
    if isinstance(data, Unreadable):
        limit = {"limit": str(MAX_FILE_BYTES)} if data.code == "file.too_large" else {}
        help_ = TOO_LARGE if data.code == "file.too_large" else data.help
        return _finding(data.code, data.message, name, help_, limit)
    return decode_source(name, data)


def decode_source(name: str, data: bytes) -> Source | Finding:
    """The text of bytes. A byte order mark is dropped; line ends stay as they are."""
    if len(data) > MAX_FILE_BYTES:
        message = f"the file has more than {MAX_FILE_BYTES:,} bytes"
        limit = {"limit": str(MAX_FILE_BYTES)}
        return _finding("file.too_large", message, name, TOO_LARGE, limit)
    if (at := data.find(b"\0")) >= 0:
        message = f"{_byte(data, at)} is NUL: this is no text"
        return _finding("file.not_text", message, name, "save the file as UTF-8", {"value": str(at)})
    try:
        return make_source(name, data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        message = f"{_byte(data, error.start)} is not UTF-8: 0x{data[error.start]:02x}"
        return _finding("file.not_text", message, name, "save the file as UTF-8", {"value": str(error.start)})


def _byte(data: bytes, at: int) -> str:
    """A place that does not move with the lines above it."""
    above = data[:at]
    return f"byte {at - above.rfind(LINE_END)} of line {above.count(LINE_END) + 1}"


def _finding(code: str, message: str, name: str, help: str, data: dict[str, str] | None = None) -> Finding:
    return Finding(code, message, Span(name, 0, 0), help=help, data=data or {})
