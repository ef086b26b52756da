"""The truncation lemma: a difference of two shifted values is the shifted difference, up to one unit.

For integers M, D with 0 <= M < m and 0 <= M + D < m: floor((M + D)/2^f) - floor(M/2^f) is floor(D/2^f) or one
more. So an output `floor(P) - floor(M) + K` (shifts by f of residues P and M modulo m) with `P - M = D` and
`D = meaning - K * 2^f` is within 1 of meaning / 2^f, unless M + D leaves 0..m-1. With |D| <= 2^e that happens

- never, where M is `uniform_int(bits)` with 2^bits + 2^e <= m and D >= 0;
- with probability at most 2^e / m, where M is uniform modulo m (the share of a *uniform* sharing).

Local two-party truncation is the second case with P one share and M minus the other.
"""

from __future__ import annotations

from pllm_lang.ir import protocol as ir
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.protocol import polynomial as pl
from pllm_lang.verify.protocol.masking import centred
from pllm_lang.verify.protocol.polynomial import Poly
from pllm_lang.verify.protocol.ranges import integer_range
from pllm_lang.verify.protocol.report import Correctness
from pllm_lang.verify.protocol.tensors import Value
from pllm_lang.verify.protocol.trace import Trace


def truncated(output: ir.Output, value: Value, meaning: Value, trace: Trace) -> Correctness:
    """The lemma on an output that declares `scale_bits`."""
    if not (isinstance(value, Poly) and isinstance(meaning, Poly)):
        return _unproved(output, "a concatenation is not looked into")
    shifts = _two_shifts(value, output.scale_bits, trace)
    if isinstance(shifts, str):
        return _unproved(output, shifts)
    plus, minus, extra = shifts
    modulus = value.modulus
    gap = pl.add(plus, pl.scale(-1, minus), pl.scale(-1, meaning))
    offset = -extra << output.scale_bits
    if gap.terms != pl.number(offset, modulus, value.shape).terms:
        return _unproved(output, "the two shifted values do not differ by the meaning")
    width = _width(output, meaning, trace)
    if width is None:
        return _unproved(output, "no range of the truncated value is stated")
    return _judged(output, minus, width, offset, trace)


def _two_shifts(value: Poly, bits: int, trace: Trace) -> tuple[Poly, Poly, int] | str:
    """(P, M, K) of `floor(P) - floor(M) + K`."""
    plus: Poly | None = None
    minus: Poly | None = None
    extra = 0
    for (bound, leaves), coef in value.terms.items():
        sign = centred(coef, value.modulus)
        if not leaves and not bound:
            extra = sign
            continue
        if not leaves:
            return f"it is not a difference of two shifts by {bits}"
        call = trace.atoms[leaves[0][0]]
        entry = pl.whole(leaves[0][0], call.modulus, call.shape)
        whole = len(leaves) == 1 and not bound and next(iter(entry.terms))[1][0] == leaves[0]
        if not whole or call.name != "shift" or call.params != (bits, False):
            return f"it is not a difference of two shifts by {bits}"
        if sign == 1 and plus is None:
            plus = call.args[0]
        elif sign == -1 and minus is None:
            minus = call.args[0]
        else:
            return "more than one shift of a sign"
    if plus is None or minus is None:
        return "a shift of each sign is needed"
    modulus = value.modulus
    if plus.modulus != modulus or minus.modulus not in (0, modulus):
        return "the shifted values are in different rings"
    if not minus.modulus and (set(minus.terms.values()) != {1} or len(minus.terms) != 1):
        return "the subtracted integer is more than one draw"  # its residue would be shifted otherwise
    return plus, Poly(modulus, minus.shape, _reduced(minus, modulus)), extra


def _reduced(poly: Poly, modulus: int) -> pl.Terms:
    return {m: c % modulus for m, c in poly.terms.items() if c % modulus}


def _width(output: ir.Output, meaning: Poly, trace: Trace) -> int | None:
    """e with |meaning| <= 2^e: from the stated range of an input, or of what the meaning is made of."""
    if isinstance(output.meaning, ir.Ref):
        stated = next((i.range_bits for i in trace.protocol.inputs if i.name == output.meaning.name), 0)
        return stated or None
    ranges = {
        a: i.given.range_bits for a, i in trace.inputs.items() if i.piece is None and i.given.range_bits
    }
    return integer_range(meaning, trace.atoms, ranges)


def _judged(output: ir.Output, minus: Poly, width: int, offset: int, trace: Trace) -> Correctness:
    modulus = minus.modulus
    atom, uniform = _sole_atom(minus)
    if atom is None:
        return _unproved(output, "the subtracted value is not one draw or share")
    made = trace.atoms[atom]
    if made.modulus == 0 and made.kind == "draw" and uniform == 1:
        high = (1 << width) + max(offset, 0)
        if offset < 1 << width or (1 << made.bits) + high > modulus:
            return _unproved(output, "the masked value can leave the ring: offset or mask do not fit")
        return _proved(output, 0, ())
    if made.modulus != modulus or offset:
        return _unproved(output, "the subtracted value is not uniform over the ring")
    failure = modulus.bit_length() - 1 - width
    shared = trace.inputs.get(atom)
    is_share = shared is not None and shared.piece is not None
    if made.kind != "draw" and not is_share:  # a value in the clear is what it is
        return _unproved(output, "the subtracted value is not known to be uniform")
    if output.failure > failure or output.error < 1 or not output.failure:
        text = f"the failure probability is at most 2^-{failure} an entry, the error 1"
        claimed = f"2^-{output.failure}" if output.failure else "none that holds for every value"
        return _unproved(output, f"{text}; the record claims {claimed} and {output.error}")
    rests = () if shared is None else (f"the shares of {shared.given.name} are uniform",)
    return _proved(output, failure, rests)


def _sole_atom(poly: Poly) -> tuple[int | None, int]:
    if len(poly.terms) != 1:
        return None, 0
    (bound, leaves), coef = next(iter(poly.terms.items()))
    sign = centred(coef, poly.modulus)
    return (leaves[0][0], sign) if not bound and len(leaves) == 1 and sign in (1, -1) else (None, 0)


def _proved(output: ir.Output, failure: int, rests: tuple[str, ...]) -> Correctness:
    if output.error < 1:
        return _unproved(output, f"the error is 1 unit; the record claims {output.error}")
    how = "by the truncation lemma"
    return Correctness(output.name, Verdict.PROVED, how, (), failure, 1, rests, (output.origin,))


def _unproved(output: ir.Output, how: str) -> Correctness:
    return Correctness(output.name, Verdict.UNPROVED, how, origins=(output.origin,))
