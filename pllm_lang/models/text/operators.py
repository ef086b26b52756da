"""How each operator of the semantic graph is written in a plan.

In: an op and the `Writer` of its body. Out: steps in the order of the library's operators. An operator, attribute or
form that the library has no operator for is refused by name (`text.operator`), never written as something else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from pllm_lang.models.graph import Op
from pllm_lang.models.text import attention, experts, features, recurrent
from pllm_lang.models.text.features import list_of
from pllm_lang.models.text.number import number
from pllm_lang.models.text.rotary import write_rotary
from pllm_lang.models.text.writer import Writer, refuse_operator

Write: TypeAlias = Callable[[Writer, Op], None]


def write(writer: Writer, op: Op) -> None:
    """The steps of one op."""
    found = _WRITERS.get(op.operator)
    if found is None:
        raise refuse_operator(op, f"the library has no operator for {op.operator}")
    write_one, weights, attributes = found
    strangers = set(op.weights) - set(weights)
    if attributes is not None:
        strangers |= set(op.attributes) - set(attributes)
    if strangers:
        raise refuse_operator(
            op, f"{op.operator} with {', '.join(sorted(strangers))} has no form in the library"
        )
    write_one(writer, op)


def _attribute(op: Op, name: str) -> str:
    return number(op.attributes[name])


# ---- entries


def _entrywise(writer: Writer, op: Op) -> None:
    operands = ", ".join(writer.operand(name) for name in op.inputs)
    writer.step(writer.result(op), f"{op.operator}({operands})")


def _softcap(writer: Writer, op: Op) -> None:
    writer.step(writer.result(op), f"softcap({writer.operand(op.inputs[0])}, cap: {_attribute(op, 'cap')})")


def _clamp(writer: Writer, op: Op) -> None:
    low, high = _attribute(op, "low"), _attribute(op, "high")
    writer.step(writer.result(op), f"clamp({writer.operand(op.inputs[0])}, low: {low}, high: {high})")


# ---- tables


def _embedding(writer: Writer, op: Op) -> None:
    table, ids = writer.weight(op, "weight"), writer.operand(op.inputs[0])
    offset = int(str(op.attributes.get("offset", 0)))
    if offset:
        table = f"slice({table}, axis: 0, start: {offset}, stop: {writer.weight_shape(op, 'weight')[0]})"
    rows = f"embedding({table}, {ids})"
    if len(writer.shapes[op.inputs[0]]) == len(op.shape) - 1:
        _into_f32(writer, op, rows)
        return
    writer.step(writer.result(op, "rows"), rows)
    batch, *row_shape = op.shape
    alike = f"reshape({writer.result(op, 'rows')}, shape: {list_of((1, *row_shape))})"
    _into_f32(writer, op, alike if batch == 1 else f"repeat_kv({alike}, times: {batch})", structural=True)


def _into_f32(writer: Writer, op: Op, call: str, *, structural: bool = False) -> None:
    """A value in the weights' format, into the format of the computation."""
    if writer.dtype == "f32":
        writer.step(writer.result(op), call)
    elif structural:
        writer.step(writer.result(op), f"cast({call}, to: f32)")
    else:
        writer.step(writer.result(op, "stored"), call)
        writer.step(writer.result(op), f"cast({writer.result(op, 'stored')}, to: f32)")


# ---- layout


def _slice(writer: Writer, op: Op) -> None:
    start, stop = _attribute(op, "start"), _attribute(op, "stop")
    source = writer.operand(op.inputs[0])
    writer.step(writer.result(op), f"slice({source}, axis: -1, start: {start}, stop: {stop})")


def _concat(writer: Writer, op: Op) -> None:
    """The parts one behind the other along the last axis."""
    joined, *parts = (writer.operand(name) for name in op.inputs)
    for part in parts:
        joined = f"concat({joined}, {part})"
    writer.step(writer.result(op), joined)


def _split_heads(writer: Writer, op: Op) -> None:
    heads = _attribute(op, "heads")
    writer.step(writer.result(op), f"split_heads({writer.operand(op.inputs[0])}, heads: {heads})")


def _repeat_kv(writer: Writer, op: Op) -> None:
    times = _attribute(op, "times")
    writer.step(writer.result(op), f"repeat_kv({writer.operand(op.inputs[0])}, times: {times})")


def _unary(writer: Writer, op: Op) -> None:
    writer.step(writer.result(op), f"{op.operator}({writer.operand(op.inputs[0])})")


_NONE: tuple[str, ...] = ()
_NORM = ("eps", "offset", "groups", "per_head")
_WRITERS: dict[str, tuple[Write, tuple[str, ...], tuple[str, ...] | None]] = {
    **dict.fromkeys(
        ("add", "silu", "gelu", "gelu_tanh", "quick_gelu", "relu", "relu_squared"),
        (_entrywise, _NONE, _NONE),
    ),
    "sigmoid": (attention.write_softmax, _NONE, ("axis",)),
    "mul": (experts.write_mul, _NONE, _NONE),
    "softcap": (_softcap, _NONE, ("cap",)),
    "clamp": (_clamp, _NONE, ("low", "high")),
    "scale": (features.write_scale, _NONE, ("factor", "root", "gain", "of")),
    "position_scale": (features.write_position_scale, _NONE, ("scale", "floor", "shift")),
    **dict.fromkeys(features.WEIGHTED, (features.write_weighted, ("weight",), _NONE)),
    "softmax": (attention.write_softmax, ("sink",), ("axis",)),
    "top_k": (experts.write_top_k, ("correction",), ("k", "groups", "top_groups", "group_score")),
    "gather": (experts.write_gather, _NONE, _NONE),
    "normalize_sum": (experts.write_normalize_sum, _NONE, ("eps",)),
    "sparse_mixer": (experts.write_sparse_mixer, _NONE, ("jitter",)),
    "expert_scale": (experts.write_expert_scale, ("weight",), _NONE),
    "expert_mul": (experts.write_expert_input, _NONE, _NONE),
    "expert_linear": (experts.write_expert_linear, ("weight", "bias"), ("weight_bits",)),
    "clamped_swiglu": (experts.write_clamped_swiglu, _NONE, ("limit", "slope")),
    "expert_sum": (experts.write_expert_sum, _NONE, _NONE),
    "rms_norm": (features.write_rms_norm, ("weight", "bias"), _NORM),
    "layer_norm": (features.write_layer_norm, ("weight", "bias"), _NORM),
    "l2_norm": (features.write_l2_norm, _NONE, ("eps",)),
    "embedding": (_embedding, ("weight",), ("offset",)),
    "linear": (features.write_linear, ("weight", "bias"), ("stored", "unit_rows", "weight_bits")),
    "slice": (_slice, _NONE, ("start", "stop")),
    "concat": (_concat, _NONE, _NONE),
    "split_heads": (_split_heads, _NONE, ("heads",)),
    "merge_heads": (_unary, _NONE, _NONE),
    "repeat_kv": (_repeat_kv, _NONE, ("times",)),
    "rotary_embedding": (write_rotary, _NONE, None),
    "kv_cache_append": (attention.write_cache, _NONE, ("capacity",)),
    "attention_scores": (attention.write_scores, _NONE, ("groups",)),
    "attention_values": (attention.write_values, _NONE, ("groups",)),
    "alibi_bias": (attention.write_alibi, _NONE, ("max_bias",)),
    "causal_mask": (attention.write_mask, _NONE, ("window", "chunk")),
    "head_sum": (attention.write_head_sum, _NONE, _NONE),
    "convolution_window": (recurrent.write_convolution_window, _NONE, ("kernel",)),
    "causal_convolution": (recurrent.write_convolution, ("weight", "bias"), ("kernel",)),
    "decay": (recurrent.write_decay, ("rate", "bias"), _NONE),
    "softplus_step": (recurrent.write_step, ("bias",), ("low", "high")),
    "gated_delta_scan": (recurrent.write_delta_scan, _NONE, ("groups",)),
    "selective_scan": (recurrent.write_selective_scan, ("rate",), ("groups",)),
    "state_read": (recurrent.write_state_read, _NONE, ("groups", "along")),
    "last_position": (recurrent.write_last_position, _NONE, _NONE),
    "last_token": (_unary, _NONE, _NONE),
    "argmax": (_unary, _NONE, _NONE),
}
"""How each operator is written, and which weights and attributes it may have (None: its writer sees to them)."""
