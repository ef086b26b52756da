"""Replay: every result of a protocol is what it means: exactly, or within a unit by the truncation lemma.

Equal sums are equal values (`sums`), so a result is its meaning if its pieces, put together, are the meaning's sum.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from pllm_lang.artifacts.replay.refusal import ReplayError, need
from pllm_lang.artifacts.replay.run import HIDDEN, Run
from pllm_lang.artifacts.replay.sums import (
    ONE,
    Factor,
    Sum,
    evaluate,
    in_ring,
    make,
    modulus_of,
    parts_of,
    plus,
    times,
)
from pllm_lang.ir import protocol as p


# ---- results ----
def proves_outputs(out: Run) -> None:
    """Every output is its meaning: the pieces add up to it, and all holders of a piece hold the same."""
    for output in out.protocol.outputs:
        if output.meaning is None:
            continue
        meaning, got = evaluate(output.meaning, lambda name: out.values[name]), _recombined(out, output)
        typed = (got.modulus, got.shape) == (modulus_of(output.type.number), output.type.shape)
        text = f"`{output.name}` is computed in another ring or shape than its type says"
        need(typed, "certificate.meaning", text, out.protocol.name)
        rounds = output.scale_bits or output.error
        same = _truncated(out, output, got, meaning) if rounds else got.key() == meaning.key()
        text = f"`{output.name}` is not shown to be what it means"
        need(same, "certificate.meaning", text, out.protocol.name)


def _recombined(out: Run, output: p.Output) -> Sum:
    name = output.name
    match output.holding:
        case p.Shared(pieces=pieces):
            return plus(*(times(q.coefficient, _agreed(out, q.holders, f"{name}.{q.label}")) for q in pieces))
        case p.Clear(parties=parties):
            return _agreed(out, parties, name)
        case p.Public():
            return _agreed(out, [q.name for q in out.protocol.parties if (q.name, name) in out.held], name)


def _agreed(out: Run, holders: Iterable[str], name: str) -> Sum:
    found = [out.get(party, name) for party in holders]
    if not found or any(one.key() != found[0].key() for one in found):
        text = f"the holders of `{name}` do not hold the same"
        raise ReplayError("certificate.meaning", text, out.protocol.name)
    return found[0]


# ---- truncation ----
def _truncated(out: Run, output: p.Output, got: Sum, meaning: Sum) -> bool:
    """The lemma of `docs/soundness.md` for an integer mask: the result is floor(P / 2^f) - floor(M / 2^f) - K with
    P = meaning + K 2^f + M in the ring Z_m, M a draw below 2^bits, and 0 <= meaning + K 2^f + M < m, so that nothing wraps. Then it
    is within one unit of meaning / 2^f."""
    f, m = output.scale_bits, got.modulus
    shifts = {c: x for x, c in got.terms.items() if x[0] == "call" and x[1] == ("shift", f, False)}
    alone = len(shifts) + (ONE in got.terms) == len(got.terms)
    if output.error < 1 or not m or not alone or sorted(shifts) != [1, m - 1]:
        return False
    ((plain,), (mask,)) = ([Sum(one[0], one[1], dict(one[2])) for one in shifts[c][2]] for c in (1, m - 1))
    bits = max((one.bits for one in out.draws.values() if one.value.key() == mask.key()), default=0)
    width = range_of(out, meaning, output.meaning)
    if not bits or width is None or (plain.modulus, plain.shape) != (m, meaning.shape):
        return False
    constant = got.terms.get(ONE, 0)
    offset = (m - constant if 2 * constant > m else -constant) << f
    known = make(m, meaning.shape, [(ONE, offset)])
    same = plain.key() == plus(meaning, known, in_ring(mask, m)).key()
    return same and width <= offset and (1 << bits) + width + offset <= m


# ---- sizes ----
def range_of(out: Run, x: Sum, meaning: p.Expr | None = None) -> int | None:
    """A bound of the size of every entry, from the stated ranges of inputs; None where there is none."""
    stated = {given.name: 1 << given.range_bits for given in out.protocol.inputs if given.range_bits}
    if isinstance(meaning, p.Ref) and meaning.name in out.values:
        return stated.get(meaning.name)
    shared = {given.name for given in out.protocol.inputs if isinstance(given.holding, p.Shared)}
    sizes = {name: size for name, size in stated.items() if name not in shared}
    sizes |= {HIDDEN + name: size for name, size in stated.items()}
    sizes |= {name: 1 << one.bits for name, one in out.draws.items() if one.bits}
    total = 0
    for factor, c in x.terms.items():
        own = _size(factor, sizes)
        if own is None:
            return None
        total += own * (min(c, x.modulus - c) if x.modulus else abs(c))
    return total


def _size(x: Factor, sizes: dict[str, int]) -> int | None:
    """Of a product the product, times the entries that a matrix product adds up."""
    if x[0] in ("one", "atom"):
        return 1 if x == ONE else sizes.get(x[1])
    found = [_size(one, sizes) for one in parts_of(x)]
    known = [one for one in found if one is not None]
    if len(known) < max(len(found), 1) or (x[0] == "map" and x[2][0] == "sum"):
        return None
    return prod(known) * (x[2][0][-1] if x[0] == "@" else 1)
