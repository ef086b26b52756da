"""Opening: the shipped library (compiled where it is current), and a project with its own records read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec

from pllm_lang.catalog.compile import (
    FILE,
    compile_library,
    constant_value,
    operators_first,
    source_key,
    write,
)
from pllm_lang.catalog.library import Compiled, Library, duplicate_ids
from pllm_lang.catalog.policies import check_tightening
from pllm_lang.catalog.read.memo import Memo
from pllm_lang.catalog.read.module import read_module
from pllm_lang.catalog.records import AnyRecord, Operator
from pllm_lang.resolve.bodies import Uses
from pllm_lang.resolve.modules import Exports, Project
from pllm_lang.resolve.project import Parse, load
from pllm_lang.syntax.parse import parse
from pllm_lang.text.finding import Finding, Label, Span

# Compiled libraries that stay in the user's cache: of the checkouts that were used last.
MAX_CACHED = 8


class Opened(msgspec.Struct, frozen=True):
    """A project, the library with the project's records, and all findings so far."""

    project: Project
    library: Library
    findings: tuple[Finding, ...]


def open_project(
    paths: Sequence[str],
    root: str | None = None,
    buffers: Mapping[str, str] | None = None,
    parse_source: Parse = parse,
    memo: Memo | None = None,
    uses: Uses | None = None,
) -> Opened:
    """Load files with their imports, and read their records. `root`: else the folder of the first file.

    An editor passes a `memo` and `uses` that it keeps, and a `parse_source` that remembers as well.
    """
    base = root if root is not None else os.path.dirname(os.path.abspath(paths[0])) if paths else os.getcwd()
    shipped = shipped_library()
    project = load(paths, base, shipped.exports, buffers, parse_source, uses)
    records, findings = _read_all(project, shipped, memo)
    library = shipped.extended(records)
    found = [
        *shipped.findings,
        *project.findings,
        *findings,
        *_id_findings(records, shipped),
        *check_tightening(records, library),
    ]
    return Opened(project, library, tuple(found))


@cache
def shipped_library() -> Library:
    """The shipped library; resolved from its texts where no compiled form fits them."""
    compiled = _read_compiled(source_key())
    return Library(compiled, _exports(compiled))


def _read_compiled(key: str) -> Compiled:
    for path in (Path(__file__).parent / FILE, _cached(key)):
        try:
            found = msgspec.msgpack.decode(path.read_bytes(), type=Compiled)
        except (OSError, msgspec.DecodeError):
            continue
        if found.key == key:
            return found
    compiled = compile_library()
    _keep(_cached(key), compiled)
    return msgspec.msgpack.decode(msgspec.msgpack.encode(compiled), type=Compiled)


def _keep(target: Path, compiled: Compiled) -> None:
    """Write a library of this checkout to the cache, and drop the oldest; a cache that fails costs only time."""
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write(target, compiled)
        kept = sorted(target.parent.glob("stdlib-*.msgpack"), key=lambda path: path.stat().st_mtime_ns)
        for path in kept[:-MAX_CACHED]:
            path.unlink(missing_ok=True)
    except OSError:
        return


def _cached(key: str) -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "pllm-lang" / f"stdlib-{key[:32]}.msgpack"


def _exports(compiled: Compiled) -> dict[str, Exports]:
    return {
        name: Exports(kinds, {n: constant_value(v) for n, v in compiled.constants[name].items()})
        for name, kinds in compiled.exports.items()
    }


def _read_all(
    project: Project, shipped: Library, memo: Memo | None
) -> tuple[dict[str, AnyRecord], list[Finding]]:
    records: dict[str, AnyRecord] = {}
    findings: list[Finding] = []

    def find(key: str) -> Operator | None:
        found = records.get(key)
        return found if isinstance(found, Operator) else shipped.operator(key)

    for name in operators_first(project):
        if name not in shipped.exports:
            read, problems = read_module(project.modules[name], find, memo)
            records.update(read)
            findings += problems
    return records, findings


def _id_findings(records: Mapping[str, AnyRecord], shipped: Library) -> list[Finding]:
    return [
        Finding(
            "records.duplicate_id",
            f'the id "{later.id}" belongs to `{earlier.name}` already',
            Span(later.origin.file, later.origin.start, later.origin.end),
            labels=(
                Label(
                    Span(earlier.origin.file, earlier.origin.start, earlier.origin.end),
                    "the component that has it",
                ),
            ),
            help="give the component an id of its own",
        )
        for later, earlier in duplicate_ids(records.values(), shipped)
    ]
