"""How attention is written: caches, scores, masks, shares and values."""

from __future__ import annotations

from pllm_lang.models.graph import Op
from pllm_lang.models.text.number import number
from pllm_lang.models.text.writer import Writer, refuse_operator

MASKED = "hidden_score"
MASKED_VALUE = "-(2^128 - 2^104)"
"""The constant for a score that may not be seen, the lowest number of single precision, as in the published code: its
share of a softmax is 0 there."""


def write_cache(writer: Writer, op: Op) -> None:
    """Old and new positions behind each other; attention sees the last of them, the state keeps the last.

    A window of one position keeps none. A cache that is not yet full has empty slots before its first position, which
    `cache_mask` masks.
    """
    new, state = writer.operand(op.inputs[-1]), op.inputs[0].removeprefix("state.")
    kept, length, attended = int(str(op.attributes["capacity"])), writer.shapes[op.inputs[-1]][2], op.shape[2]
    writer.shapes[op.name] = op.shape
    if len(op.inputs) == 1 or not kept:
        writer.renamed[op.name] = new
    if not kept:
        return
    if len(op.inputs) == 1:
        state = writer.written[op.name]
    if len(op.inputs) == 1 and length >= kept:
        writer.step(writer.state(state), last_positions(new, length, kept))
        return
    both = writer.result(op, "all")
    writer.step(both, f"kv_cache_append({writer.state(state)}, {new})")
    if len(op.inputs) == 1:
        writer.step(writer.state(state), last_positions(both, kept + length, kept))
        return
    seen = both if attended == kept + length else writer.result(op)
    writer.renamed[op.name] = seen
    if seen != both:
        writer.step(seen, last_positions(both, kept + length, attended))
    writer.step(writer.state(state), last_positions(seen, attended, kept))


def last_positions(source: str, length: int, kept: int) -> str:
    """The last `kept` of `length` positions, which are the last axis but one."""
    if length == kept:
        return source
    return f"slice({source}, axis: -2, start: {length - kept}, stop: {length})"


def write_scores(writer: Writer, op: Op) -> None:
    """`q k^T` in the library is divided by a root; `query_scalar: 1` leaves it as it is."""
    query, keys = (writer.operand(name) for name in op.inputs)
    writer.rounded(op, "sums", f"attention_scores({query}, {_shared(op, keys)}, query_scalar: 1)")


def write_values(writer: Writer, op: Op) -> None:
    shares, values = (writer.operand(name) for name in op.inputs)
    writer.rounded(op, "sums", f"attention_values({shares}, {_shared(op, values)})")


def _shared(op: Op, source: str) -> str:
    """Keys or values, each head as often as queries share it."""
    groups = op.attributes["groups"]
    return source if groups == 1 else f"repeat_kv({source}, times: {groups})"


def write_alibi(writer: Writer, op: Op) -> None:
    most = number(op.attributes["max_bias"])
    writer.step(writer.result(op), f"alibi_bias({writer.operand(op.inputs[0])}, max_bias: {most})")


def write_mask(writer: Writer, op: Op) -> None:
    """Later positions, those outside of a window or the own block, and, with a fourth operand, those not chosen."""
    chosen = op.inputs[3] if len(op.inputs) == 4 else ""
    if chosen and len(writer.shapes[chosen]) != 3:
        raise refuse_operator(op, "a mask of the positions that were gathered has no form in the library")
    scores, positions = (writer.operand(name) for name in op.inputs[:2])
    steps = [f"cache_mask($, {positions}, fill: {MASKED}{_window(op)})"]
    if "chunk" in op.attributes:
        steps = [f"chunk_mask($, {positions}, fill: {MASKED}, chunk: {op.attributes['chunk']})", *steps]
        steps = steps if "window" in op.attributes else steps[:1]
    if chosen:
        steps.append(f"choice_mask($, {writer.operand(chosen)}, fill: {MASKED})")
    for place, step in enumerate(steps, start=1):
        result = writer.result(op) if place == len(steps) else writer.result(op, f"part_{place}")
        writer.step(result, step.replace("$", scores))
        scores = result


def _window(op: Op) -> str:
    window = op.attributes.get("window", 0)
    return f", window: {window}" if window else ""


def write_softmax(writer: Writer, op: Op) -> None:
    """A router's `sigmoid` states its axis as well."""
    if op.attributes.get("axis", -1) != -1:
        raise refuse_operator(op, f"{op.operator} over another axis than the last has no form in the library")
    source = writer.operand(op.inputs[0])
    if "sink" in op.weights:
        writer.step(writer.result(op), f"softmax_with_sink({source}, {writer.weight(op, 'sink')})")
    else:
        writer.step(writer.result(op), f"{op.operator}({source})")


def write_head_sum(writer: Writer, op: Op) -> None:
    scores, mix = (writer.operand(name) for name in op.inputs)
    writer.rounded(op, "sums", f"head_sum({scores}, {mix})")
