"""One narration lowered: the signature's types and holdings, then line after line.

In: a component with its protocol text, the operator that it implements, and a setting. Out: the protocol (None where
the signature itself has no meaning), the findings, and where each `origin` of it was written.
"""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.closed import closed_value
from pllm_lang.catalog.expr import AnyRank, Expr, MapOf, Num, Origin
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Component, OperandSpec, Operator, ProtocolText, Record
from pllm_lang.ir import protocol as p
from pllm_lang.ir.lower.protocol.forms import bit_type
from pllm_lang.ir.lower.protocol.holdings import holding_of
from pllm_lang.ir.lower.protocol.lines import statements
from pllm_lang.ir.lower.protocol.meaning import meaning_of, range_bits
from pllm_lang.ir.lower.protocol.setting import MalformedError, Scope, Setting, Typed, bind_shape, shape_of
from pllm_lang.ir.lower.protocol.types import read_number
from pllm_lang.ir.walk import references
from pllm_lang.text.finding import Finding


class LoweredProtocol(msgspec.Struct, frozen=True):
    """`scales` are the fraction bits of the results, by name, where they have any."""

    protocol: p.Protocol | None
    findings: tuple[Finding, ...]
    origins: tuple[Origin, ...]
    scales: tuple[tuple[str, int], ...] = ()


def lower_protocol(
    component: Component, operator: Operator | None, library: Library, setting: Setting
) -> LoweredProtocol:
    """The component's narration as data of the prover; `operator` None where nothing says what it has to compute."""
    text = component.protocol
    assert text is not None
    scope = Scope(component, operator, text, library, setting)
    found = _lower(text, scope)
    return LoweredProtocol(found, tuple(scope.findings), tuple(scope.origins), tuple(scope.made.items()))


def _lower(text: ProtocolText, scope: Scope) -> p.Protocol | None:
    component = scope.component
    try:
        for spec in text.inputs:
            bind_shape(spec.shape, scope.shapes.get(spec.name), scope)
    except MalformedError as problem:
        scope.report(problem, component.origin)
        return None
    fresh = {line.name for line in (*text.offline, *text.online) if line.kind == "needs"}
    inputs = [found for spec in text.inputs if (found := _input(spec, spec.name in fresh, scope)) is not None]
    if scope.findings or _mismatch(scope):
        return None
    outputs = [found for spec in text.outputs if (found := _output(spec, scope)) is not None]
    if scope.findings:
        return None
    body = (*statements(text.offline, "offline", scope), *statements(text.online, "online", scope))
    parties = _parties(inputs, outputs, body, scope)
    adversary = "malicious" if "malicious" in component.adversaries else "semi_honest"
    return p.Protocol(component.name, parties, tuple(inputs), tuple(outputs), body, adversary)


def _number(spec: OperandSpec, scope: Scope) -> tuple[p.Number, int | None]:
    """Number type and scale; what is called a plain residue has the fraction bits that it has in the plan."""
    number, scale = read_number(spec.format, scope)
    given = scope.component.gives.get(spec.name)
    if given is not None and given != spec.format and spec.name in {s.name for s in scope.text.outputs}:
        text = f"`gives` states another format of `{spec.name}` than the protocol"
        raise MalformedError("protocol.malformed", text, "write the same format in both places")
    planned = scope.scales.get(spec.name)
    if None not in (scale, planned) and scale != planned:
        text = f"`{spec.name}` has {scale} fraction bits in the protocol, and {planned} in the plan"
        raise MalformedError("protocol.scale", text, "name the operator's format, or cast the value first")
    return number, planned if scale is None else scale


def _input(spec: OperandSpec, fresh: bool, scope: Scope) -> p.Input | None:
    try:
        number, scale = _number(spec, scope)
        holding = holding_of(spec, scope)
        type_ = _lying(p.TensorType(number, shape_of(spec.shape, scope)), holding)
    except MalformedError as problem:
        scope.report(problem, spec.origin)
        return None
    _enter(spec.name, type_, scale, holding, scope)
    bits = range_bits(spec.name, scale, scope.component, scope)
    lifetime: p.Lifetime = "weights" if isinstance(holding, p.Public) else "execution"
    return p.Input(spec.name, type_, holding, lifetime, bits, fresh, scope.origin(spec.origin))


def _lying(type_: p.TensorType, holding: p.Holding) -> p.TensorType:
    """In shares of bits a value is the tensor of its bits, which add up modulo 2."""
    if not isinstance(holding, p.Shared):
        return type_
    if isinstance(type_.number, p.Integer):
        text = f"`{holding.scheme}` shares residues of a ring, and this format is in none"
        raise MalformedError("protocol.malformed", text, "encode the value into a ring first")
    return bit_type(type_) if holding.scheme == "boolean_shares" else type_


def _enter(name: str, type_: p.TensorType, scale: int | None, holding: p.Holding, scope: Scope) -> None:
    """The names of a value: its own, which also stands for it in meanings, and those of its pieces."""
    scope.values[name] = Typed(p.Ref(name), type_.number, type_.shape, scale)
    for piece in holding.pieces if isinstance(holding, p.Shared) else ():
        label = f"{name}.{piece.label}"
        scope.values[label] = Typed(p.Ref(label), type_.number, type_.shape, scale)


def _output(spec: OperandSpec, scope: Scope) -> p.Output | None:
    try:
        number, scale = _number(spec, scope)
        holding = holding_of(spec, scope)
        type_ = _lying(p.TensorType(number, shape_of(spec.shape, scope)), holding)
        meaning = meaning_of(spec, type_, scale, scope)
    except MalformedError as problem:
        scope.report(problem, spec.origin)
        return None
    _enter(spec.name, type_, scale, holding, scope)
    origin = scope.origin(spec.origin)
    if meaning is None:
        return p.Output(spec.name, type_, holding, origin=origin)
    scope.made |= {} if meaning.scale is None else {spec.name: meaning.scale}
    return p.Output(
        spec.name, type_, holding, meaning.expr, meaning.scale_bits, meaning.error, meaning.failure, origin
    )


def _mismatch(scope: Scope) -> bool:
    """Whether the narration has other operands or results than the operator, or a parameter that could be the operator's as
    well, which is reported."""
    if scope.operator is None:
        return False
    twice = sorted({spec.name for spec in scope.component.params} & _names_of(scope.operator, scope.text))
    if twice:
        own, whole = scope.component.name, scope.operator.name
        text = (
            f"a line could mean by `{twice[0]}` the parameter of `{own}` as well as what `{whole}` calls so"
        )
        problem = MalformedError("protocol.signature", text, "call the parameter of the component otherwise")
        scope.report(problem, scope.component.origin)
        return True
    pairs = ((scope.operator.operands, scope.text.inputs), (scope.operator.results, scope.text.outputs))
    for specs, own in pairs:
        wanted, found = [s.name for s in specs], [s.name for s in own]
        if wanted != found:
            text = f"`{scope.operator.name}` has {_listed(wanted)}, the protocol {_listed(found)}"
            scope.report(
                MalformedError("protocol.signature", text, "use the operator's names, in its order"),
                scope.component.origin,
            )
            return True
    return False


def _names_of(operator: Operator, text: ProtocolText) -> set[str]:
    """Operands, results, sizes, formats and parameters of the operator, and sizes of the narration's own signature."""
    signature = (*operator.operands, *operator.results, *text.inputs, *text.outputs)
    found = {spec.name for spec in (*signature, *operator.params)} | set(operator.format_vars)
    for spec in signature:
        for size in spec.shape:
            found |= {size.name} if isinstance(size, AnyRank) else set(references(size))
    return found


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nothing"


# ---- parties ----
def _parties(
    inputs: list[p.Input], outputs: list[p.Output], body: tuple[p.Statement, ...], scope: Scope
) -> tuple[p.Party, ...]:
    names = dict.fromkeys(scope.component.roles)
    for thing in (*inputs, *outputs):
        names |= dict.fromkeys(_holders(thing.holding))
    for st in body:
        names |= dict.fromkeys(_taking_part(st))
    return tuple(_party(name, scope) for name in names)


def _holders(holding: p.Holding) -> tuple[str, ...]:
    match holding:
        case p.Public():
            return ()
        case p.Clear():
            return holding.parties
        case p.Shared():
            return tuple(party for piece in holding.pieces for party in piece.holders)


def _taking_part(st: p.Statement) -> tuple[str, ...]:
    match st:
        case p.Assign() | p.Check():
            return (st.party,)
        case p.Send():
            return (st.sender, *st.receivers)
        case p.Draw() | p.KeyDraw():
            return st.holders
        case _:
            return ()


def _party(name: str, scope: Scope) -> p.Party:
    """A party; the component's `primitive` takes part under its own name and is what its record assumes."""
    if name != scope.component.primitive:
        return p.Party(name)
    record = _primitive(name, scope)
    if record is None:
        text = f"no primitive `{name}` is declared, so nothing says what it assumes"
        scope.report(MalformedError("protocol.malformed", text), scope.component.origin)
        return p.Party(name)
    level, against = closed_value(record.fields.get("security")), _words(record.fields.get("adversary"))
    if level is None or level < 1 or not against & {"semi_honest", "covert", "malicious"}:
        text = f"the primitive `{name}` does not say against whom it is secure, at how many bits"
        help_ = "write `adversary: [semi_honest]` and `security: 128` in its record"
        scope.report(MalformedError("protocol.malformed", text, help_), scope.component.origin)
        return p.Party(name)
    level, adversary = int(level), "malicious" if "malicious" in against else "semi_honest"
    return p.Party(name, p.Assumption(name, level, adversary), _cost(scope.component.fields.get("cost")))


def _primitive(name: str, scope: Scope) -> Record | None:
    for module in (scope.component.module, "std.primitives"):
        record = scope.library.get(f"{module}.{name}")
        if isinstance(record, Record) and record.kind == "primitive":
            return record
    return None


def _words(expr: Expr | None) -> set[str]:
    return {getattr(item, "name", "") for item in getattr(expr, "items", (expr,))}


def _cost(expr: Expr | None) -> p.IdealCost:
    entries = dict(expr.entries) if isinstance(expr, MapOf) else {}

    def number(name: str, default: int) -> int:
        value = entries.get(name)
        return int(value.value) if isinstance(value, Num) else default

    return p.IdealCost(number("rounds", 1), number("bytes_per_entry", 0))
