"""Who has a value of a plan, and which protocols move and change it without any message.

A value is in the clear at parties, public, or shared. `known` says who may know it: a party knows what it owns, what the
policy lets it learn, and what it computes of these.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import msgspec

from pllm_lang.ir import protocol as p
from pllm_lang.verify.protocol.compose import Instance

OPAQUE = p.Ring(1 << 64)
"""Number type of a value in the clear that no protocol has taken yet: nothing is computed with it but calls."""


class Held(msgspec.Struct, frozen=True):
    """`name` is the value's in the composition; `secrets` are the inputs that it depends on; `scale` are the fraction bits of
    residues that a protocol made, which an exact result has nowhere else."""

    name: str
    type: p.TensorType
    holding: p.Holding
    secrets: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    broken: bool = False
    scale: int | None = None


def parties_of(holding: p.Holding) -> frozenset[str]:
    """Everybody who has the value or a part of it; nobody in particular where it is public."""
    match holding:
        case p.Public():
            return frozenset()
        case p.Clear():
            return frozenset(holding.parties)
        case p.Shared():
            return frozenset(h for piece in holding.pieces for h in piece.holders)


def in_clear(held: Held, party: str) -> bool:
    match held.holding:
        case p.Public():
            return True
        case p.Clear():
            return party in held.holding.parties
        case p.Shared():
            return all(party in piece.holders for piece in held.holding.pieces)


def told_holding(holding: p.Holding) -> str:
    match holding:
        case p.Public():
            return "public"
        case p.Clear():
            return "in the clear at " + " and ".join(f"`{party}`" for party in holding.parties)
        case p.Shared():
            return f"shared as `{holding.scheme}` between " + ", ".join(
                f"`{party}`" for party in dict.fromkeys(h for piece in holding.pieces for h in piece.holders)
            )


# ---- protocols without a message ----
@lru_cache(maxsize=4096)
def local_protocol(
    fn: str,
    types: tuple[p.TensorType, ...],
    public: tuple[bool, ...],
    results: tuple[p.TensorType, ...],
    parties: tuple[str, ...],
) -> p.Protocol:
    """Each of `parties` computes `fn` of values that it has in the clear; the result is public where they are none."""
    inputs = tuple(
        p.Input(f"a{i}", type_, p.Public() if is_public else p.Clear(parties))
        for i, (type_, is_public) in enumerate(zip(types, public, strict=True))
    )
    args = tuple(p.Ref(f"a{i}") for i in range(len(types)))
    body: list[p.Statement] = []
    outputs: list[p.Output] = []
    for i, type_ in enumerate(results):
        value = p.Call(fn if len(results) == 1 else f"{fn}.{i}", args, type_)
        outputs.append(p.Output(f"y{i}", type_, p.Clear(parties), value))
        body += [p.Assign(party, f"y{i}", value) for party in parties]
    return p.Protocol(fn, tuple(p.Party(party) for party in parties), inputs, tuple(outputs), tuple(body))


def local_instance(
    fn: str, operands: Iterable[Held], results: tuple[tuple[str, p.TensorType], ...], parties: tuple[str, ...]
) -> Instance:
    given = tuple(operands)
    types = tuple(h.type for h in given)
    public = tuple(isinstance(h.holding, p.Public) for h in given)
    protocol = local_protocol(fn, types, public, tuple(t for _, t in results), parties)
    return Instance(
        protocol,
        tuple((party, party) for party in parties),
        tuple((f"a{i}", h.name) for i, h in enumerate(given)),
        tuple((f"y{i}", name) for i, (name, _) in enumerate(results)),
    )


@lru_cache(maxsize=256)
def sharing_protocol(type_: p.TensorType, holding: p.Shared, owner: str) -> p.Protocol | None:
    """The owner draws every piece but the last; None where the last piece does not count once."""
    *others, last = holding.pieces
    if last.coefficient not in (1, -1):
        return None
    body: list[p.Statement] = []
    rest: list[p.Expr] = [p.Ref("x")]
    for piece in others:
        body.append(p.Draw(f"y.{piece.label}", type_, tuple(dict.fromkeys((owner, *piece.holders)))))
        rest.append(p.Scale(-piece.coefficient, p.Ref(f"y.{piece.label}")))
    name = f"y.{last.label}"
    body.append(p.Assign(owner, name, p.Scale(last.coefficient, p.Add(tuple(rest)))))
    receivers = tuple(h for h in last.holders if h != owner)
    if receivers:
        body.append(p.Send(owner, receivers, name))
    parties = tuple(p.Party(n) for n in dict.fromkeys((owner, *sorted(parties_of(holding)))))
    given = p.Input("x", type_, p.Clear((owner,)))
    return p.Protocol(
        "share by the owner", parties, (given,), (p.Output("y", type_, holding, p.Ref("x")),), tuple(body)
    )


@lru_cache(maxsize=1024)
def disclosing_protocol(type_: p.TensorType, holder: str, others: tuple[str, ...]) -> p.Protocol:
    """`holder` shows a value to others."""
    parties = (holder, *others)
    body = (p.Send(holder, others, "x"), *(p.Assign(party, "y", p.Ref("x")) for party in parties))
    given = p.Input("x", type_, p.Clear((holder,)))
    output = p.Output("y", type_, p.Clear(parties), p.Ref("x"))
    return p.Protocol("disclose", tuple(map(p.Party, parties)), (given,), (output,), body)
