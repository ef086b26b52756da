"""Which files a call means, and which other files of the project depend on them.

A file depends on another when it mentions its path in a string: imports, model configs and facts files are all
written as paths in strings, so this finds too much at worst, never too little.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import pathspec

SUFFIX = ".pllm"
ALWAYS_SKIPPED = frozenset(
    {".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".tox", "build", "dist"}
)
MAX_SCANNED_BYTES = 4_000_000
MAX_NAME_BYTES = 5_000
"""Bytes of a string that may name a file: no system takes a longer path."""

_STRING = re.compile(rb'"(?:[^"\\\n]|\\.)*"')


class NoSuchPathError(Exception):
    """A path of the call does not exist; the text says so."""


MAX_FOLDERS = 2_000
"""Folders that are searched below one that nobody named: a document may lie in the root of a disk."""


class BadNameError(Exception):
    """A file's name is not text, so no document could say which file is meant."""


def files_of(
    paths: Sequence[str], root: str, exclude: Sequence[str], force_exclude: bool = False
) -> list[str]:
    """The plan files that `paths` mean (files as they are, folders and globs searched), sorted, without doubles.

    A file that is named is meant, excluded or not, unless `force_exclude` says otherwise (for hooks).
    Raises NoSuchPathError for a path that is not there or a pattern that matches nothing, BadNameError for a name that is
    not UTF-8.
    """
    spec = _patterns(exclude)
    found: dict[str, None] = {}
    for path in paths:
        for one in _expand(path):
            if os.path.isdir(one):
                found.update(dict.fromkeys(_under(one, root, spec)))
            elif (one == path and not force_exclude) or not _excluded(one, root, spec):
                found[one] = None
    return sorted(map(_text_name, found))


def files_near(folder: str, root: str, exclude: Sequence[str]) -> list[str]:
    """The plan files below a folder that nobody named: as far as MAX_FOLDERS go, without those whose names are no text."""
    spec = _patterns(exclude)
    walked = islice(_walk(folder, root, spec), MAX_FOLDERS)
    found = [path for base, names in walked for path in _plans_of(base, names, root, spec)]
    return sorted(path for path in found if _is_text(path))


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text_name(path: str) -> str:
    try:
        path.encode()
    except UnicodeEncodeError as problem:
        shown = path.encode("utf-8", "backslashreplace").decode()
        raise BadNameError(f"the name of the file {shown} is not UTF-8: rename it") from problem
    return path


def _patterns(exclude: Sequence[str]) -> pathspec.GitIgnoreSpec | None:
    if not exclude:
        return None
    import pathspec  # 40 ms: only where patterns are given

    return pathspec.GitIgnoreSpec.from_lines(exclude)


def _expand(path: str) -> list[str]:
    if os.path.exists(path) or os.path.islink(path):
        return [path]
    if any(mark in path for mark in "*?["):
        matches = sorted(glob.glob(path, recursive=True))
        if matches:
            return matches
    raise NoSuchPathError(f"no such file, folder or match: {path}{_plan_of_a_file(path)}")


def _plan_of_a_file(path: str) -> str:
    """What to add where a call names a plan, as other commands take it."""
    file = path.rpartition(":")[0]
    return f"; a file is taken as a whole: write {file}" if os.path.isfile(file) else ""


def folders_under(folder: str, root: str, exclude: Sequence[str]) -> list[str]:
    """The folders in which plan files below `folder` are sought, itself the first: a new file appears in one of them."""
    return [base for base, _ in _walk(folder, root, _patterns(exclude))]


def searched(path: str) -> str:
    """The folder that is searched for what a path of the call means; "" for a file."""
    if os.path.isdir(path):
        return path
    if os.path.exists(path) or os.path.islink(path):
        return ""
    before = re.split(r"[*?\[]", path, maxsplit=1)[0]
    return os.path.dirname(before) or "."


def _walk(folder: str, root: str, spec: pathspec.GitIgnoreSpec | None) -> Iterator[tuple[str, list[str]]]:
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(
            f
            for f in folders
            if f not in ALWAYS_SKIPPED and not _excluded(os.path.join(base, f) + "/", root, spec)
        )
        yield base, names


def _under(folder: str, root: str, spec: pathspec.GitIgnoreSpec | None) -> Iterable[str]:
    for base, names in _walk(folder, root, spec):
        yield from _plans_of(base, names, root, spec)


def _beside(folder: str, root: str, spec: pathspec.GitIgnoreSpec | None) -> Iterable[str]:
    """The same of a folder alone; of one that cannot be read, nothing."""
    try:
        with os.scandir(folder) as found:
            names = [one.name for one in found if not one.is_dir(follow_symlinks=False)]
    except OSError:
        return ()
    return _plans_of(folder, names, root, spec)


def _plans_of(
    base: str, names: Iterable[str], root: str, spec: pathspec.GitIgnoreSpec | None
) -> Iterator[str]:
    for name in sorted(names):
        path = os.path.join(base, name)
        if name.endswith(SUFFIX) and not _excluded(path, root, spec):
            yield os.path.normpath(path)


def _excluded(path: str, root: str, spec: pathspec.GitIgnoreSpec | None) -> bool:
    if spec is None:
        return False
    relative = os.path.relpath(path, root)
    if relative.startswith(".."):
        return False
    return spec.match_file(relative + ("/" if path.endswith("/") else ""))


class Dependents(msgspec.Struct, frozen=True):
    """`wanted` plan files, and every file and folder that was `looked_at` to know them."""

    wanted: list[str]
    looked_at: list[str]


def with_dependents(
    changed: Sequence[str], root: str, exclude: Sequence[str], below: bool = True
) -> Dependents:
    """`changed` plan files and every plan file under `root` that depends on a changed file, directly or through others.

    `changed` may hold files that are no plans (a model config, a facts file): only their dependents are given. Without
    `below`, those are sought in `root` itself: a folder that nothing marks as a project may have anything below it.
    """
    spec = _patterns(exclude)
    project = list(_under(root, root, spec) if below else _beside(root, root, spec))
    users = _users_by_file(project)
    wanted = {os.path.abspath(path): path for path in changed}
    queue = list(wanted)
    while queue:
        for user in users.get(os.path.realpath(queue.pop()), ()):
            if user not in wanted:
                wanted[user] = os.path.relpath(user)
                queue.append(user)
    return Dependents(
        sorted(_text_name(path) for path in wanted.values() if path.endswith(SUFFIX)),
        [*project, *(folders_under(root, root, exclude) if below else (root,))],
    )


def _users_by_file(paths: Iterable[str]) -> dict[str, list[str]]:
    """By the file that a name leads to, through links too."""
    users: dict[str, list[str]] = {}
    for path in paths:
        user = os.path.abspath(path)
        for mentioned in mentioned_files(user):
            users.setdefault(os.path.realpath(mentioned), []).append(user)
    return users


def mentioned_files(path: str) -> list[str]:
    """Absolute paths of the files whose names stand in strings of the file `path`."""
    if not os.path.isfile(path):
        return []  # a pipe or a device would never end
    try:
        with open(path, "rb") as stream:
            content = stream.read(MAX_SCANNED_BYTES)
    except OSError:
        return []
    folder = os.path.dirname(path)
    names = {_spelt(match) for match in _STRING.findall(content) if len(match) <= MAX_NAME_BYTES}
    return [
        os.path.normpath(os.path.join(folder, name)) for name in sorted(names) if name and "\0" not in name
    ]


def _spelt(literal: bytes) -> str:
    """The text that a string spells, escapes undone; as it is written where they are none of JSON."""
    try:
        return msgspec.json.decode(literal, type=str)
    except msgspec.DecodeError:
        return literal[1:-1].decode("utf-8", "replace")
