"""Findings of lowering, and the places they speak of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pllm_lang.catalog.expr import Origin
from pllm_lang.ir.lower.context import Context
from pllm_lang.ir.lower.limits import MAX_SUGGESTIONS, MAX_WRITTEN
from pllm_lang.resolve.constants import Fault
from pllm_lang.resolve.suggest import did_you_mean, import_help, modules_of
from pllm_lang.resolve.unused_imports import local_name
from pllm_lang.syntax.nodes import Anchor, Import, Node
from pllm_lang.text.finding import Finding, Fix, Label, Severity, Span


def span_of(ctx: Context, anchor: Anchor, node: Node | None = None) -> Span:
    """The place of `node` inside `anchor`, or of the whole anchor."""
    file = ctx.frame.module.source.name
    if node is None:
        return Span(file, anchor.at, anchor.at + anchor.end)
    return Span(file, anchor.at + node.start, anchor.at + node.end)


def origin_of(ctx: Context, anchor: Anchor, node: Node | None = None) -> Origin:
    file = ctx.frame.module.source.name
    if node is None:
        return Origin(file, anchor.at, anchor.at + anchor.end)
    return Origin(file, anchor.at + node.start, anchor.at + node.end)


def written(ctx: Context, anchor: Anchor, node: Node) -> str:
    """What stands in the text, for use in a help sentence; "..." where it is long."""
    text = ctx.frame.module.source.text[anchor.at + node.start : anchor.at + node.end]
    return text if len(text) <= MAX_WRITTEN and "\n" not in text else "..."


def report(
    ctx: Context,
    code: str,
    message: str,
    span: Span,
    help: str = "",
    labels: tuple[Label, ...] = (),
    data: dict[str, str] | None = None,
    severity: Severity = Severity.ERROR,
    fixes: tuple[Fix, ...] = (),
) -> None:
    call = ctx.frame.call
    if call is not None:
        labels = (*labels, Label(Span(call.file, call.start, call.end), "expanded from this call"))
    ctx.findings.append(
        Finding(code, message, span, severity, labels=labels, help=help, data=data or {}, fixes=fixes)
    )


def suggest(ctx: Context, name: str, known: Iterable[str]) -> str:
    """`did you mean ...?`, "" where nothing is alike; only the first findings look, since it is slow."""
    ctx.suggestions += 1
    return did_you_mean(name, known) if ctx.suggestions <= MAX_SUGGESTIONS else ""


def declared(ctx: Context, *kinds: str) -> Iterator[str]:
    """The module-level names of some kinds of declaration."""
    return (name for name, binding in ctx.frame.module.scope.items() if binding.kind in kinds)


def whence(ctx: Context, name: str, kind: str) -> str:
    """How the name of a format, component or the like comes into scope, "" where nothing is known of it."""
    imports = (decl for decl in ctx.frame.module.file.decls if isinstance(decl, Import))
    if any(local_name(item) == name for decl in imports for item in decl.names):
        return "its import has a finding of its own"
    modules = modules_of(ctx.library.keys(kind))
    if name in modules:
        return import_help(name, modules)
    help = suggest(ctx, name, (*declared(ctx, kind), *modules))
    near = help.split("`")[1] if help else ""
    return (
        f"{help[:-1]}, of `{modules[near]}`?"
        if near in modules and near not in ctx.frame.module.scope
        else help
    )


def report_fault(ctx: Context, fault: Fault, anchor: Anchor) -> None:
    """A constant expression without a value; nothing where the problem has been told already."""
    if not fault.problem.code:
        return
    report(
        ctx, fault.problem.code, fault.problem.message, span_of(ctx, anchor, fault.node), fault.problem.help
    )
