"""Questions about the forms of a protocol: what an expression reads, who takes part, how wide an entry is."""

from __future__ import annotations

from pllm_lang.ir import protocol as ir


def children(expr: ir.Expr) -> tuple[ir.Expr, ...]:
    match expr:
        case ir.Ref() | ir.Const():
            return ()
        case ir.Add():
            return expr.terms
        case ir.Mul() | ir.MatMul():
            return expr.left, expr.right
        case ir.Concat() | ir.Call():
            return expr.args
        case _:
            return (expr.arg,)


def names_of(expr: ir.Expr) -> set[str]:
    if isinstance(expr, ir.Ref):
        return {expr.name}
    return {name for child in children(expr) for name in names_of(child)}


def calls_of(expr: ir.Expr) -> list[ir.Call]:
    own = [expr] if isinstance(expr, ir.Call) else []
    return own + [call for child in children(expr) for call in calls_of(child)]


def participants(body: tuple[ir.Statement, ...]) -> frozenset[str]:
    """Everybody who does or receives something in a body."""
    found: set[str] = set()
    for st in body:
        match st:
            case ir.Assign() | ir.Check():
                found.add(st.party)
            case ir.Send():
                found |= {st.sender, *st.receivers}
            case ir.Draw() | ir.KeyDraw():
                found |= set(st.holders)
            case ir.When():
                found |= {st.party, *participants(st.body)}
            case ir.Repeat():
                found |= participants(st.body)
            case ir.Bundle():
                pass
    return frozenset(found)


def output_variables(output: ir.Output, parties: list[str]) -> list[tuple[str, str]]:
    """(party, variable) of every part of an output."""
    match output.holding:
        case ir.Public():
            return [(p, output.name) for p in parties]
        case ir.Clear():
            return [(p, output.name) for p in output.holding.parties]
        case ir.Shared():
            pieces = output.holding.pieces
            return [(h, f"{output.name}.{piece.label}") for piece in pieces for h in piece.holders]


def element_bits(number: ir.Number) -> int:
    """Bits that one entry takes on a wire."""
    if isinstance(number, ir.Ring):
        return max(1, (number.modulus - 1).bit_length())
    return number.bits + number.signed


def size_of(shape: tuple[int, ...]) -> int:
    total = 1
    for dim in shape:
        total *= dim
    return total


def unknown_parties(protocol: ir.Protocol) -> list[str]:
    """Parties that inputs, outputs or statements name but the protocol does not have."""
    named: set[str] = set(participants(protocol.body))
    for thing in (*protocol.inputs, *protocol.outputs):
        match thing.holding:
            case ir.Public():
                pass
            case ir.Clear():
                named |= set(thing.holding.parties)
            case ir.Shared():
                named |= {h for piece in thing.holding.pieces for h in piece.holders}
    return sorted(named - {p.name for p in protocol.parties})
