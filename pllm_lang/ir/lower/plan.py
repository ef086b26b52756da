"""From a plan's declaration to the typed plan.

In: a loaded project, the library with the project's records, the module that holds the plan, and the plan's
syntax. Out: `Lowered`: the plan, its source map, and findings. Where findings hold errors
the plan may have inputs and results of type `UNKNOWN`; it is for showing and for finding more, never for
accepting.
"""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.library import Library
from pllm_lang.catalog.policies import effective
from pllm_lang.ir.lower.body import Place, lower_body
from pllm_lang.ir.lower.context import Context, Frame, Scope
from pllm_lang.ir.lower.report import origin_of, report, span_of, whence
from pllm_lang.ir.plan import Plan, Stage
from pllm_lang.ir.source_map import SourceMap
from pllm_lang.resolve.modules import Module, Project
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Finding, Severity, Span


class Lowered(msgspec.Struct, frozen=True):
    """`complete` is False where an error left something out of the plan."""

    plan: Plan
    source_map: SourceMap
    findings: tuple[Finding, ...]

    @property
    def complete(self) -> bool:
        return all(finding.severity is not Severity.ERROR for finding in self.findings)


def lower_plan(project: Project, library: Library, module: str, decl: syn.Plan) -> Lowered:
    ctx = open_context(project, library, project.modules[module], decl)
    lower_body(ctx, decl.body, place_of(decl))
    return close_context(ctx, project, decl)


def place_of(decl: syn.Plan) -> Place:
    staged = any(isinstance(stmt, syn.Stage) for stmt in decl.body)
    return "staged plan" if staged else "plan"


def open_context(project: Project, library: Library, module: Module, decl: syn.Plan) -> Context:
    ctx = Context(library, project.modules, None, "", Frame(module, Scope()))
    if decl.under is not None:
        _place_under(ctx, decl, decl.under)
    return ctx


def _place_under(ctx: Context, decl: syn.Plan, under: syn.Word) -> None:
    scope = ctx.frame.module.scope
    binding = scope.get(under.id)
    record = effective(binding.key, ctx.library) if binding else None
    if binding is not None and record is not None:
        ctx.policy, ctx.policy_key = record, binding.key
        return
    help = whence(ctx, under.id, "policy") or "declare it, or import one from `std.policies`"
    message = f"no policy `{under.id}` is defined here"
    report(ctx, "names.unknown", message, span_of(ctx, decl, under), help, data={"name": under.id})


def close_context(ctx: Context, project: Project, decl: syn.Plan) -> Lowered:
    stages = tuple(ctx.stages) or (Stage("", tuple(ctx.body), outputs=tuple(ctx.outputs)),)
    plan = Plan(
        ctx.policy_key,
        tuple(ctx.formats),
        tuple(ctx.inputs),
        tuple(ctx.weights),
        tuple(ctx.states),
        stages,
        tuple(ctx.constants),
    )
    places = SourceMap(origin_of(ctx, decl), decl.name.id, ctx.values, ctx.parts, ctx.expanded)
    return Lowered(plan, places, _told_once(ctx.findings, project.findings))


def _told_once(findings: list[Finding], said: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Without what name resolution has said; what a place in a block gives again, once with a count."""
    known = {(finding.code, finding.span) for finding in said}
    kept: dict[tuple[str, Span, str], Finding] = {}
    for finding in findings:
        key = (finding.code, finding.span, finding.message)
        if key in kept:
            kept[key] = msgspec.structs.replace(kept[key], count=kept[key].count + 1)
        elif (finding.code, finding.span) not in known:
            kept[key] = finding
    return tuple(kept.values())
