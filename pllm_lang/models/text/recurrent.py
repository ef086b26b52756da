"""How layers with a state of fixed size are written: convolutions, scans over positions, and what they keep.

A sequence begins with zeros in such a state. Where prefill is one step, its text takes zeros in the state's place; where
it runs in chunks, the state counts from the second chunk on.
"""

from __future__ import annotations

from pllm_lang.models.graph import Op
from pllm_lang.models.text.attention import last_positions
from pllm_lang.models.text.features import list_of
from pllm_lang.models.text.number import number
from pllm_lang.models.text.writer import Writer


def _before(writer: Writer, op: Op, state: str) -> str:
    """What a state holds before this step."""
    held = writer.state(state)
    if not op.inputs[0].startswith("state."):
        writer.step(writer.result(op, "start"), f"zeros_like({held})")
    elif writer.in_chunks:
        writer.step(writer.result(op, "start"), f"continued({held}, positions)")
    else:
        return held
    return writer.result(op, "start")


def write_convolution_window(writer: Writer, op: Op) -> None:
    state, new = writer.written[op.name], writer.operand(op.inputs[-1])
    before = _before(writer, op, state)
    writer.step(writer.result(op), f"concat({before}, {new}, axis: -2)")
    kept = writer.state_shape(state)[1]
    writer.step(writer.state(state), last_positions(writer.result(op), op.shape[1], kept))


def write_convolution(writer: Writer, op: Op) -> None:
    source, taps = writer.operand(op.inputs[0]), writer.weight(op, "weight")
    if "bias" not in op.weights:
        writer.rounded(op, "sums", f"causal_convolution({source}, {taps})")
        return
    writer.step(writer.result(op, "sums"), f"causal_convolution({source}, {taps})")
    writer.step(writer.result(op, "product"), f"encode({writer.result(op, 'sums')}, to: f32)")
    writer.step(writer.result(op), f"add_bias({writer.result(op, 'product')}, {writer.weight(op, 'bias')})")


def write_decay(writer: Writer, op: Op) -> None:
    rate, bias = writer.weight(op, "rate"), writer.weight(op, "bias")
    writer.step(writer.result(op), f"decay({writer.operand(op.inputs[0])}, {rate}, {bias})")


def write_step(writer: Writer, op: Op) -> None:
    """`softplus(x + bias)` between its bounds; no upper one is an empty word."""
    source, bias = writer.operand(op.inputs[0]), writer.weight(op, "bias")
    low, high = number(op.attributes["low"]), op.attributes["high"]
    writer.step(writer.result(op, "biased"), f"add_bias({source}, {bias})")
    writer.step(writer.result(op, "free"), f"softplus({writer.result(op, 'biased')})")
    free = writer.result(op, "free")
    if high:
        writer.step(writer.result(op), f"clamp({free}, low: {low}, high: {number(high)})")
    else:
        writer.step(writer.result(op), f"at_least({free}, low: {low})")


def write_delta_scan(writer: Writer, op: Op) -> None:
    key, value, decay, rate = (writer.operand(name) for name in op.inputs[-4:])
    start = _before(writer, op, "recurrent")
    operands = f"{start}, {_shared(op, key)}, {value}, {decay}, {rate}"
    writer.rounded(op, "sums", f"delta_scan({operands})")


def write_selective_scan(writer: Writer, op: Op) -> None:
    x, into, step = (writer.operand(name) for name in op.inputs[-3:])
    start = _before(writer, op, "recurrent")
    operands = f"{start}, {x}, {_shared(op, into)}, {step}, {writer.weight(op, 'rate')}"
    writer.rounded(op, "sums", f"selective_scan({operands})")


def write_state_read(writer: Writer, op: Op) -> None:
    states, query = (writer.operand(name) for name in op.inputs)
    operator = f"state_read_{op.attributes['along']}"
    writer.rounded(op, "sums", f"{operator}({states}, {_shared(op, query)})")


def _shared(op: Op, source: str) -> str:
    groups = op.attributes["groups"]
    return source if groups == 1 else f"repeat_kv({source}, times: {groups})"


def write_last_position(writer: Writer, op: Op) -> None:
    source, length = op.inputs[0], writer.shapes[op.inputs[0]][2]
    last = f"slice({writer.operand(source)}, axis: 2, start: {length - 1}, stop: {length})"
    writer.step(writer.result(op), f"reshape({last}, shape: {list_of(op.shape)})")
    writer.step(writer.state(writer.written[op.name]), writer.result(op))
