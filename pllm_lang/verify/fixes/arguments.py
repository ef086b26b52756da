"""Write the name of a component's argument, or the number of bits that it has no default for."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.expr import Num
from pllm_lang.catalog.records import Component
from pllm_lang.ir.lower.admits import admits
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Fix
from pllm_lang.verify.fixes.around import Around, Found, clause_of, replaced, step_at
from pllm_lang.verify.fixes.covering import COMMON_BITS

CODES = ("params.unnamed", "params.missing")


def propose(around: Around) -> Iterator[Fix]:
    found = step_at(around)
    clause = clause_of(found.step) if found else None
    if found is None or not isinstance(clause, syn.Using):
        return
    use = clause.component
    name = use.callee if isinstance(use, syn.Call) else use
    bound = around.module.scope.get(name.id) if isinstance(name, syn.Name) else None
    component = around.library.component(bound.key) if bound else None
    if component is None:
        return
    if around.finding.code == "params.missing":
        yield from _bits(around, found, use, component)
    elif isinstance(use, syn.Call):
        yield from _named(around, found, use, component)


def _named(around: Around, found: Found, use: syn.Call, component: Component) -> Iterator[Fix]:
    """An argument without a name, by its place among the parameters."""
    start = around.finding.span.start
    for arg, spec in zip(use.args, component.params, strict=False):
        if not isinstance(arg, syn.Entry) and found.step.at + arg.start == start:
            edit = replaced(around, start, start, f"{spec.name}: ")
            yield Fix(f"Write `{spec.name}: {around.text}`", (edit,), safe=False)


def _bits(around: Around, found: Found, use: syn.Expr, component: Component) -> Iterator[Fix]:
    spec = next((one for one in component.params if one.name == "bits" and one.default is None), None)
    if spec is None or "`bits`" not in around.finding.message:
        return
    end = found.step.at + use.end
    for bits in COMMON_BITS:
        if spec.allowed is not None and not admits(spec.allowed, Num(bits)):
            continue
        if isinstance(use, syn.Call):
            before = ", " if use.args else ""
            edit = replaced(around, end - 1, end - 1, f"{before}bits: {bits}")
        else:
            edit = replaced(around, end, end, f"(bits: {bits})")
        yield Fix(f"Write `bits: {bits}`", (edit,), safe=False)
        return
