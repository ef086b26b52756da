"""Configuration: `pllm.toml`, or `[tool.pllm]` of `pyproject.toml`, of the nearest folder that has one.

Gives the project root as well: the folder of that file, else of `.git`, else the folder itself, which then is a
project of its own files and of nothing below. Nothing here can weaken a verdict: `select`, `ignore` and `exclude` touch
warnings, notes and the files looked at.
"""

from __future__ import annotations

import os
import tomllib
from typing import Any, cast

import msgspec

MAX_CONFIG_BYTES = 1_000_000


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """What `[tool.pllm]` may say; `exclude` uses the patterns of .gitignore."""

    exclude: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    format: str = ""


class Settings(msgspec.Struct, frozen=True):
    """`read` lists every file whose content or absence decided this; `marked` says that something marks the root."""

    root: str
    config: Config
    read: tuple[str, ...]
    marked: bool = True


class BadConfigError(Exception):
    """The configuration cannot be used; the text says which file and why."""


def find_settings(start: str) -> Settings:
    """Settings for files under folder `start`; raises BadConfigError."""
    read: list[str] = []
    folder = os.path.abspath(start)
    fallback = ""
    while True:
        for name, table in (("pllm.toml", ()), ("pyproject.toml", ("tool", "pllm"))):
            path = os.path.join(folder, name)
            read.append(path)
            found = _read_table(path, table)
            if found is not None:
                return Settings(folder, _convert(path, found), tuple(read))
        if not fallback:
            git = os.path.join(folder, ".git")
            fallback = folder if os.path.exists(git) else ""
            head = os.path.join(git, "HEAD")
            # what else stands in the folder changes all the time and decides nothing
            read.append(head if os.path.isfile(head) else git)
        parent = os.path.dirname(folder)
        if parent == folder:
            return Settings(fallback or os.path.abspath(start), Config(), tuple(read), marked=bool(fallback))
        folder = parent


def _read_table(path: str, keys: tuple[str, ...]) -> dict[str, Any] | None:
    try:
        if os.path.getsize(path) > MAX_CONFIG_BYTES:
            raise BadConfigError(f"{path}: larger than {MAX_CONFIG_BYTES} bytes")
        with open(path, "rb") as stream:
            table: Any = tomllib.load(stream)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        if keys:
            return None  # somebody else's broken pyproject.toml is not ours to judge
        raise BadConfigError(f"{path}: {problem}") from problem
    for key in keys:
        table = cast("dict[str, Any]", table).get(key) if isinstance(table, dict) else None
        if table is None:
            return None
    return cast("dict[str, Any]", table)


def _convert(path: str, table: dict[str, Any]) -> Config:
    try:
        return msgspec.convert(table, Config)
    except msgspec.ValidationError as problem:
        raise BadConfigError(f"{path}: {problem}") from problem
