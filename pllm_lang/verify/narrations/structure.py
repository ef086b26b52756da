"""Steps that only move entries, on shared values: every holder does the same to its piece."""

from __future__ import annotations

from collections.abc import Sequence

from pllm_lang.catalog.expr import Expr, Ref
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Component, Operator, ProtocolText
from pllm_lang.ir import protocol as p
from pllm_lang.ir.lower.protocol.setting import MalformedError, Scope, Setting, Typed
from pllm_lang.ir.lower.protocol.terms import term
from pllm_lang.ir.plan import Step
from pllm_lang.ir.walk import substitute
from pllm_lang.verify.narrations.held import Held, parties_of
from pllm_lang.verify.protocol.compose import Instance

_NOBODY = Component("structure", "", "", "", "method")
LINEAR = frozenset({"transpose", "permute", "reshape", "slice", "split", "concat"})
"""Operators that give every result entry one operand entry, so that they go through any linear sharing."""


def moved(
    step: Step, operator: Operator, operands: Sequence[Held], names: Sequence[str], library: Library
) -> tuple[Instance, list[Held]] | None:
    """The step on each piece; None where it is no such step, or the operands lie differently."""
    holding = operands[0].holding
    alike = isinstance(holding, p.Shared) and all(
        h.holding == holding and h.scale == operands[0].scale for h in operands
    )
    if (
        operator.module != "std.operators"
        or operator.name not in LINEAR
        or not isinstance(holding, p.Shared)
        or not alike
    ):
        return None
    if holding.scheme == "boolean_shares":
        return None  # its pieces have an axis more, the bits
    params = dict(step.params)
    meanings = {c.name: substitute(c.expr, lambda n: params.get(n, Ref(n))) for c in operator.means}
    try:
        return _moved(operator, holding, operands, names, meanings, library)
    except (MalformedError, KeyError):
        return None


def _moved(
    operator: Operator,
    holding: p.Shared,
    operands: Sequence[Held],
    names: Sequence[str],
    meanings: dict[str, Expr],
    library: Library,
) -> tuple[Instance, list[Held]]:
    body: list[p.Statement] = []
    outputs: list[p.Output] = []
    made: list[Held] = []
    secrets = frozenset(s for h in operands for s in h.secrets)
    for spec, name in zip(operator.results, names, strict=True):
        meaning = _on(operator, operands, "", meanings[spec.name], library)
        outputs.append(p.Output(spec.name, meaning.type, holding, meaning.expr))
        for piece in holding.pieces:
            value = _on(operator, operands, f".{piece.label}", meanings[spec.name], library)
            body += [p.Assign(party, f"{spec.name}.{piece.label}", value.expr) for party in piece.holders]
        made.append(Held(name, meaning.type, holding, secrets, scale=operands[0].scale))
    inputs = tuple(
        p.Input(spec.name, held.type, holding) for spec, held in zip(operator.operands, operands, strict=True)
    )
    parties = tuple(sorted(parties_of(holding)))
    protocol = p.Protocol(operator.name, tuple(map(p.Party, parties)), inputs, tuple(outputs), tuple(body))
    wires = tuple((spec.name, held.name) for spec, held in zip(operator.operands, operands, strict=True))
    results = tuple((spec.name, name) for spec, name in zip(operator.results, names, strict=True))
    return Instance(protocol, tuple((q, q) for q in parties), wires, results), made


def _on(operator: Operator, operands: Sequence[Held], piece: str, meaning: Expr, library: Library) -> Typed:
    """The meaning with the operands' pieces (or values, for "") in their place."""
    scope = Scope(_NOBODY, operator, ProtocolText((), (), (), ()), library, Setting())
    for spec, held in zip(operator.operands, operands, strict=True):
        scope.values[spec.name] = Typed(p.Ref(spec.name + piece), held.type.number, held.type.shape)
    return term(meaning, scope)
