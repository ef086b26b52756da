"""What a call of `check` asks for."""

from __future__ import annotations

import msgspec

from pllm_lang.cli.config import Settings


class Call(msgspec.Struct, frozen=True):
    """`files` of one project, of which `named` were asked for and the others depend on them; `watched` files and folders decided
    which; `buffers` texts that replace files; `mark` the byte order mark that the standard input began with."""

    settings: Settings
    files: tuple[str, ...]
    watched: tuple[str, ...] = ()
    buffers: dict[str, str] = {}
    named: tuple[str, ...] = ()
    mark: bytes = b""


class Wanted(msgspec.Struct, frozen=True):
    """Which warnings and notes are shown, and how; in how many processes files are checked. Nothing here touches an error."""

    format: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    baseline: str = ""
    update_baseline: bool = False
    statistics: bool = False
    jobs: int = 1
