"""How norms, scales and linear layers are written.

A norm in its usual form is one operator of the library. Without a weight, over parts of a row, or with a weight for
each head, it is the norm of rows without a weight, and the product with the weight behind it.
"""

from __future__ import annotations

from pllm_lang.models.graph import Op, Shape
from pllm_lang.models.text.number import number
from pllm_lang.models.text.writer import Writer, refuse_operator


def list_of(items: Shape) -> str:
    return f"[{', '.join(map(str, items))}]"


# ---- norms


def write_rms_norm(writer: Writer, op: Op) -> None:
    if "weight" not in op.weights or not set(op.attributes) <= {"eps", "offset"}:
        _norm_in_parts(writer, op, "rms_unit")
        return
    offset = op.attributes.get("offset", 0)
    end = f", offset: {number(offset)}" if offset else ""
    source, weight = writer.operand(op.inputs[0]), writer.weight(op, "weight")
    eps = number(op.attributes["eps"])
    writer.step(writer.result(op), f"rms_norm({source}, {weight}, eps: {eps}{end})")


def write_layer_norm(writer: Writer, op: Op) -> None:
    if "weight" not in op.weights or set(op.attributes) != {"eps"}:
        _norm_in_parts(writer, op, "layer_unit")
        return
    source, weight = writer.operand(op.inputs[0]), writer.weight(op, "weight")
    eps = number(op.attributes["eps"])
    if "bias" in op.weights:
        bias = writer.weight(op, "bias")
        writer.step(writer.result(op), f"layer_norm({source}, {weight}, {bias}, eps: {eps})")
    else:
        writer.step(writer.result(op), f"centred_norm({source}, {weight}, eps: {eps})")


def _norm_in_parts(writer: Writer, op: Op, operator: str) -> None:
    """The norm without a weight, then times the weight, then with the bias."""
    source, groups = writer.operand(op.inputs[0]), int(str(op.attributes.get("groups", 1)))
    eps = number(op.attributes["eps"])
    left = [role for role in ("weight", "bias") if role in op.weights]
    unit = writer.result(op, "unit") if left else writer.result(op)
    if groups > 1:
        parts = list_of((*op.shape[:-1], groups, op.shape[-1] // groups))
        writer.step(writer.result(op, "parts"), f"{operator}(reshape({source}, shape: {parts}), eps: {eps})")
        writer.step(unit, f"reshape({writer.result(op, 'parts')}, shape: {list_of(op.shape)})")
    else:
        writer.step(unit, f"{operator}({source}, eps: {eps})")
    if "weight" in left:
        scaled = writer.result(op, "scaled") if "bias" in left else writer.result(op)
        _norm_weight(writer, op, unit, scaled)
        unit = scaled
    if "bias" in left:
        writer.step(writer.result(op), f"add_bias({unit}, {writer.weight(op, 'bias')})")


def _norm_weight(writer: Writer, op: Op, unit: str, scaled: str) -> None:
    weight, offset = writer.weight(op, "weight"), op.attributes.get("offset", 0)
    if "per_head" in op.attributes:
        if offset or "bias" in op.weights:
            raise refuse_operator(
                op, "a norm for each head with an offset or a bias has no form in the library"
            )
        product = f"scale_rows_of_heads({unit}, {weight})"
    else:
        end = f", offset: {number(offset)}" if offset else ""
        product = f"scale_columns({unit}, {weight}{end})"
    writer.step(writer.result(op, "product"), product)
    writer.step(scaled, f"encode({writer.result(op, 'product')}, to: f32)")


def write_l2_norm(writer: Writer, op: Op) -> None:
    eps = number(op.attributes["eps"])
    writer.step(writer.result(op), f"l2_norm({writer.operand(op.inputs[0])}, eps: {eps})")


# ---- scales


def write_scale(writer: Writer, op: Op) -> None:
    source, factor = writer.operand(op.inputs[0]), number(op.attributes.get("factor", "1"))
    given = {name: number(op.attributes[name]) for name in ("gain", "of", "root") if name in op.attributes}
    if "gain" in given and "of" in given:
        values = ", ".join(f"{name}: {value}" for name, value in given.items())
        writer.step(writer.result(op), f"scale_by_log({source}, factor: {factor}, {values})")
    elif "root" in given:
        writer.step(writer.result(op), f"scale_by_root({source}, factor: {factor}, root: {given['root']})")
    else:
        writer.step(writer.result(op), f"scale({source}, by: {factor})")


def write_position_scale(writer: Writer, op: Op) -> None:
    source, positions = (writer.operand(name) for name in op.inputs)
    scale, every, shift = (number(op.attributes[name]) for name in ("scale", "floor", "shift"))
    end = f", shift: {shift}" if shift != "0" else ""
    writer.step(
        writer.result(op), f"scale_by_position({source}, {positions}, gain: {scale}, every: {every}{end})"
    )


WEIGHTED = {
    "learned_scale": "scale_by_weight",
    "head_scale": "scale_heads",
    "feature_scale": "scale_columns",
}
"""Products with a stored weight, by the graph's name."""


def write_weighted(writer: Writer, op: Op) -> None:
    source, weight = writer.operand(op.inputs[0]), writer.weight(op, "weight")
    writer.rounded(op, "product", f"{WEIGHTED[op.operator]}({source}, {weight})")


# ---- linear layers


def write_linear(writer: Writer, op: Op) -> None:
    """`x W^T`, rounded, and the bias behind it. A weight of integers has a scale for each column of the result."""
    writer.step(
        writer.result(op, "sums"), f"linear({writer.operand(op.inputs[0])}, {_linear_weight(writer, op)})"
    )
    sums = writer.result(op, "sums")
    if "weight_bits" in op.attributes:
        scales = f"{writer.weight(op, 'weight')}.scale"
        writer.step(writer.result(op, "scaled_sums"), f"scale_columns({sums}, {scales})")
        sums = writer.result(op, "scaled_sums")
    if "bias" not in op.weights:
        writer.step(writer.result(op), f"encode({sums}, to: f32)")
        return
    writer.step(writer.result(op, "product"), f"encode({sums}, to: f32)")
    writer.step(writer.result(op), f"add_bias({writer.result(op, 'product')}, {writer.weight(op, 'bias')})")


def _linear_weight(writer: Writer, op: Op) -> str:
    weight = writer.weight(op, "weight")
    turned = op.attributes.get("stored") == "in_out"
    if "unit_rows" in op.attributes:
        if turned or "weight_bits" in op.attributes:
            raise refuse_operator(
                op, "rows of length one of a transposed or quantised weight have no form in the library"
            )
        if writer.dtype != "f32":
            writer.step(writer.result(op, "weight"), f"cast({weight}, to: f32)")
            weight = writer.result(op, "weight")
        writer.step(writer.result(op, "rows"), f"unit_rows({weight})")
        return writer.result(op, "rows")
    return f"transpose({weight})" if turned and "weight_bits" not in op.attributes else weight
