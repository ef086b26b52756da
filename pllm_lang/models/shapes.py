"""The shape of an op's result from those of its operands: what a graph must satisfy, and how a pass finds new
shapes.

Sizes that operands do not give (a linear layer's width, a cut's end, an index's length) are read off the op
itself.
"""

from __future__ import annotations

from pllm_lang.models.errors import LoweringError
from pllm_lang.models.graph import Op, Shape

_SAME = frozenset(
    [
        "rms_norm", "layer_norm", "l2_norm", "scale", "position_scale", "learned_scale", "head_scale",
    "feature_scale",
        "clamp", "add", "mul", "silu", "gelu", "gelu_tanh", "quick_gelu", "relu", "relu_squared", "sigmoid", "softmax", "softcap",
    "causal_mask",
        "alibi_bias", "rotary_embedding", "decay", "softplus_step", "normalize_sum", "expert_scale",
    "clamped_swiglu",
    ]
)  # fmt: skip
"""Operators whose result has the shape of their first operand."""


def result_shape(op: Op, operands: tuple[Shape, ...], batch: int) -> Shape:
    """The shape of `op`'s result, given its operands' and the batch."""
    last = op.shape[-1]
    if op.operator in _SAME:
        return operands[0]
    match op.operator:
        case "embedding":
            return (*operands[0], last)
        case "linear" | "slice" | "concat":
            return (*operands[0][:-1], last)
        case "split_heads":
            return (operands[0][0], op.shape[1], operands[0][1], operands[0][2] // op.shape[1])
        case "merge_heads":
            return (operands[0][0], operands[0][2], operands[0][1] * operands[0][3])
        case "repeat_kv":
            return (operands[0][0], op.shape[1], *operands[0][2:])
        case "kv_cache_append":
            return (*operands[-1][:2], _appended(op, operands), operands[-1][3])
        case "attention_scores":
            return (*operands[0][:3], operands[1][-2])
        case "attention_values":
            return (*operands[0][:3], operands[1][-1])
        case _:
            return _other(op, operands, batch)


def _appended(op: Op, operands: tuple[Shape, ...]) -> int:
    new = operands[-1][2]
    return new if len(operands) == 1 else min(max(op.shape[2], new), operands[0][2] + new)


def _other(op: Op, operands: tuple[Shape, ...], batch: int) -> Shape:
    first = operands[0]
    match op.operator:
        case "top_k":
            return (*first[:-1], min(op.shape[-1], first[-1]))
        case "gather" | "sparse_mixer":
            return operands[1]
        case "head_sum":
            return (first[0], first[2], first[3])
        case "expert_mul":
            return (*operands[1], first[-1])
        case "expert_linear":
            return (*operands[1], op.shape[-1])
        case "expert_sum":
            return (*first[:2], first[3])
        case "last_token":
            return (batch, first[-1])
        case "argmax":
            return (batch,)
        case _:
            return _recurrent(op, operands)


def _recurrent(op: Op, operands: tuple[Shape, ...]) -> Shape:
    first = operands[0]
    match op.operator:
        case "convolution_window":
            return (first[0], op.shape[1] if len(operands) == 1 else first[1] + operands[1][1], first[-1])
        case "causal_convolution":
            return (first[0], first[1] - int(str(op.attributes["kernel"])) + 1, first[2])
        case "gated_delta_scan" | "selective_scan":
            return (*op.shape[:2], operands[-1][1], *op.shape[3:])
        case "state_read":
            return (*first[:3], op.shape[-1])
        case "last_position":
            return (*first[:2], *first[3:])
        case _:
            raise LoweringError("pass.operator", f"the shape of operator {op.operator!r} is not known")
