"""A name of the library, or a module of it, as text: what it is, how it is imported, and its record as it stands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pllm_lang.catalog.library import Library
from pllm_lang.catalog.load import shipped_library
from pllm_lang.catalog.records import AnyRecord, Component, Record
from pllm_lang.resolve.suggest import did_you_mean
from pllm_lang.resources import stdlib_dir
from pllm_lang.syntax.parse import parse
from pllm_lang.text.source import make_source

DOC = "##"
MODULE = "std."
MAX_OFFERED = 8


def library_text(name: str) -> str | None:
    """Of a declaration by its name, its qualified name or its identifier, or the list of a module; None for what is neither."""
    library = shipped_library()
    keys = library.keys()
    listed = [key for key in keys if key.rpartition(".")[0] == name]
    if listed:
        return "\n".join(_list(library, listed))
    found = [key for key in keys if name in (key, key.rpartition(".")[2]) or name == _id(library, key)]
    record = library.get(found[0]) if found else None
    return None if record is None else "\n".join(_page(found[0], record))


def nearest_name(name: str) -> str:
    """The name or module of the library that was probably meant, as a question, or those that begin so; "" for none."""
    keys = shipped_library().keys()
    modules = {key.rpartition(".")[0] for key in keys}
    names = {*keys, *modules} if name.startswith(MODULE) else {key.rpartition(".")[2] for key in keys}
    begin = sorted(one for one in names if one.startswith(name))[:MAX_OFFERED]
    return did_you_mean(name, names) or (f"what begins so: {', '.join(begin)}" if begin else "")


def _id(library: Library, key: str) -> str:
    record = library.get(key) if key.startswith(MODULE) else None
    return record.id if isinstance(record, Component) else ""


def _list(library: Library, keys: list[str]) -> Iterator[str]:
    width = max(len(key.rpartition(".")[2]) for key in keys)
    for key in keys:
        record = library.get(key)
        words = "" if record is None else " ".join(record.doc.split())
        yield f"{key.rpartition('.')[2]:<{width}}  {words.partition('. ')[0].removesuffix('.')}".rstrip()


def _page(key: str, record: AnyRecord) -> Iterator[str]:
    module, _, name = key.rpartition(".")
    kind = record.kind if isinstance(record, Record) else type(record).__name__.lower()
    brought = "in scope without an import" if kind == "operator" else f"import {module} [{name}]"
    yield f"# {name}: {kind} of {module} ({brought})\n"
    yield _declaration(record)


def _declaration(record: AnyRecord) -> str:
    """The declaration with its documentation, as the file has it."""
    text = (stdlib_dir() / Path(record.origin.file).name).read_text(encoding="utf-8")
    decls = parse(make_source(record.origin.file, text)).file.decls
    decl = next(one for one in decls if one.at <= record.origin.start < one.at + one.end)
    above = text[: decl.at].splitlines()
    n_doc = next((n for n, line in enumerate(reversed(above)) if not line.startswith(DOC)), len(above))
    return "\n".join([*above[len(above) - n_doc :], text[decl.at : decl.at + decl.end].rstrip()])
