"""Compositions of protocols, and the composition as one text.

In: protocol instances, wired by the names of the values that go in and out. Out: one protocol, every name
of an instance under the instance's number, every wire a local step at the parties that hold the value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, cast

import msgspec

from pllm_lang.ir import protocol as ir
from pllm_lang.verify.protocol.polynomial import TooLarge


class Instance(msgspec.Struct, frozen=True):
    """One use of a protocol. `roles`: (role, party); `inputs` and `outputs`: (name in the protocol, value).

    `draws`: (draw in the protocol, name in the whole) for material that several instances take from one
    stock.
    """

    protocol: ir.Protocol
    roles: tuple[tuple[str, str], ...]
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
    draws: tuple[tuple[str, str], ...] = ()


class Composition(msgspec.Struct, frozen=True):
    """`outputs` have their meaning over the inputs' values, or None."""

    name: str
    parties: tuple[ir.Party, ...]
    inputs: tuple[ir.Input, ...]
    outputs: tuple[ir.Output, ...]
    instances: tuple[Instance, ...]


def inlined(whole: Composition) -> ir.Protocol:
    """The composition as one protocol: every name of an instance gets the instance's number. Raises TooLarge where two values
    would share a variable: what one of them tells would then be looked at as the other."""
    body: list[ir.Statement] = []
    holdings = {i.name: i.holding for i in whole.inputs}
    taken: set[str] = set()
    for number, instance in enumerate(whole.instances):
        body += _inlined(instance, f"{number}:", holdings, taken)
    _apart(holdings)
    return ir.Protocol(whole.name, all_parties(whole), whole.inputs, whole.outputs, tuple(body))


def _apart(holdings: dict[str, ir.Holding]) -> None:
    """Every value and every piece of one has a variable of its own, and none is an instance's."""
    names = Counter(name for value, holding in holdings.items() for name in _variables(value, holding))
    twice = next((name for name, count in names.items() if count > 1 or ":" in name), "")
    if twice:
        raise TooLarge(f"`{twice}` names two values")


def _variables(value: str, holding: ir.Holding) -> tuple[str, ...]:
    """Its own name, which also stands for a shared value in meanings, and those of its pieces."""
    pieces = holding.pieces if isinstance(holding, ir.Shared) else ()
    return (value, *(f"{value}.{piece.label}" for piece in pieces))


def all_parties(whole: Composition) -> tuple[ir.Party, ...]:
    """The parties of the whole, and the primitives that its protocols ask."""
    named = {p.name: p for p in whole.parties}
    for instance in whole.instances:
        for party in instance.protocol.parties:
            if party.ideal is not None:
                named.setdefault(party.name, party)
    return tuple(named.values())


def _inlined(
    instance: Instance, prefix: str, holdings: dict[str, ir.Holding], taken: set[str]
) -> list[ir.Statement]:
    roles, out = dict(instance.roles), list[ir.Statement]()
    shared = dict(instance.draws)
    for name, value in instance.inputs:
        given = next(i for i in instance.protocol.inputs if i.name == name)
        for party, mine, theirs in _wires(given.holding, holdings[value], name, value, roles):
            out.append(ir.Assign(party, prefix + mine, ir.Ref(theirs)))
    for st in instance.protocol.body:
        if isinstance(st, ir.Draw) and st.name in shared:
            if shared[st.name] not in taken:
                taken.add(shared[st.name])
                out.append(_moved(st, roles, lambda n: shared.get(n, prefix + n)))
            out += [ir.Assign(roles[h], prefix + st.name, ir.Ref(shared[st.name])) for h in st.holders]
            continue
        out.append(_moved(st, roles, lambda n: prefix + n))
    for name, value in instance.outputs:
        output = next(o for o in instance.protocol.outputs if o.name == name)
        holdings[value] = placed(output.holding, roles)
        for party, mine, theirs in _wires(output.holding, holdings[value], name, value, roles):
            out.append(ir.Assign(party, theirs, ir.Ref(prefix + mine)))
    return out


def _wires(
    holding: ir.Holding, other: ir.Holding, name: str, value: str, roles: dict[str, str]
) -> list[tuple[str, str, str]]:
    """(party, variable of the instance, variable of the whole); pieces correspond by position."""
    match holding, other:
        case ir.Shared(), ir.Shared():
            rows = zip(holding.pieces, other.pieces, strict=True)
            return [
                (roles[h], f"{name}.{mine.label}", f"{value}.{theirs.label}")
                for mine, theirs in rows
                for h in mine.holders
            ]
        case ir.Clear(), _:
            return [(roles[r], name, value) for r in holding.parties]
        case _:
            return [(p, name, value) for p in roles.values()]


def placed(holding: ir.Holding, roles: dict[str, str]) -> ir.Holding:
    match holding:
        case ir.Public():
            return holding
        case ir.Clear():
            return ir.Clear(tuple(roles[r] for r in holding.parties))
        case ir.Shared():
            pieces = tuple(
                ir.Piece(p.label, tuple(roles[h] for h in p.holders), p.coefficient) for p in holding.pieces
            )
            return ir.Shared(holding.scheme, pieces)


def with_names(expr: Any, names: dict[str, ir.Ref]) -> Any:
    """An expression with its references replaced."""
    match expr:
        case ir.Ref():
            return names.get(expr.name, expr)
        case msgspec.Struct():
            fields = {f: with_names(getattr(expr, f), names) for f in expr.__struct_fields__}
            return msgspec.structs.replace(expr, **fields)
        case tuple():
            return tuple(with_names(x, names) for x in cast(tuple[Any, ...], expr))
        case _:
            return expr


def _moved(st: ir.Statement, roles: dict[str, str], name: Callable[[str], str]) -> ir.Statement:
    """A statement at other parties and under other names."""

    def expr(e: Any) -> Any:  # any form, field by field
        match e:
            case ir.Ref():
                return ir.Ref(name(e.name))
            case ir.Call():
                moved = tuple(expr(a) for a in e.args)
                return msgspec.structs.replace(e, args=moved, keys=tuple(name(k) for k in e.keys))
            case msgspec.Struct():
                return msgspec.structs.replace(e, **{f: expr(getattr(e, f)) for f in e.__struct_fields__})
            case tuple():
                return tuple(expr(x) for x in cast(tuple[Any, ...], e))
            case _:
                return e

    at = {r: roles.get(r, r) for r in roles}

    def who(parties: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(at.get(p, p) for p in parties)

    replace = msgspec.structs.replace
    match st:
        case ir.KeyDraw():
            return replace(st, name=name(st.name), holders=who(st.holders))
        case ir.Draw():
            via = replace(st.via, key=name(st.via.key)) if isinstance(st.via, ir.ViaPrf) else st.via
            return replace(st, name=name(st.name), holders=who(st.holders), via=via)
        case ir.Assign():
            return replace(st, party=at.get(st.party, st.party), target=name(st.target), value=expr(st.value))
        case ir.Send():
            sender = at.get(st.sender, st.sender)
            return replace(st, sender=sender, receivers=who(st.receivers), name=name(st.name))
        case ir.Check():
            return replace(st, party=at.get(st.party, st.party), value=expr(st.value))
        case ir.When():
            body = tuple(_moved(s, roles, name) for s in st.body)
            return replace(st, party=at.get(st.party, st.party), condition=expr(st.condition), body=body)
        case ir.Repeat():
            return replace(st, body=tuple(_moved(s, roles, name) for s in st.body))
        case ir.Bundle():
            return replace(st, name=name(st.name), members=tuple(name(m) for m in st.members))
