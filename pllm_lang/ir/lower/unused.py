"""Values that nothing uses: a warning each, since a slip of a name often shows there first.

In: the context of a lowered plan. Out: findings `names.unused`. A step counts as used when one of its results is;
what a block makes inside is its author's affair.
"""

from __future__ import annotations

from pllm_lang.ir.lower.context import Context
from pllm_lang.ir.plan import Step
from pllm_lang.ir.walk import family, nodes
from pllm_lang.text.finding import Finding, Severity, Span


def report_unused(ctx: Context) -> None:
    used = {family(value) for value in ctx.used}
    declared = [*ctx.inputs, *(i for stage in ctx.stages for i in stage.inputs), *ctx.weights, *ctx.states]
    for item in declared:
        if item.value not in used:
            _warn(ctx, item.value)
    bodies = [ctx.body, *(stage.body for stage in ctx.stages)]
    for body in bodies:
        for node, _ in nodes(tuple(body)):
            if isinstance(node, Step) and not node.structural and used.isdisjoint(node.results):
                _warn(ctx, node.results[0])


def _warn(ctx: Context, value: int) -> None:
    name, origin = ctx.values[value]
    if not name or value in ctx.expanded:
        return
    place = ctx.parts.get((value, "target0"), origin)
    ctx.findings.append(
        Finding(
            "names.unused",
            f"`{name}` is never used",
            Span(place.file, place.start, place.end),
            Severity.WARNING,
            help="use it, or leave it out",
        )
    )
