"""A file that a call names: that it is there, and its first bytes; else one sentence that says why it gives nothing."""

from __future__ import annotations

from pllm_lang.cli.app import BAD_CALL
from pllm_lang.text.regular_file import not_a_file


class NotGivenError(Exception):
    """What a call names gives nothing. The text says why; `status` is what the command ends with."""

    def __init__(self, message: str, status: int = BAD_CALL) -> None:
        super().__init__(message)
        self.status = status


def need_file(path: str) -> None:
    """Raises NotGivenError where `path` is no regular file."""
    why = not_a_file(path)
    if why is None:
        return
    if why.code == "file.missing":
        raise NotGivenError(f"no such file: {path}")
    raise NotGivenError(f"{path}: {why.message}; {why.help}")


def head_of(path: str, limit: int) -> bytes:
    """The file, but at most one byte more than `limit`: what reads it refuses a larger one. Raises NotGivenError."""
    need_file(path)
    try:
        with open(path, "rb") as stream:
            return stream.read(limit + 1)
    except OSError as problem:
        raise NotGivenError(f"cannot read {path}: {problem.strerror}") from None
