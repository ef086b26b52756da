"""Widen a ring or a format to the smallest that holds the value.

The finding says how many bits are needed. They are written where the number of bits stands: as an argument of the component, as
the format that the step gives, or in the declaration of a format of this file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pllm_lang.catalog.expr import Num
from pllm_lang.catalog.records import Component, Format
from pllm_lang.ir.lower.admits import admits
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Fix
from pllm_lang.verify.fixes.around import (
    Around,
    Found,
    imported,
    part_replaced,
    part_text,
    step_at,
)

CODES = ("bounds.carrier", "bounds.intermediate", "bounds.overflow")
_RING = re.compile(r"(?<=\bring\()\d+(?=\))")
_BITS = re.compile(r"(?<=\bring\()\d+(?=\))|(?<=\bfixed\()\d+(?=,)|(?<=\bint\()\d+(?=\))")
MAX_WIDER = 4096


def propose(around: Around) -> Iterator[Fix]:
    needs = around.finding.data.get("needs", "")
    found = step_at(around)
    if found is None or not needs.isdecimal() or int(needs) > MAX_WIDER:
        return
    yield from _component_bits(around, found, int(needs))
    if around.finding.code == "bounds.overflow":
        yield from _given_format(around, found, int(needs))
    yield from _declared(around, int(needs))


def _component_bits(around: Around, found: Found, needs: int) -> Iterator[Fix]:
    """`using c(bits: 16)`: the smallest number of bits that the component takes and that suffices."""
    for clause in found.step.clauses:
        use = clause.component if isinstance(clause, syn.Using) else None
        if not isinstance(use, syn.Call) or not isinstance(use.callee, syn.Name):
            continue
        bound = around.module.scope.get(use.callee.id)
        component = around.library.component(bound.key) if bound else None
        for entry in use.args:
            if component and isinstance(entry, syn.Entry) and entry.name == "bits":
                bits = _least(component, needs)
                if bits:
                    edit = part_replaced(around, found.step, entry.value, str(bits))
                    yield Fix(f"Widen the ring to {bits} bits", (edit,), safe=False)


def _least(component: Component, needs: int) -> int:
    allowed = next((spec.allowed for spec in component.params if spec.name == "bits"), None)
    wider = range(needs, min(2 * needs + 64, MAX_WIDER))
    return next((bits for bits in wider if allowed is None or admits(allowed, Num(str(bits)))), 0)


def _given_format(around: Around, found: Found, needs: int) -> Iterator[Fix]:
    """`to: int8`: the narrowest format of the library of the same kind and fraction bits that is wide enough."""
    if not isinstance(found.step.value, syn.Call):
        return
    for entry in found.step.value.args:
        if not isinstance(entry, syn.Entry) or entry.name != "to":
            continue
        bound = around.module.scope.get(part_text(around, found.step, entry.value))
        old = around.library.format(bound.key) if bound else None
        for module, wide in _wider(around, old, needs) if old else ():
            more = imported(around, module, wide.name)
            if more is not None:
                edit = part_replaced(around, found.step, entry.value, wide.name)
                yield Fix(f"Give it as `{wide.name}`", (edit, *more), safe=False)
                return


def _wider(around: Around, old: Format, needs: int) -> list[tuple[str, Format]]:
    found: list[tuple[str, Format]] = []
    for key in around.library.keys("format"):
        wide = around.library.format(key)
        same = wide is not None and (wide.kind, wide.frac, wide.scale) == (old.kind, old.frac, old.scale)
        if wide is not None and same and wide.bits >= needs and not key.startswith("./"):
            found.append((key.rpartition(".")[0], wide))
    return sorted(
        found, key=lambda one: (one[1].bits, bool(one[1].modulus) != bool(old.modulus), one[1].name)
    )


def _declared(around: Around, needs: int) -> Iterator[Fix]:
    """A format of this file: every number of bits in its declaration that is too small."""
    for decl in around.module.file.decls:
        if not isinstance(decl, syn.Format):
            continue
        text = part_text(around, decl, decl.value)
        for changed, what in {
            _at_least(_BITS, text, needs): "",
            _at_least(_RING, text, needs): "the ring of ",
        }.items():
            if changed != text:
                edit = part_replaced(around, decl, decl.value, changed)
                yield Fix(f"Widen {what}`{decl.name.id}` to {needs} bits", (edit,), safe=False)


def _at_least(bits: re.Pattern[str], text: str, needs: int) -> str:
    return bits.sub(lambda match: str(max(int(match[0]), needs)), text)
