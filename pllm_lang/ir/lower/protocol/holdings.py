"""Who has an operand or a result of a narration: in the clear, public, or in the pieces of a holding.

The pieces of `replicated(p0, p1, p2)` are those of the holding's record, each with the parties at its indices; a
holding without `pieces` gives every party one piece of its own name. The record's `value` says with which
coefficient a piece counts.
"""

from __future__ import annotations

from pllm_lang.catalog.expr import Apply, Expr, ListOf, MapOf, Num, Ref
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Holding, OperandSpec
from pllm_lang.ir import protocol as p
from pllm_lang.ir.lower.protocol.setting import MalformedError, Scope
from pllm_lang.resolve.suggest import did_you_mean, import_help, modules_of

BITS = "boolean_shares"
"""The holding of which the pieces are bits, and make the value by exclusive or."""
LINEAR = "give the holding a linear `value`, as in `open + mask`"


def holding_of(spec: OperandSpec, scope: Scope) -> p.Holding:
    kind, expr = spec.placement
    match kind, expr:
        case "public", _:
            return p.Public()
        case (("from" | "to" | "at"), Ref()):
            return p.Clear((expr.name,))
        case "as", Apply():
            parties = tuple(arg.name for arg in expr.args if isinstance(arg, Ref))
            return shared(expr.fn, parties, scope.library)
        case _:
            text = f"nothing says who has `{spec.name}`"
            raise MalformedError(
                "protocol.malformed", text, "write `from party`, `to party`, `public` or `as holding(...)`"
            )


def shared(key: str, parties: tuple[str, ...], library: Library) -> p.Shared:
    """The sharing that a holding's record describes, between these parties."""
    record = library.get(key)
    if not isinstance(record, Holding):
        name = key.rpartition(".")[-1]
        text = f"`{name}` is no holding that is known here"
        modules = modules_of(library.keys("holding"))
        raise MalformedError(
            "protocol.malformed", text, import_help(name, modules) or did_you_mean(name, modules)
        )
    wanted = record.n_parties
    if isinstance(wanted, Num) and int(wanted.value) != len(parties):
        text = f"`{record.name}` is held by {wanted.value} parties, not by {len(parties)}"
        raise MalformedError("protocol.malformed", text)
    if not parties:
        raise MalformedError("protocol.malformed", f"`{record.name}` is shared between nobody")
    if len(set(parties)) != len(parties):
        raise MalformedError("protocol.malformed", f"a party holds two places of `{record.name}`")
    pieces = record.fields.get("pieces")
    if not isinstance(pieces, MapOf):
        if not _is_sum(record.fields.get("value")) and record.name != BITS:
            text = f"`{record.name}` does not say how its pieces make the value"
            raise MalformedError("protocol.malformed", text, "give the holding the value `sum(pieces)`")
        return p.Shared(record.name, tuple(p.Piece(party, (party,)) for party in parties))
    coefficients, found = _coefficients(record), list[p.Piece]()
    for label, places in pieces.entries:
        holders = tuple(parties[i] for i in _indices(places) if i < len(parties))
        if label not in coefficients or not holders:
            text = f"`{record.name}` does not say how the piece `{label}` makes the value"
            raise MalformedError("protocol.malformed", text, LINEAR)
        found.append(p.Piece(label, holders, coefficients[label]))
    others = sorted(coefficients.keys() - dict(pieces.entries).keys())
    if others:
        text = f"the value of `{record.name}` is made of `{others[0]}` too, which is none of its pieces"
        raise MalformedError("protocol.malformed", text, LINEAR)
    return p.Shared(record.name, tuple(found))


def _is_sum(value: Expr | None) -> bool:
    """`sum(pieces)`: every party's piece counts once."""
    match value:
        case Apply(fn=fn, args=(Ref(name="pieces"),), named=()):
            return fn.rpartition(".")[2] == "sum"
        case _:
            return False


def _indices(places: Expr) -> list[int]:
    items = places.items if isinstance(places, ListOf) else (places,)
    return [int(item.value) for item in items if isinstance(item, Num)]


def _coefficients(record: Holding) -> dict[str, int]:
    """Piece to coefficient of a linear `value`; empty where it is anything else."""
    found: dict[str, int] = {}

    def count(expr: Expr, sign: int) -> bool:
        match expr:
            case Ref():
                found[expr.name] = found.get(expr.name, 0) + sign
                return True
            case Apply(fn="+" | "-", args=(left, right)):
                return count(left, sign) and count(right, sign if expr.fn == "+" else -sign)
            case Apply(fn="-", args=(arg,)):
                return count(arg, -sign)
            case _:
                return False

    value = record.fields.get("value")
    return found if value is not None and count(value, 1) else {}
