"""What a call of `check` asks for."""

from __future__ import annotations

import msgspec

from pllm_lang.cli.config import Settings


class Call(msgspec.Struct, frozen=True):
    """`files` of one project; `watched` files and folders decided which; `buffers` texts that replace files."""

    settings: Settings
    files: tuple[str, ...]
    watched: tuple[str, ...] = ()
    buffers: dict[str, str] = {}
