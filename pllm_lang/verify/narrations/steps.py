"""One step of a plan as an instance of a protocol, or as a gap."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from pllm_lang.catalog.expr import NOWHERE, Expr, Origin
from pllm_lang.catalog.formats import GRIDDED
from pllm_lang.catalog.records import Component, Operator
from pllm_lang.exact.interval import magnitude, scale
from pllm_lang.ir import protocol as p
from pllm_lang.ir.lower.protocol import LoweredProtocol
from pllm_lang.ir.plan import UNKNOWN, Operand, Step, TensorType
from pllm_lang.ir.walk import family
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.environment import CLEAR, component_of
from pllm_lang.verify.limits import centred, inside, ring_text
from pllm_lang.verify.narrations.conversions import missing_conversion
from pllm_lang.verify.narrations.held import (
    Held,
    in_clear,
    local_instance,
    parties_of,
    told_holding,
)
from pllm_lang.verify.narrations.revealing import reveal_operand, reveal_word, revealing
from pllm_lang.verify.narrations.structure import moved
from pllm_lang.verify.narrations.under_way import IDEAL, Made, UnderWay, taking_part
from pllm_lang.verify.narrations.using import plain_text
from pllm_lang.verify.numbers import shown
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.protocol.compose import Instance


def take_step(stage: UnderWay, step: Step) -> None:
    operator = stage.view.library.operator(step.operator)
    operands = [stage.read(operand) for operand in step.operands]
    known = operator is not None and UNKNOWN not in step.types and len(operands) == len(operator.operands)
    if operator is None or not known or any(held.broken for held in operands):
        stage.broken(step.results, step.types)
        return
    component = component_of(stage.view, step)
    if step.party and (step.use is None or step.use.key == CLEAR):
        _in_the_clear(stage, step, operator, operands, (step.party,))
    elif component is None:
        _structural(stage, step, operator, operands)
    elif component.protocol is None:
        _without_protocol(stage, step, component, operator, operands)
    else:
        _with_protocol(stage, step, component, operator, operands)


# ---- without a message ----
def _in_the_clear(
    stage: UnderWay, step: Step, operator: Operator, operands: list[Held], at: tuple[str, ...]
) -> None:
    for party in at:
        for position, held in enumerate(operands):
            if not in_clear(held, party):
                stage.gaps.refuse(
                    "placement.knowledge",
                    step.results[0],
                    f"`{party}` computes `{operator.name}` here and does not hold `{held.name}`: it is {told_holding(held.holding)}",
                    f"reveal it to `{party}`, compute the step where it lies, or use a component",
                    f"operand{position}",
                )
                stage.broken(step.results, step.types)
                return
    stage.local(_function(stage, step, operator), operands, step.results, step.types, at)


def _function(stage: UnderWay, step: Step, operator: Operator) -> str:
    """A name that is equal for equal operators and parameters: `quantize[to=act8, per=row]`."""
    params = ", ".join(f"{name}={_parameter(stage, value)}" for name, value in step.params)
    name = operator.name if operator.module.startswith("std.") else step.operator
    name = f"{name}[{params}]" if params else name
    meant = step.operator, step.params
    while stage.called.setdefault(name, meant) != meant:  # a text among the parameters may read like several
        name += "'"
    return name


def _parameter(stage: UnderWay, value: Expr) -> str:
    text = plain_text(value)
    if not text.startswith("%f"):
        return text
    name = stage.view.plan.formats[int(text[2:])].name
    return name if [f.name for f in stage.view.plan.formats].count(name) == 1 else f"{name}{text}"


def _structural(stage: UnderWay, step: Step, operator: Operator, operands: list[Held]) -> None:
    if not (step.structural or "structural" in operator.fields):
        stage.broken(step.results, step.types)  # nothing covers it, which coverage reports
        return
    if any(isinstance(held.holding, p.Shared) for held in operands):
        names = [stage.name(value) for value in step.results]
        scaled = [_scaled(stage, *one) for one in zip(step.operands, operands, strict=True)]
        found = moved(step, operator, scaled, names, stage.view.library)
        if found is None:
            help_ = "reveal it, or write the step with a component"
            text = (
                f"`{operator.name}` moves entries of values that do not lie alike, so nobody can do it alone"
            )
            if len({held.holding for held in operands}) == 1:
                text = f"`{operator.name}` on pieces is not followed, though it only moves entries"
                help_ = "write it with `reshape`, `permute`, `transpose`, `slice`, `split` and `concat`"
            stage.gaps.refuse("placement.knowledge", step.results[0], text, help_)
            stage.broken(step.results, step.types)
            return
        stage.add(found[0], Made(step.results[0]))
        for value, type_, held in zip(step.results, step.types, found[1], strict=True):
            stage.types[value], stage.values[value] = type_, held
        return
    at = [parties_of(held.holding) for held in operands if not isinstance(held.holding, p.Public)]
    common = frozenset(stage.policy.parties).intersection(*at)
    if not common:
        text = f"nobody holds every operand of `{operator.name}`"
        stage.gaps.refuse(
            "placement.knowledge", step.results[0], text, "write `@ party` after revealing them to it"
        )
        stage.broken(step.results, step.types)
        return
    stage.local(_function(stage, step, operator), operands, step.results, step.types, tuple(sorted(common)))


def _scaled(stage: UnderWay, operand: Operand, held: Held) -> Held:
    """With the fraction bits of its format, where that has any: a value that a stage begins with says no others."""
    format_ = stage.format_of(stage.type_of(operand))
    return msgspec.structs.replace(held, scale=format_.frac) if format_.kind in GRIDDED else held


def _without_protocol(
    stage: UnderWay, step: Step, component: Component, operator: Operator, operands: list[Held]
) -> None:
    roles = dict(step.use.roles) if step.use is not None else {}
    parties = set(roles.values()) or set(stage.policy.parties)
    for name in component.reveals:
        position = next((i for i, spec in enumerate(operator.operands) if spec.name == name), None)
        if position is None:
            reveal_word(stage, step, component, name, parties)
        else:
            reveal_operand(stage, step, component, operator, position, operands[position], parties)
    proved = [c.name for c in stage.view.library.implementing(step.operator) if c.protocol is not None]
    known = f", such as {', '.join(sorted(proved))}" if proved else ""
    stage.gaps.leave(
        "placement.no_protocol",
        step.results[0],
        f"`{component.name}` has no protocol text, so nothing shows who learns what in it",
        f"choose a component with a protocol{known}, or write one in a component of your own",
        "using",
    )
    stage.broken(step.results, step.types)


# ---- with a protocol ----
def _with_protocol(
    stage: UnderWay, step: Step, component: Component, operator: Operator, operands: list[Held]
) -> None:
    types = [stage.type_of(operand) for operand in step.operands]
    lowered = stage.lowerer.lower(step, component, operator, types, operands)
    subject = step.results[0]
    if lowered.protocol is None or lowered.findings:
        for finding in lowered.findings[:1]:
            place = finding.span
            message = f"`{component.name}` does not fit here: {finding.message}"
            clause = Origin(place.file, place.start, place.end)
            stage.gaps.add(
                Obligation(
                    finding.code,
                    Verdict.UNPROVED,
                    subject,
                    message,
                    "using",
                    clause=clause,
                    help=finding.help,
                )
            )
        stage.broken(step.results, step.types)
        return
    protocol = lowered.protocol
    if not _fits_shapes(stage, step, component, protocol, operands):
        stage.broken(step.results, step.types)
        return
    roles = _roles(stage, step, component, protocol)
    if roles is None:
        stage.broken(step.results, step.types)
        return
    protocol, operands = revealing(stage, step, component, operator, protocol, operands, roles)
    wired: list[tuple[str, str]] = []
    for position, (given, held) in enumerate(zip(protocol.inputs, operands, strict=True)):
        found = _wire(stage, step, component, position, given, held, roles)
        if found is None:
            stage.broken(step.results, step.types)
            return
        wired.append((given.name, found.name))
    _results(stage, step, protocol, operands, roles, wired, lowered)


def _fits_shapes(
    stage: UnderWay, step: Step, component: Component, protocol: p.Protocol, operands: list[Held]
) -> bool:
    """Whether the narration is about tensors of the step's shapes; a text for matrices says nothing of a stack of them."""
    taken = [
        (given.name, given.type.shape, held.type.shape)
        for given, held in zip(protocol.inputs, operands, strict=True)
        if not isinstance(given.holding, p.Shared) and not isinstance(held.holding, p.Shared)
    ]
    given = [
        (
            output.name,
            output.type.shape[: len(type_.shape)] if _in_pieces(output) else output.type.shape,
            type_.shape,
        )
        for output, type_ in zip(protocol.outputs, step.types, strict=True)
    ]
    for name, written, here in (*taken, *given):
        if written != here:
            text = f"the protocol of `{component.name}` has `{name}` with {_axes(written)}, and here it has {_axes(here)}"
            help_ = "reshape it first, or choose a component whose protocol takes this shape"
            stage.gaps.leave("placement.no_protocol", step.results[0], text, help_, "using")
            return False
    return True


def _in_pieces(output: p.Output) -> bool:
    """Bits of a shared value have an axis of their own."""
    return isinstance(output.holding, p.Shared)


def _axes(shape: tuple[p.Dim, ...]) -> str:
    return f"the shape [{', '.join(map(str, shape))}]"


def _roles(stage: UnderWay, step: Step, component: Component, protocol: p.Protocol) -> dict[str, str] | None:
    """Role to party; primitives get a name that no party has. None after a finding."""
    assert step.use is not None
    bound, roles = dict(step.use.roles), dict[str, str]()
    for role in protocol.parties:
        if role.ideal is not None:
            name = IDEAL + role.name
            stage.parties.setdefault(name, msgspec.structs.replace(role, name=name))
            roles[role.name] = name
            continue
        party = bound.get(role.name, role.name)
        if party not in stage.policy.parties:
            text = f"nobody takes the role `{role.name}` of `{component.name}`"
            help_ = f"list it in the component's `roles`, and bind it: `{component.name}({role.name}: party)`"
            stage.gaps.refuse("placement.role", step.results[0], text, help_, "using")
            return None
        roles[role.name] = party
    return roles


def _results(
    stage: UnderWay,
    step: Step,
    protocol: p.Protocol,
    operands: list[Held],
    roles: dict[str, str],
    wired: list[tuple[str, str]],
    lowered: LoweredProtocol,
) -> None:
    assert step.use is not None
    names = [stage.name(value) for value in step.results]
    outputs = tuple((output.name, name) for output, name in zip(protocol.outputs, names, strict=True))
    made, scales = Made(step.results[0], step.use.key, lowered.origins), dict(lowered.scales)
    stage.add(Instance(protocol, tuple(roles.items()), tuple(wired), outputs), made)
    secrets = frozenset(s for held in operands for s in held.secrets)
    known = stage.known_with(operands)
    for value, type_, name, output in zip(step.results, step.types, names, protocol.outputs, strict=True):
        holding = placed(output.holding, roles)
        if isinstance(holding, p.Public):  # everybody who takes part gets it, so each has to be allowed to
            holding = p.Clear(tuple(sorted(taking_part(roles))))
        held = Held(name, output.type, holding, secrets, known, scale=scales.get(output.name))
        _fits_ring(stage, step, value, type_, held, "using")
        stage.types[value] = type_
        stage.values[value] = stage.arrive(value, held, step.results[0])


def _fits_ring(stage: UnderWay, step: Step, value: int, type_: TensorType, held: Held, part: str) -> None:
    """A value fits the ring of its residues, with the fraction bits that those have. Its own format's ring is asked of the
    format; an exact result has no fraction bits in the plan, and its residues have those that the protocol leaves."""
    format_, modulus = stage.format_of(type_), _modulus(held)
    bits = format_.frac if format_.kind in GRIDDED else held.scale
    if modulus is None or bits is None or format_.kind in _NO_NUMBERS or format_.modulus == str(modulus):
        return
    if format_.kind not in GRIDDED and not bits:
        return  # `bounds.carrier` asks it
    found = stage.reach(value)
    raw = None if found is None else scale(found, 2**bits)
    if raw is not None and inside(raw, centred(modulus)):
        return
    reached = "nothing bounds them" if raw is None else f"they reach {shown(magnitude(raw))}"
    text = f"the residues of `{stage.plain(value)}` have {bits} fraction bits: {reached}, outside {ring_text(modulus)}"
    help_ = "take a component that cuts fraction bits, a wider ring, or a narrower range of the operands"
    stage.gaps.leave("protocol.scale", step.results[0], text, help_, part)


_NO_NUMBERS = ("boolean", "label", "index")


def _modulus(held: Held) -> int | None:
    """The ring that a value's residues, or the bits of its shares, are in."""
    if isinstance(held.holding, p.Shared) and held.holding.scheme == "boolean_shares":
        bits = held.type.shape[-1]
        return 1 << bits if isinstance(bits, int) else None
    return held.type.number.modulus if isinstance(held.type.number, p.Ring) else None


def placed(holding: p.Holding, roles: Mapping[str, str]) -> p.Holding:
    """A holding of roles as one of parties."""
    match holding:
        case p.Public():
            return holding
        case p.Clear():
            return p.Clear(tuple(dict.fromkeys(roles[role] for role in holding.parties)))
        case p.Shared():
            pieces = tuple(
                p.Piece(piece.label, tuple(dict.fromkeys(roles[h] for h in piece.holders)), piece.coefficient)
                for piece in holding.pieces
            )
            return p.Shared(holding.scheme, pieces)


# ---- operands ----
def _wire(
    stage: UnderWay,
    step: Step,
    component: Component,
    position: int,
    given: p.Input,
    held: Held,
    roles: dict[str, str],
) -> Held | None:
    """The operand as the protocol takes it; None after a finding."""
    subject, part = step.results[0], f"operand{position}"
    wanted = placed(given.holding, roles)
    if isinstance(wanted, p.Shared) or isinstance(held.holding, p.Shared):
        problem = missing_conversion(wanted, held, component, given.name, stage.policy, stage.view.library)
        if problem is not None:
            stage.gaps.refuse("coverage.missing_conversion", subject, problem[0], problem[1], part)
            return None
        if given.type != held.type:
            text = f"`{component.name}` takes `{given.name}` in another ring than `{held.name}` is shared in"
            help_ = "convert it with a component, or choose parameters for this ring"
            stage.gaps.refuse("coverage.missing_conversion", subject, text, help_, part)
            return None
        return held
    needing = wanted.parties if isinstance(wanted, p.Clear) else tuple(sorted(taking_part(roles)))
    for party in needing:
        if not in_clear(held, party):
            text = f"`{party}` needs `{held.name}` for `{component.name}` and does not hold it: it is {told_holding(held.holding)}"
            help_ = f"let the party that holds it take this role, or a component that keeps it from `{party}`"
            stage.gaps.refuse("placement.knowledge", subject, text, help_, part, NOWHERE)
            return None
    found = embedded(stage, held, given.type)
    value = family(step.operands[position])
    _fits_ring(stage, step, value, stage.type_of(step.operands[position]), found, part)
    return found


def embedded(stage: UnderWay, held: Held, type_: p.TensorType) -> Held:
    """A value in the clear as a residue or an integer of another type: whoever has it does that alone."""
    if held.type == type_:
        return held
    key = (held.name, type_)
    known = stage.embedded.get(key)
    if known is not None:
        return known
    name = stage.unique(held.name)
    found = msgspec.structs.replace(held, name=name, type=type_)
    if isinstance(held.holding, p.Public):
        stage.give(found, stage.inputs[held.name].lifetime)  # only what a stage begins with is public
    else:
        parties = tuple(sorted(parties_of(held.holding)))
        stage.add(local_instance(_residue(type_.number), [held], ((name, type_),), parties), Made(-1))
    stage.embedded[key] = found
    return found


def _residue(number: p.Number) -> str:
    if isinstance(number, p.Integer):
        return f"integer{number.bits}"
    bits = number.modulus.bit_length() - 1
    return f"raw{bits}" if number.modulus == 1 << bits else f"raw modulo {number.modulus}"
