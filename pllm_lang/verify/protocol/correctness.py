"""Whether the outputs are what they should be, whoever looks.

In: a trace of one execution. An output in the clear must equal its meaning at every party that gets it; the
pieces of a shared output must recombine to it, and the copies of a piece must agree. Equal normal forms are
*proved*; different ones are *unproved* until `point.py` executes an input where they differ. A text that
rounds is proved by the truncation lemma (`truncation.py`).
"""

from __future__ import annotations

from pllm_lang.ir import protocol as ir
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.protocol import polynomial as pl
from pllm_lang.verify.protocol import tensors as tn
from pllm_lang.verify.protocol.problem import meaning_of
from pllm_lang.verify.protocol.report import Correctness
from pllm_lang.verify.protocol.tensors import Value
from pllm_lang.verify.protocol.trace import Trace
from pllm_lang.verify.protocol.truncation import truncated


def check_outputs(trace: Trace) -> list[Correctness]:
    return [check_output(output, trace) for output in trace.protocol.outputs]


def check_output(output: ir.Output, trace: Trace) -> Correctness:
    value = recombined(output, trace)
    if isinstance(value, str):
        return Correctness(output.name, Verdict.UNPROVED, value, origins=(output.origin,))
    if output.meaning is None:
        return Correctness(output.name, Verdict.PROVED, "no meaning is stated", origins=(output.origin,))
    meaning = meaning_of(trace, trace.copies[0].values, output.meaning)
    if tn.shape_of(meaning) != tn.shape_of(value) or tn.modulus_of(meaning) != tn.modulus_of(value):
        how = "the shape or the ring is not that of the meaning"
        return Correctness(output.name, Verdict.UNPROVED, how, origins=(output.origin,))
    if output.scale_bits:
        return truncated(output, value, meaning, trace)
    if same(value, meaning):
        return Correctness(output.name, Verdict.PROVED, "equal as polynomials", origins=(output.origin,))
    how = f"it is not the meaning as a polynomial; the difference is not 0 in {_size(value, meaning)} parts"
    return Correctness(output.name, Verdict.UNPROVED, how, origins=(output.origin,))


def recombined(output: ir.Output, trace: Trace) -> Value | str:
    """The output's value from its variables; a sentence where copies differ or are missing."""
    found = trace.copies[0].outputs
    if not isinstance(output.holding, ir.Shared):
        values = [v for (_, name), v in found.items() if name == output.name]
        return _agreed(values, output.name)
    terms: list[Value] = []
    for piece in output.holding.pieces:
        name = f"{output.name}.{piece.label}"
        value = _agreed([found[h, name] for h in piece.holders if (h, name) in found], name)
        if isinstance(value, str):
            return value
        terms.append(tn.entrywise(lambda ps, c=piece.coefficient: pl.scale(c, ps[0]), [value]))
    if len({(tn.shape_of(t), tn.modulus_of(t)) for t in terms}) != 1:
        return f"the pieces of {output.name} do not add: their shapes or rings differ"
    return tn.entrywise(lambda ps: pl.add(*ps), terms)


def _agreed(values: list[Value], name: str) -> Value | str:
    if not values:
        return f"nobody computes {name}"
    if any(not same(v, values[0]) for v in values[1:]):
        return f"the holders of {name} do not hold the same value"
    return values[0]


def same(left: Value, right: Value) -> bool:
    if tn.shape_of(left) != tn.shape_of(right) or tn.modulus_of(left) != tn.modulus_of(right):
        return False
    return not any(p.terms for p in tn.parts_of(difference(left, right)))


def difference(left: Value, right: Value) -> Value:
    return tn.entrywise(lambda ps: pl.add(ps[0], pl.scale(-1, ps[1])), [left, right])


def _size(left: Value, right: Value) -> int:
    return sum(bool(p.terms) for p in tn.parts_of(difference(left, right)))
