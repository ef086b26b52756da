"""Replay: every result of a protocol is what it means: exactly, or within a unit by the truncation lemma."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.run import HIDDEN, Run
from pllm_lang.artifacts.replay.sums import ONE, Factor, Sum, cast_back, evaluate, make, plus, times
from pllm_lang.ir import protocol as p


# ---- results ----
def proves_outputs(out: Run) -> None:
    """Every output is its meaning: the pieces add up to it, and all holders of a piece hold the same."""
    for output in out.protocol.outputs:
        if output.meaning is None:
            continue
        meaning = evaluate(output.meaning, lambda name: out.values[name])
        got = _recombined(out, output)
        number = output.type.number
        if (got.modulus, got.shape) != (
            number.modulus if isinstance(number, p.Ring) else 0,
            output.type.shape,
        ):
            text = f"`{output.name}` is computed in another ring or shape than its type says"
            raise ReplayError("certificate.meaning", text, out.protocol.name)
        exact = (
            got.key() == meaning.key()
            if not output.scale_bits and not output.error
            else _truncated(out, output, got, meaning)
        )
        if not exact:
            raise ReplayError(
                "certificate.meaning", f"`{output.name}` is not shown to be what it means", out.protocol.name
            )


def _recombined(out: Run, output: p.Output) -> Sum:
    parties = [party.name for party in out.protocol.parties]

    def agreed(holders: Iterable[str], name: str) -> Sum:
        found = [out.get(party, name) for party in holders]
        if not found or any(one.key() != found[0].key() for one in found):
            raise ReplayError(
                "certificate.meaning", f"the holders of `{name}` do not hold the same", out.protocol.name
            )
        return found[0]

    if isinstance(output.holding, p.Shared):
        pieces = output.holding.pieces
        return plus(
            *(times(one.coefficient, agreed(one.holders, f"{output.name}.{one.label}")) for one in pieces)
        )
    holders = (
        output.holding.parties
        if isinstance(output.holding, p.Clear)
        else [q for q in parties if (q, output.name) in out.held]
    )
    return agreed(holders, output.name)


def _truncated(out: Run, output: p.Output, got: Sum, meaning: Sum) -> bool:
    """The lemma of `docs/soundness.md` for an integer mask: floor(P) - floor(M) + K with P - M = meaning - K 2^f, M a draw
    below 2^bits, 0 <= meaning - K 2^f + M < m: within one unit of meaning / 2^f."""
    f, m = output.scale_bits, got.modulus
    shifts = {
        c: factor
        for factor, c in got.terms.items()
        if factor[0] == "call" and factor[1] == ("shift", f, False)
    }
    extra = got.terms.get(ONE, 0)
    extra -= m if 2 * extra > m else 0
    if (
        output.error < 1
        or not m
        or len(shifts) + (ONE in got.terms) != len(got.terms)
        or sorted(shifts) != [1, m - 1]
    ):
        return False
    (p_sum,), (m_sum,) = ([Sum(a, s, dict(t)) for a, s, t in shifts[c][2]] for c in (1, m - 1))
    draw = next((d for d in out.draws.values() if d.value.key() == m_sum.key()), None)
    gap = (
        plus(p_sum, times(-1, cast_back(m_sum, m)), times(-1, meaning))
        if p_sum.modulus == m and p_sum.shape == meaning.shape
        else None
    )
    width = range_of(out, meaning, output.meaning)
    if (
        draw is None
        or not draw.bits
        or gap is None
        or gap.terms != make(m, gap.shape, [(ONE, -extra << f)]).terms
    ):
        return False
    offset = -extra << f
    return width is not None and offset >= width and (1 << draw.bits) + width + offset <= m


def range_of(out: Run, x: Sum, meaning: p.Expr | None = None) -> int | None:
    """A bound of the size of every entry, from the stated ranges of inputs; None where there is none."""
    stated = {given.name: given for given in out.protocol.inputs}
    if isinstance(meaning, p.Ref) and meaning.name in stated:
        return 1 << stated[meaning.name].range_bits if stated[meaning.name].range_bits else None
    sizes = {
        name: 1 << one.range_bits
        for name, one in stated.items()
        if one.range_bits and not isinstance(one.holding, p.Shared)
    }
    sizes |= {HIDDEN + name: 1 << one.range_bits for name, one in stated.items() if one.range_bits}
    sizes |= {name: 1 << one.bits for name, one in out.draws.items() if one.bits}
    total = 0
    for factor, c in x.terms.items():
        own = _size(factor, sizes)
        if own is None:
            return None
        total += own * (min(c, x.modulus - c) if x.modulus else abs(c))
    return total


def _size(x: Factor, sizes: dict[str, int]) -> int | None:
    match x[0]:
        case "one":
            return 1
        case "atom":
            return sizes.get(x[1])
        case "map" if x[1][0] != "sum":
            return _size(x[2], sizes)
        case "@" | "*":
            parts = [_size(one, sizes) for one in (x[4:6] if x[0] == "@" else x[1])]
            known = [one for one in parts if one is not None]
            count = x[1] if x[0] == "@" else 1
            return prod(known) * count if len(known) == len(parts) and isinstance(count, int) else None
        case _:
            return None
