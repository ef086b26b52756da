"""Text to a file or to the standard output, the same bytes on every platform."""

from __future__ import annotations

import sys

import click


def write_text(text: str, path: str | None) -> bool:
    """Write `text`; False after a message where the file cannot be written."""
    if path is not None:
        return write_file(text, path)
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8"))
    return True


def write_file(text: str, path: str) -> bool:
    """Write `text` in place of the file; False after a message where that cannot be done."""
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as problem:
        click.echo(f"cannot write {path}: {problem.strerror}", err=True)
        return False
    return True
