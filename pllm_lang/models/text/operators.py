"""How each operator of the semantic graph is written in a plan.

In: an op and the `Writer` of its body. Out: steps in the order of the library's operators. An operator, attribute or
form that the library has no operator for is refused by name (`text.operator`), never written as something else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from pllm_lang.models.graph import Op
from pllm_lang.models.text.experts import (
    write_expert_linear,
    write_expert_sum,
    write_gather,
    write_mul,
    write_normalize_sum,
    write_top_k,
)
from pllm_lang.models.text.number import number
from pllm_lang.models.text.rotary import write_rotary
from pllm_lang.models.text.writer import Writer, refuse_operator

Write: TypeAlias = Callable[[Writer, Op], None]

MASKED = "hidden_score"
MASKED_VALUE = "-(2^128 - 2^104)"
"""The constant for a score that may not be seen, the lowest number of single precision, as in the published code: its
share of a softmax is 0 there."""


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


def _list(items: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, items))}]"


# ---- entries and rows


def _entrywise(writer: Writer, op: Op) -> None:
    operands = ", ".join(writer.operand(name) for name in op.inputs)
    writer.step(writer.result(op), f"{op.operator}({operands})")


def _softcap(writer: Writer, op: Op) -> None:
    writer.step(writer.result(op), f"softcap({writer.operand(op.inputs[0])}, cap: {_attribute(op, 'cap')})")


def _clamp(writer: Writer, op: Op) -> None:
    low, high = _attribute(op, "low"), _attribute(op, "high")
    writer.step(writer.result(op), f"clamp({writer.operand(op.inputs[0])}, low: {low}, high: {high})")


def _scale(writer: Writer, op: Op) -> None:
    source, factor = writer.operand(op.inputs[0]), number(op.attributes.get("factor", "1"))
    if "root" not in op.attributes:
        writer.step(writer.result(op), f"scale({source}, by: {factor})")
        return
    root = _attribute(op, "root")
    writer.step(writer.result(op), f"scale_by_root({source}, factor: {factor}, root: {root})")


def _over_rows(writer: Writer, op: Op) -> None:
    """`softmax`; a router's `sigmoid` states its axis as well."""
    if op.attributes.get("axis", -1) != -1:
        raise refuse_operator(op, f"{op.operator} over another axis than the last has no form in the library")
    writer.step(writer.result(op), f"{op.operator}({writer.operand(op.inputs[0])})")


def _rms_norm(writer: Writer, op: Op) -> None:
    if "weight" not in op.weights:
        raise refuse_operator(op, "rms_norm without a weight has no form in the library")
    offset = op.attributes.get("offset", 0)
    end = f", offset: {number(offset)}" if offset else ""
    source, weight = writer.operand(op.inputs[0]), writer.weight(op, "weight")
    writer.step(writer.result(op), f"rms_norm({source}, {weight}, eps: {_attribute(op, 'eps')}{end})")


def _layer_norm(writer: Writer, op: Op) -> None:
    if "weight" not in op.weights:
        raise refuse_operator(op, "layer_norm without a weight has no form in the library")
    source, weight, eps = writer.operand(op.inputs[0]), writer.weight(op, "weight"), _attribute(op, "eps")
    if "bias" in op.weights:
        bias = writer.weight(op, "bias")
        writer.step(writer.result(op), f"layer_norm({source}, {weight}, {bias}, eps: {eps})")
    else:
        writer.step(writer.result(op), f"centred_norm({source}, {weight}, eps: {eps})")


# ---- linear layers and tables


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
    _into_f32(writer, op, f"reshape({writer.result(op, 'rows')}, shape: {_list(op.shape)})", structural=True)


def _into_f32(writer: Writer, op: Op, call: str, *, structural: bool = False) -> None:
    """A value in the weights' format, into the format of the computation."""
    if writer.dtype == "f32":
        writer.step(writer.result(op), call)
    elif structural:
        writer.step(writer.result(op), f"cast({call}, to: f32)")
    else:
        writer.step(writer.result(op, "stored"), call)
        writer.step(writer.result(op), f"cast({writer.result(op, 'stored')}, to: f32)")


def _linear(writer: Writer, op: Op) -> None:
    weight, source = writer.weight(op, "weight"), writer.operand(op.inputs[0])
    if op.attributes.get("stored") == "in_out":
        weight = f"transpose({weight})"
    writer.step(writer.result(op, "sums"), f"linear({source}, {weight})")
    if "bias" not in op.weights:
        writer.step(writer.result(op), f"encode({writer.result(op, 'sums')}, to: f32)")
        return
    writer.step(writer.result(op, "product"), f"encode({writer.result(op, 'sums')}, to: f32)")
    writer.step(writer.result(op), f"add_bias({writer.result(op, 'product')}, {writer.weight(op, 'bias')})")


# ---- layout


def _slice(writer: Writer, op: Op) -> None:
    start, stop = _attribute(op, "start"), _attribute(op, "stop")
    source = writer.operand(op.inputs[0])
    writer.step(writer.result(op), f"slice({source}, axis: -1, start: {start}, stop: {stop})")


def _split_heads(writer: Writer, op: Op) -> None:
    heads = _attribute(op, "heads")
    writer.step(writer.result(op), f"split_heads({writer.operand(op.inputs[0])}, heads: {heads})")


def _unary(writer: Writer, op: Op) -> None:
    writer.step(writer.result(op), f"{op.operator}({writer.operand(op.inputs[0])})")


# ---- attention


def _cache(writer: Writer, op: Op) -> None:
    """Old and new positions behind each other; attention sees the last of them, the state keeps the last.

    A cache that is not yet full has empty slots before its first position; `cache_mask` masks them.
    """
    new, state = writer.operand(op.inputs[-1]), op.inputs[0].removeprefix("state.")
    if len(op.inputs) == 1:
        state = writer.written[op.name]
        writer.renamed[op.name] = new
    kept, length, attended = writer.state_shape(state)[2], writer.shapes[op.inputs[-1]][2], op.shape[2]
    writer.shapes[op.name] = op.shape
    if kept == 0:
        raise refuse_operator(op, "a window of one position keeps no cache, which has no form in the library")
    if len(op.inputs) == 1 and length >= kept:
        writer.step(writer.state(state), _last(new, length, kept))
        return
    both = writer.result(op, "all")
    writer.step(both, f"kv_cache_append({writer.state(state)}, {new})")
    if len(op.inputs) == 1:
        writer.step(writer.state(state), _last(both, kept + length, kept))
        return
    seen = both if attended == kept + length else writer.result(op)
    writer.renamed[op.name] = seen
    if seen != both:
        writer.step(seen, _last(both, kept + length, attended))
    writer.step(writer.state(state), _last(seen, attended, kept))


def _last(source: str, length: int, kept: int) -> str:
    """The last `kept` of `length` positions."""
    if length == kept:
        return source
    return f"slice({source}, axis: -2, start: {length - kept}, stop: {length})"


def _scores(writer: Writer, op: Op) -> None:
    """`q k^T` in the library is divided by a root; `query_scalar: 1` leaves it as it is."""
    query, keys = (writer.operand(name) for name in op.inputs)
    writer.step(
        writer.result(op, "sums"),
        f"attention_scores({query}, {_shared(op, keys)}, query_scalar: 1)",
    )
    writer.step(writer.result(op), f"encode({writer.result(op, 'sums')}, to: f32)")


def _values(writer: Writer, op: Op) -> None:
    shares, values = (writer.operand(name) for name in op.inputs)
    writer.step(writer.result(op, "sums"), f"attention_values({shares}, {_shared(op, values)})")
    writer.step(writer.result(op), f"encode({writer.result(op, 'sums')}, to: f32)")


def _shared(op: Op, source: str) -> str:
    """Keys or values, each head as often as queries share it."""
    groups = op.attributes["groups"]
    return source if groups == 1 else f"repeat_kv({source}, times: {groups})"


def _mask(writer: Writer, op: Op) -> None:
    if len(op.inputs) != 3:
        raise refuse_operator(op, "a mask of chosen positions has no form in the library")
    window = op.attributes.get("window", 0)
    end = f", window: {window}" if window else ""
    scores, positions = (writer.operand(name) for name in op.inputs[:2])
    writer.step(writer.result(op), f"cache_mask({scores}, {positions}, fill: {MASKED}{end})")


_NONE: tuple[str, ...] = ()
_WRITERS: dict[str, tuple[Write, tuple[str, ...], tuple[str, ...] | None]] = {
    **dict.fromkeys(
        ("add", "silu", "gelu", "gelu_tanh", "quick_gelu", "relu", "relu_squared"),
        (_entrywise, _NONE, _NONE),
    ),
    "sigmoid": (_over_rows, _NONE, ("axis",)),
    "mul": (write_mul, _NONE, _NONE),
    "softcap": (_softcap, _NONE, ("cap",)),
    "clamp": (_clamp, _NONE, ("low", "high")),
    "scale": (_scale, _NONE, ("factor", "root")),
    "softmax": (_over_rows, _NONE, ("axis",)),
    "top_k": (write_top_k, _NONE, ("k",)),
    "gather": (write_gather, _NONE, _NONE),
    "normalize_sum": (write_normalize_sum, _NONE, ("eps",)),
    "expert_linear": (write_expert_linear, ("weight",), _NONE),
    "expert_sum": (write_expert_sum, _NONE, _NONE),
    "rms_norm": (_rms_norm, ("weight",), ("eps", "offset")),
    "layer_norm": (_layer_norm, ("weight", "bias"), ("eps",)),
    "embedding": (_embedding, ("weight",), ("offset",)),
    "linear": (_linear, ("weight", "bias"), ("stored",)),
    "slice": (_slice, _NONE, ("start", "stop")),
    "split_heads": (_split_heads, _NONE, ("heads",)),
    "merge_heads": (_unary, _NONE, _NONE),
    "rotary_embedding": (write_rotary, _NONE, None),
    "kv_cache_append": (_cache, _NONE, ("capacity",)),
    "attention_scores": (_scores, _NONE, ("groups",)),
    "attention_values": (_values, _NONE, ("groups",)),
    "causal_mask": (_mask, _NONE, ("window",)),
    "last_token": (_unary, _NONE, _NONE),
    "argmax": (_unary, _NONE, _NONE),
}
"""How each operator is written, and which weights and attributes it may have (None: its writer sees to them)."""
