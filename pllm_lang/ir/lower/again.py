"""Lowering again after an edit: statements before the first changed one cost nothing.

In: the session of the last lowering and the edited plan. Out: what `lower_plan` would give, and the next
session. Every table of the context only grows, so the state before a statement is a handful of lengths
(`Mark`); rolling back cuts the tables to them. A statement is unchanged when it is equal with its place,
because places are in the source map; text after an edit has moved, and is lowered afresh. A session is of
no use once the declarations around the plan have changed; then everything is lowered afresh.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import Any

import msgspec

from pllm_lang.catalog.library import Library
from pllm_lang.ir.lower.body import arrange, lower_statement
from pllm_lang.ir.lower.context import Accesses, Context, Named
from pllm_lang.ir.lower.plan import Lowered, close_context, open_context, place_of
from pllm_lang.resolve.modules import Module, Project
from pllm_lang.syntax import nodes as syn

_LISTS = (
    "formats", "inputs", "weights", "states", "stages", "constants", "body", "outputs", "stage_inputs",
    "findings", "rebound",
)  # fmt: skip
_TABLES = (
    "format_index", "constant_index", "weight_of", "scales", "values", "parts", "expanded", "signatures",
)  # fmt: skip
_COUNTS = ("next_value", "statements", "loops", "requirements", "suggestions", "stopped")
_lists_of, _tables_of, _counts_of = attrgetter(*_LISTS), attrgetter(*_TABLES), attrgetter(*_COUNTS)


class Mark(msgspec.Struct, frozen=True):
    """The context before a statement: lengths of its tables, its counters, and what changes inside."""

    lists: tuple[int, ...]
    tables: tuple[int, ...]
    counts: tuple[Any, ...]
    names: int
    places: int
    accesses: dict[int, Accesses]


class Session(msgspec.Struct):
    """A lowering that can be taken up again; `marks[i]` is the state before `statements[i]`."""

    context: Context
    around: tuple[Any, ...]
    statements: tuple[syn.Stmt, ...]
    marks: list[Mark]


def lower_again(
    project: Project, library: Library, module: str, decl: syn.Plan, before: Session | None = None
) -> tuple[Lowered, Session]:
    """The lowered plan, made from the first changed statement on. `before` is used up."""
    fresh = open_context(project, library, project.modules[module], decl)
    statements = arrange(fresh, decl.body, place_of(decl))
    around = _around(project, library, project.modules[module], decl, fresh)
    if before is None or before.around != around:
        session = Session(fresh, around, statements, [])
    else:
        session = _cut_back(before, statements)
    ctx = session.context
    ctx.modules, ctx.frame.module = project.modules, project.modules[module]
    ctx.frame.body, ctx.frame.later = decl.body, None
    for stmt in statements[len(session.marks) :]:
        session.marks.append(_mark(ctx))
        lower_statement(ctx, stmt)
        if ctx.stopped:
            break
    return _copied(close_context(ctx, project, decl)), session


def _around(
    project: Project, library: Library, module: Module, decl: syn.Plan, fresh: Context
) -> tuple[Any, ...]:
    """All that a lowering reads beside the plan's statements, and what is found before them."""
    blocks = tuple(d for d in module.file.decls if isinstance(d, syn.Block))
    imported = {name: other.digest for name, other in project.modules.items() if name != module.name}
    names = (module.name, module.scope, module.constants)
    return (library, names, blocks, imported, decl.under, decl.at, tuple(fresh.findings), tuple(fresh.facts))


def _cut_back(before: Session, statements: tuple[syn.Stmt, ...]) -> Session:
    """The session as it was before the first statement that differs."""
    same = 0
    for old, new in zip(before.statements[: len(before.marks)], statements, strict=False):
        if old != new:
            break
        same += 1
    same = min(same, _first_unknown(before))
    if same < len(before.marks):
        _roll_back(before.context, before.marks[same])
    return Session(before.context, before.around, statements, before.marks[:same])


def _first_unknown(session: Session) -> int:
    """The first statement with an unknown name: what is said of it depends on the statements that follow."""
    findings = session.context.findings
    first = next((k for k, f in enumerate(findings) if f.code == "names.unknown"), len(findings))
    told = [mark.lists[_LISTS.index("findings")] for mark in session.marks]
    # One that is told before all statements (an unknown policy) keeps none of them.
    return max(bisect_right(told, first) - 1, 0) if first < len(findings) else len(told)


def _copied(lowered: Lowered) -> Lowered:
    """The result with tables of its own, since the session's will be cut and grow again."""
    places = lowered.source_map
    own = msgspec.structs.replace(
        places, values=dict(places.values), parts=dict(places.parts), expanded=dict(places.expanded)
    )
    return msgspec.structs.replace(lowered, source_map=own)


# ---- marks -------------------------------------------------------------------------------------------


def _mark(ctx: Context) -> Mark:
    scope = ctx.frame.scope
    accesses = {state: _copy(seen) for state, seen in ctx.accesses.items()}
    return Mark(
        tuple(map(len, _lists_of(ctx))),
        tuple(map(len, _tables_of(ctx))),
        _counts_of(ctx),
        len(scope.names),
        len(scope.places),
        accesses,
    )


def _copy(seen: Accesses) -> Accesses:
    return Accesses(list(seen.reads), list(seen.writes), dict(seen.fixed_reads), dict(seen.fixed_writes))


def _roll_back(ctx: Context, mark: Mark) -> None:
    scope = ctx.frame.scope
    _restore_names(scope.names, ctx.rebound[mark.lists[_LISTS.index("rebound")] :])
    for name, length in zip(_LISTS, mark.lists, strict=True):
        del getattr(ctx, name)[length:]
    for name, length in zip(_TABLES, mark.tables, strict=True):
        _shorten(getattr(ctx, name), length)
    for name, value in zip(_COUNTS, mark.counts, strict=True):
        setattr(ctx, name, value)
    _shorten(scope.names, mark.names)
    _shorten(scope.places, mark.places)
    ctx.accesses = {state: _copy(seen) for state, seen in mark.accesses.items()}


def _restore_names(names: dict[str, Named], rebound: list[tuple[str, Named | None]]) -> None:
    for name, old in reversed(rebound):
        if old is not None and name in names:
            names[name] = old


def _shorten(table: dict[Any, Any], length: int) -> None:
    while len(table) > length:
        table.popitem()
