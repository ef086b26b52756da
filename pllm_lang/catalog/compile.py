"""The shipped library, resolved once and kept beside its text.

In: `stdlib/*.pllm`. Out: `_stdlib.msgpack`, keyed by a digest of those texts and of the code that reads them.
A library whose texts changed is resolved afresh, never read stale.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import msgspec

from pllm_lang.catalog.digest import record_digest
from pllm_lang.catalog.expr import Expr, ListOf, Num, Ref, Text
from pllm_lang.catalog.library import Compiled, index
from pllm_lang.catalog.read.expressions import constant_expr
from pllm_lang.catalog.read.module import read_module
from pllm_lang.catalog.records import AnyRecord, Operator
from pllm_lang.resolve.locate import shipped_modules
from pllm_lang.resolve.modules import ConstValue, Project
from pllm_lang.resolve.project import load_shipped
from pllm_lang.resources import grammar_dir, stdlib_dir
from pllm_lang.text.finding import Severity

FILE = "_stdlib.msgpack"
_PACKAGE = Path(__file__).resolve().parent.parent
_CODE = ("text", "syntax", "resolve", "catalog", "catalog/read")


class BrokenLibrary(Exception):
    """The shipped library has errors; the text lists them. Only a build raises this."""


def build(target_dir: str | os.PathLike[str]) -> Path:
    """Resolve the shipped library and write it into `target_dir`; raises BrokenLibrary if it has errors."""
    compiled = compile_library()
    errors = [f for f in compiled.findings if f.severity is Severity.ERROR]
    if errors:
        raise BrokenLibrary("\n".join(f"{f.span.file}@{f.span.start}: {f.code}: {f.message}" for f in errors))
    target = Path(target_dir) / FILE
    write(target, compiled)
    return target


def write(target: Path, compiled: Compiled) -> None:
    """Write atomically, so that a reader never sees half a file."""
    partial = target.with_name(f"{target.name}.{os.getpid()}")
    partial.write_bytes(msgspec.msgpack.encode(compiled))
    partial.replace(target)


def source_key() -> str:
    """Names the texts of the library and the code that reads them."""
    digest = hashlib.sha256()
    for folder in (*(_PACKAGE / part for part in _CODE), grammar_dir()):
        for part in _contents(str(folder), (".py", ".lark"), deep=False):
            digest.update(part)
    for part in _contents(str(stdlib_dir()), (".pllm",), deep=True):
        digest.update(part)
    return digest.hexdigest()


def compile_library() -> Compiled:
    """The library from its texts, with whatever findings they give."""
    key = source_key()
    project = load_shipped(shipped_modules())
    records: dict[str, AnyRecord] = {}
    findings = list(project.findings)

    def find(wanted: str) -> Operator | None:
        found = records.get(wanted)
        return found if isinstance(found, Operator) else None

    for name in operators_first(project):
        read, problems = read_module(project.modules[name], find)
        records.update(read)
        findings += problems
    kinds, ids, methods = index(records)
    digests = {k: record_digest(k, records.get) for k in records}
    whole = hashlib.sha256(msgspec.json.encode(sorted(digests.items()))).hexdigest()
    encode = msgspec.msgpack.encode
    return Compiled(
        key=key,
        digest=whole,
        exports={name: _kinds(project, name) for name in project.modules},
        constants={name: _constants(project, name) for name in project.modules},
        kinds=kinds,
        ids=ids,
        methods=methods,
        digests=digests,
        raw={k: msgspec.Raw(encode(record)) for k, record in records.items()},
        findings=tuple(findings),
    )


def operators_first(project: Project) -> list[str]:
    """Modules, those that declare operators first: components read the operators that they implement."""
    declares = {
        n: any(b.kind == "operator" and b.module == n for b in m.scope.values())
        for n, m in project.modules.items()
    }
    return sorted(project.modules, key=lambda n: not declares[n])


def constant_value(expr: Expr) -> ConstValue:
    """Back from `constant_expr`."""
    match expr:
        case Num():
            number = Fraction(expr.value)
            return number.numerator if number.denominator == 1 else number
        case Text():
            return expr.value
        case ListOf():
            return tuple(map(constant_value, expr.items))
        case Ref():
            return expr.name == "true"
        case _:
            raise TypeError(expr)


def _kinds(project: Project, name: str) -> dict[str, str]:
    return {n: b.kind for n, b in project.modules[name].scope.items() if b.module == name}


def _constants(project: Project, name: str) -> dict[str, Expr]:
    module = project.modules[name]
    own = {n for n, b in module.scope.items() if b.module == name}
    return {n: constant_expr(v) for n, v in module.constants.items() if n in own}


def _contents(folder: str, endings: tuple[str, ...], deep: bool) -> Iterator[bytes]:
    """Names and contents of a folder's files, in order of name."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda e: e.name):
            if entry.name.endswith(endings):
                with open(entry.path, "rb") as stream:
                    content = stream.read()
                yield f"{entry.name} {len(content)}\n".encode()
                yield content
            elif deep and entry.is_dir():
                yield f"{entry.name}/\n".encode()
                yield from _contents(entry.path, endings, deep)
