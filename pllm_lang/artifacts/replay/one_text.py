"""Replay: a stage written out as one protocol."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from pllm_lang.artifacts.lock_data import Alone, Embed
from pllm_lang.artifacts.replay.holdings import At, placed_at
from pllm_lang.artifacts.replay.run import HIDDEN
from pllm_lang.artifacts.replay.walked import value_of
from pllm_lang.ir import protocol as p


def one_text(at: At) -> p.Protocol:
    """The stage as one protocol: every name of a use under the number of the use, every wire a step where the value lies. A stage
    that was followed: what parties do by themselves is a call of the step's operator."""
    body: list[p.Statement] = []
    program, lock = at.program, at.walked.lock
    have = {one.name: one.holding for one in program.inputs}
    ideal: dict[str, p.Party] = {}
    for number, use in enumerate(program.uses):
        if isinstance(use, Alone | Embed):
            body += _calls(at, use)
            have |= dict.fromkeys(_made(use), p.Clear(use.parties))
            continue
        text, roles = lock.documents.protocols[use.protocol].protocol, dict(use.roles)
        ideal |= {
            roles[one.name]: msgspec.structs.replace(one, name=roles[one.name])
            for one in text.parties
            if one.ideal is not None
        }
        for given in text.inputs:
            value = dict(use.inputs)[given.name]
            body += [
                p.Assign(q, f"{number}:{a}", p.Ref(b))
                for q, a, b in _wires(given.name, given.holding, value, have[value], roles)
            ]
        body += [_renamed(line, f"{number}:", roles) for line in text.body]
        for output in text.outputs:
            value = dict(use.outputs)[output.name]
            have[value] = placed_at(output.holding, roles)
            body += [
                p.Assign(q, b, p.Ref(f"{number}:{a}"))
                for q, a, b in _wires(output.name, output.holding, value, have[value], roles)
            ]
    _apart(at, have)
    parties = {one.name: one for one in program.parties} | ideal
    return p.Protocol(
        f"stage {program.stage}", tuple(parties.values()), program.inputs, program.outputs, tuple(body)
    )


def _apart(at: At, have: dict[str, p.Holding]) -> None:
    """Every value and every piece of one has a variable of its own, and none is a use's: else one would be looked at as another."""
    names = [
        *have,
        *(
            f"{value}.{piece.label}"
            for value, holding in have.items()
            if isinstance(holding, p.Shared)
            for piece in holding.pieces
        ),
    ]
    if len(set(names)) < len(names) or any(":" in name for name in names):
        raise at.refuse("a name stands for two values, or for one of a use")


def _made(use: Alone | Embed) -> tuple[str, ...]:
    return use.results if isinstance(use, Alone) else (use.name,)


def _calls(at: At, use: Alone | Embed) -> list[p.Statement]:
    """Each party calls it: equal operators with equal parameters and formats are one function, and nothing else has its name."""
    if isinstance(use, Alone):
        step = at.walked.every[use.step]
        taken = [value_of(at.walked, operand).type.format for operand in step.operands]
        meant = step.operator, step.params, taken, [type_.format for type_ in step.types]
        name, inputs = msgspec.json.encode(meant).decode(), use.inputs
    else:
        name, inputs = "", (use.value,)
    return [
        p.Assign(
            party,
            made,
            p.Call(f"{HIDDEN}{place} {name}", tuple(map(p.Ref, inputs)), at.names[made].type),
        )
        for place, made in enumerate(_made(use))
        for party in use.parties
    ]


def _wires(
    name: str, holding: p.Holding, value: str, have: p.Holding, roles: dict[str, str]
) -> list[tuple[str, str, str]]:
    """(party, variable of the use, variable of the stage)."""
    if isinstance(holding, p.Shared) and isinstance(have, p.Shared):
        pairs = zip(holding.pieces, have.pieces, strict=True)
        return [
            (roles[role], f"{name}.{a.label}", f"{value}.{b.label}") for a, b in pairs for role in a.holders
        ]
    parties = holding.parties if isinstance(holding, p.Clear) else tuple(roles)
    return [(roles[role], name, value) for role in parties]


_PARTIES = frozenset({"party", "sender"})
_LISTS = frozenset({"holders", "receivers"})
_NAMES = frozenset({"name", "target", "key"})
_NAME_LISTS = frozenset({"keys", "members"})


def _renamed(line: Any, prefix: str, roles: dict[str, str]) -> Any:
    """A line at other parties and under other names: field by field, whatever its form."""
    fields: dict[str, Any] = {}
    for field in line.__struct_fields__:
        value = getattr(line, field)
        if field in _PARTIES:
            value = roles[value]
        elif field in _LISTS:
            value = tuple(roles[one] for one in value)
        elif field in _NAMES:
            value = prefix + value
        elif field in _NAME_LISTS:
            value = tuple(prefix + one for one in value)
        elif isinstance(value, msgspec.Struct) and not isinstance(value, p.TensorType | p.Ring | p.Integer):
            value = _renamed(value, prefix, roles)
        elif isinstance(value, tuple):
            several = cast("tuple[Any, ...]", value)
            value = tuple(
                _renamed(one, prefix, roles) if isinstance(one, msgspec.Struct) else one for one in several
            )
        fields[field] = value
    return msgspec.structs.replace(line, **fields)
