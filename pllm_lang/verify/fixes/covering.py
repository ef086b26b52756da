"""Choose a component that covers the step, or the party that computes it in the clear."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pllm_lang.catalog.expr import Num
from pllm_lang.catalog.records import Component
from pllm_lang.ir.lower.admits import admits
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Edit, Fix
from pllm_lang.verify.fixes.around import Around, Found, clause_of, imported, part_replaced, replaced, step_at

CODES = ("coverage.no_component", "coverage.wrong_operator", "coverage.party_count", "coverage.requirement")
MAX_CANDIDATES = 6
COMMON_BITS = ("32", "64", "128")
_PARTY = re.compile(r"\b(?:from|@)\s+([A-Za-z_]\w*)")


def propose(around: Around) -> Iterator[Fix]:
    """Components in the order in which the help names them, then a lone party."""
    found = step_at(around)
    if found is None or not isinstance(found.step.value, syn.Call):
        return
    callee = found.step.value.callee
    bound = around.module.scope.get(callee.id) if isinstance(callee, syn.Name) else None
    if bound is None:
        return
    for component in _ranked(around, around.library.implementing(bound.key))[:MAX_CANDIDATES]:
        written = _written(component)
        more = imported(around, component.module, component.name)
        if written is not None and more is not None and (edit := _using(around, found, f"using {written}")):
            yield Fix(f"Use `{written}`", (edit, *more), safe=False)
    parties = set(_PARTY.findall(around.module.source.text[found.decl.at : found.decl.at + found.decl.end]))
    if around.finding.code == "coverage.no_component" and len(parties) == 1:
        party = parties.pop()
        if edit := _using(around, found, f"@ {party}"):
            yield Fix(f"Compute it at `{party}`", (edit,), safe=False)


def _ranked(around: Around, components: tuple[Component, ...]) -> list[Component]:
    """Those that the finding's help names first, in its order; a system as it was published is no fix."""
    help_ = around.finding.help
    components = tuple(c for c in components if not c.is_published_system)
    named = [c for c in components if c.name != "clear" and re.search(rf"\b{re.escape(c.name)}\b", help_)]
    named.sort(key=lambda c: (c.name not in around.module.scope, help_.index(c.name)))
    return named + [c for c in components if c not in named and c.name != "clear"]


def _written(component: Component) -> str | None:
    """The component with a common number of bits where it has no default; None where more is to be said."""
    missing = [spec for spec in component.params if spec.default is None]
    if not missing:
        return component.name
    if [spec.name for spec in missing] != ["bits"]:
        return None
    allowed = missing[0].allowed
    for bits in COMMON_BITS:
        if allowed is None or admits(allowed, Num(bits)):
            return f"{component.name}(bits: {bits})"
    return None


def _using(around: Around, found: Found, clause: str) -> Edit | None:
    old = clause_of(found.step)
    if old is not None:
        return part_replaced(around, found.step, old, clause)
    end = found.step.at + found.step.value.end
    return replaced(around, end, end, f" {clause}")
