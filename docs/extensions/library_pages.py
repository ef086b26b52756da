"""A Sphinx extension: one page for each operator, component, kernel, policy, holding and primitive of the library.

In: the records of `stdlib/` and their text. Out: Markdown below `docs/records/` (never checked in), written before Sphinx reads
its sources. Whatever a page says comes from a record; the text of the record stands below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from sphinx.application import Sphinx

from pllm_lang.catalog.expr import Expr
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.load import shipped_library
from pllm_lang.catalog.records import (
    AnyRecord,
    Clause,
    Component,
    Holding,
    Kernel,
    OperandSpec,
    Operator,
    ParamSpec,
    Policy,
    Record,
)
from pllm_lang.ir.words import show_expr
from pllm_lang.resources import stdlib_dir
from pllm_lang.syntax.nodes import Decl
from pllm_lang.syntax.parse import parse
from pllm_lang.text.source import make_source

SECTIONS = {
    "operator": ("Operators", "What a step of a plan can compute. They are in scope without an import."),
    "component": (
        "Components",
        "How something is done: methods, roles, preparation, state, checks, passes, schedules, metrics.",
    ),
    "kernel": (
        "Kernels",
        "Native code: what it computes, for which processors, and what is known to be wrong with it.",
    ),
    "policy": ("Policies", "Who takes part, who may collude, and what each may learn."),
    "holding": ("Holdings", "How a value lies with several parties."),
    "primitive": ("Primitives", "What protocols assume, and at which level."),
    "pipeline": ("Pipelines", "For each operator of a model, the component that does it."),
    "target": ("Targets", "Machines: instruction sets, memory, cores."),
}


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(app: Sphinx) -> None:
    library = shipped_library()
    root = Path(app.srcdir) / "records"
    pages = {root / "index.md": _overview()}
    for kind, (title, words) in SECTIONS.items():
        keys = sorted(library.keys(kind), key=lambda key: key.rsplit(".", 1)[-1])
        pages[root / kind / "index.md"] = _index(title, words, [(key, library.get(key)) for key in keys])
        for key in keys:
            record = library.get(key)
            assert record is not None
            pages[root / kind / f"{_file_name(key)}.md"] = "\n\n".join(_page(library, key, record)) + "\n"
    for path in root.rglob("*.md"):
        if path not in pages:
            path.unlink()
    for path, text in pages.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        # An unchanged page keeps its time, so that Sphinx does not read it again.
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


# ---- indexes


def _overview() -> str:
    lines = "\n".join(f"{kind}/index" for kind in SECTIONS)
    return (
        "# Records of the library\n\nMade from the text of `stdlib/` when these pages are built; [](../library.md) says which module "
        f"holds what.\n\n```{{toctree}}\n:maxdepth: 1\n\n{lines}\n```\n"
    )


def _index(title: str, words: str, records: list[tuple[str, AnyRecord | None]]) -> str:
    """The pages are found from here and by search: several hundred entries in every page's sidebar would help nobody."""
    rows = [
        f"| [`{_name(key)}`]({_file_name(key)}.md) | {_first_sentence(record)} |" for key, record in records
    ]
    table = "\n".join(["| record | what it is |", "|---|---|", *rows])
    return f"# {title}\n\n{words}\n\n{table}\n"


# ---- pages


def _page(library: Library, key: str, record: AnyRecord) -> Iterable[str]:
    module = key.rpartition(".")[0]
    yield f"---\norphan: true\n---\n\n# {_name(key)}"
    yield _prose(record.doc) or "No description."
    yield (
        f"`{key}`, in scope everywhere."
        if isinstance(record, Operator)
        else f"`import {module} [{_name(key)}]`"
    )
    match record:
        case Operator():
            yield from _operator(library, key, record)
        case Component():
            yield from _component(library, record)
        case Kernel():
            yield from _kernel(record)
        case Policy():
            yield from _policy(record)
        case Holding() | Record():
            yield from _fields(record.fields)
        case _:
            pass
    yield from _text_of(record)


def _operator(library: Library, key: str, record: Operator) -> Iterable[str]:
    yield _operands("Operands", record.operands)
    yield from _params(record.params)
    yield _operands("Results", record.results)
    yield from _clauses("Definition", record.means, lambda one: f"`{one.name} = {show_expr(one.expr)}`")
    yield from _clauses("Every use owes", record.requires, _owed)
    yield from _clauses(
        "Sharper bounds of the result", record.ensures, lambda one: f"`{show_expr(one.expr)}`"
    )
    doers = sorted(library.implementing(key), key=lambda one: one.name)
    if doers:
        yield "## Components that do it"
        yield ", ".join(_link("component", f"{one.module}.{one.name}") for one in doers)


def _component(library: Library, record: Component) -> Iterable[str]:
    rows = [
        ("id", f"`{record.id}`"),
        ("version", record.version),
        ("kind", record.kind),
        (
            "does",
            ", ".join(
                _link("operator", one) for one in record.implements if library.operator(one) is not None
            ),
        ),
        ("roles", ", ".join(record.roles)),
        ("holders of the operands", show_expr(record.n_parties) if record.n_parties is not None else ""),
        ("adversaries", ", ".join(record.adversaries)),
        ("discloses beyond its results", ", ".join(record.reveals)),
        ("computes in", f"`{show_expr(record.carrier)}`" if record.carrier is not None else ""),
        ("fails with probability", f"`{show_expr(record.failure)}`" if record.failure is not None else ""),
        ("needs of the machine", ", ".join(record.host_features)),
        ("memory", f"`{show_expr(record.memory)}`" if record.memory is not None else ""),
    ]
    yield _table("", "", [row for row in rows if row[1]])
    yield from _params(record.params)
    yield from _clauses("Every use owes", record.requires, _owed)
    yield from _clauses("Errors and bounds", record.ensures, lambda one: f"`{show_expr(one.expr)}`")
    yield from _clauses(
        "Intermediate values", record.intermediates, lambda one: f"`{one.name}: {show_expr(one.expr)}`"
    )
    yield from _fields({name: value for name, value in record.fields.items() if name not in {"own_params"}})
    if record.protocol is not None:
        yield "Its protocol is the text below; `pllm check` proves from it what each party computes and sees, and what it costs."


def _kernel(record: Kernel) -> Iterable[str]:
    yield _table("", "", [
        ("id", f"`{record.id}`"),
        ("version", record.version),
        ("operations", ", ".join(f"`{one}`" for one in record.operations)),
        ("variants", ", ".join(f"`{one}`" for one in record.variants)),
    ])  # fmt: skip
    yield from _params(record.params)
    yield from _clauses("Every use owes", record.requires, _owed)
    yield from _fields(record.fields)


def _policy(record: Policy) -> Iterable[str]:
    yield _table("", "", [
        ("parties", ", ".join(f"`{one}`" for one in record.parties)),
        *(("adversary", f"{one.kind}, at most {one.count} of {', '.join(one.among)}") for one in record.adversaries),
        *((f"`{party}` may learn", ", ".join(what)) for party, what in record.learns.items()),
        *((f"{name} security", f"{bits} bits") for name, bits in record.security.items()),
        *(("forbidden", ", ".join(record.forbids)) for _ in record.forbids[:1]),
        *(("tightens", _link("policy", record.tightens)) for _ in [record.tightens][: bool(record.tightens)]),
    ])  # fmt: skip
    yield from _fields(record.fields)


# ---- parts of pages


def _operands(title: str, operands: tuple[OperandSpec, ...]) -> str:
    return f"## {title}\n\n" + _table(
        "name", "type", [(f"`{one.name}`", f"`{_type(one)}`") for one in operands]
    )


def _type(one: OperandSpec) -> str:
    return show_expr(one.format) + (f"[{', '.join(map(show_expr, one.shape))}]" if one.shape else "")


def _params(params: tuple[ParamSpec, ...]) -> Iterable[str]:
    if params:
        yield "## Parameters"
        rows = [(f"`{one.name}`", _accepts(one)) for one in params]
        yield _table("name", "accepts", rows)


def _accepts(one: ParamSpec) -> str:
    allowed = "" if one.allowed is None else f", `{_code(show_expr(one.allowed))}`"
    default = "" if one.default is None else f"; `{_code(show_expr(one.default))}` where it is left out"
    return f"{one.kind}{allowed}{default}"


def _clauses(title: str, clauses: tuple[Clause, ...], shown: Callable[[Clause], str]) -> Iterable[str]:
    if clauses:
        yield f"## {title}"
        yield "\n".join(f"- {shown(one)}" for one in clauses)


def _owed(one: Clause) -> str:
    return f"`{show_expr(one.expr)}`" + (f": {one.reason}" if one.reason else "")


def _fields(fields: dict[str, Expr]) -> Iterable[str]:
    if fields:
        yield "## Stated"
        yield _table(
            "field",
            "value",
            [(f"`{name}`", f"`{_code(show_expr(value))}`") for name, value in fields.items()],
        )


def _text_of(record: AnyRecord) -> Iterable[str]:
    """The record as it stands in the library."""
    name = Path(record.origin.file).name
    text, decls = _declarations(name)
    decl = next(one for one in decls if one.at <= record.origin.start < one.at + one.end)
    yield "## Text"
    yield f"Of `stdlib/{name}`:"
    yield f"```{{code-block}} pllm\n{text[decl.at : decl.at + decl.end].rstrip()}\n```"


@cache
def _declarations(name: str) -> tuple[str, tuple[Decl, ...]]:
    text = (stdlib_dir() / name).read_text(encoding="utf-8")
    return text, parse(make_source(name, text)).file.decls


def _table(left: str, right: str, rows: Iterable[tuple[str, str]]) -> str:
    return "\n".join([f"| {left} | {right} |", "|---|---|", *(f"| {a} | {_cell(b)} |" for a, b in rows)])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _code(text: str) -> str:
    return text.replace("`", "'")


def _prose(doc: str) -> str:
    return doc.strip()


def _first_sentence(record: AnyRecord | None) -> str:
    words = "" if record is None else " ".join(record.doc.split())
    return _cell(words.split(". ")[0].rstrip(".") + "." if words else "")


def _link(kind: str, key: str) -> str:
    return f"[`{_name(key)}`](../{kind}/{_file_name(key)}.md)"


def _name(key: str) -> str:
    return key.rsplit(".", 1)[-1]


def _file_name(key: str) -> str:
    """Two modules may use one name; a page has the module's too where it is not the only one of its kind."""
    return key.removeprefix("std.").replace(".", "-")
