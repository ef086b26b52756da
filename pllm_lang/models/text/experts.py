"""How a mixture of experts is written: the choice, the shares of the chosen, their layers and the sum.

The largest scores and where they stood are the two results of one `top_k`. What the graph gathers at the chosen places
are its values, or, where the choice was made by other scores (a correction, groups), a `pick` of its own.
"""

from __future__ import annotations

from pllm_lang.models.graph import Op
from pllm_lang.models.text.attention import MASKED
from pllm_lang.models.text.features import list_of
from pllm_lang.models.text.number import number
from pllm_lang.models.text.writer import Writer, refuse_operator


def write_top_k(writer: Writer, op: Op) -> None:
    source = _corrected(writer, op)
    chosen, values, k = writer.result(op), writer.result(op, "scores"), number(op.attributes["k"])
    if _gathered(writer, op):
        writer.chosen[op.name] = values
    else:
        values = f"_{values}"
    writer.step(f"{values}, {chosen}", f"top_k({source}, k: {k})")


def _gathered(writer: Writer, op: Op) -> bool:
    """Whether the scores that were chosen by are read at the chosen places."""
    plain = not op.weights and "groups" not in op.attributes
    return plain and any(
        one.operator == "gather" and one.inputs == (op.inputs[0], op.name) for one in writer.body
    )


def _corrected(writer: Writer, op: Op) -> str:
    """The scores that the choice is made by."""
    source = writer.operand(op.inputs[0])
    if "correction" in op.weights:
        writer.step(writer.result(op, "corrected"), f"add_bias({source}, {writer.weight(op, 'correction')})")
        source = writer.result(op, "corrected")
    if "groups" not in op.attributes:
        return source
    shape, groups = writer.shapes[op.inputs[0]], int(str(op.attributes["groups"]))
    by = 1 if op.attributes["group_score"] == "max" else 2
    parts = f"reshape({source}, shape: {list_of((*shape[:-1], groups, shape[-1] // groups))})"
    keep = op.attributes["top_groups"]
    writer.step(
        writer.result(op, "groups"), f"keep_best_groups({parts}, keep: {keep}, by: {by}, fill: {MASKED})"
    )
    writer.step(writer.result(op, "kept"), f"reshape({writer.result(op, 'groups')}, shape: {list_of(shape)})")
    return writer.result(op, "kept")


def write_gather(writer: Writer, op: Op) -> None:
    """The values of the `top_k` that chose are no step of their own."""
    values = writer.chosen.get(op.inputs[1])
    if values is None:
        scores, chosen = (writer.operand(name) for name in op.inputs)
        writer.step(writer.result(op), f"pick({scores}, {chosen})")
        return
    writer.shapes[op.name] = op.shape
    writer.renamed[op.name] = values


def write_normalize_sum(writer: Writer, op: Op) -> None:
    end = f", eps: {number(op.attributes['eps'])}" if "eps" in op.attributes else ""
    writer.step(writer.result(op), f"normalize_sum({writer.operand(op.inputs[0])}{end})")


def write_sparse_mixer(writer: Writer, op: Op) -> None:
    """One share after the other: that of the best among those near it, which is then left out."""
    logits, jitter = writer.operand(op.inputs[0]), number(op.attributes["jitter"])
    left, count = logits, op.shape[-1]
    column = list_of((*op.shape[:-1], 1))
    shares = ""
    for index in range(count):
        share = writer.result(op, f"share_{index}")
        writer.step(share, f"sparse_share({logits}, {left}, jitter: {jitter})")
        part = f"reshape({share}, shape: {column})"
        shares = f"concat({shares}, {part})" if shares else part
        if index + 1 < count:
            hidden = writer.result(op, f"left_{index}")
            writer.step(hidden, f"hide_largest({left}, fill: {MASKED})")
            left = hidden
    writer.step(writer.result(op), shares)


def write_expert_scale(writer: Writer, op: Op) -> None:
    mix, chosen = (writer.operand(name) for name in op.inputs)
    writer.rounded(op, "product", f"scale_experts({mix}, {chosen}, {writer.weight(op, 'weight')})")


def write_expert_input(writer: Writer, op: Op) -> None:
    source, mix = (writer.operand(name) for name in op.inputs)
    writer.rounded(op, "product", f"expert_input({source}, {mix})")


def write_expert_linear(writer: Writer, op: Op) -> None:
    source, chosen = op.inputs
    each = len(writer.shapes[source]) == len(op.shape)
    operands = f"{writer.operand(source)}, {writer.operand(chosen)}, {writer.weight(op, 'weight')}"
    operator = "expert_linear_each" if each else "expert_linear"
    sums = writer.result(op, "sums")
    writer.step(sums, f"{operator}({operands})")
    if "weight_bits" in op.attributes:
        scales = f"{writer.operand(chosen)}, {writer.weight(op, 'weight')}.scale"
        writer.step(writer.result(op, "scaled_sums"), f"expert_rows_scale({sums}, {scales})")
        sums = writer.result(op, "scaled_sums")
    if "bias" in op.weights:
        writer.step(writer.result(op, "product"), f"encode({sums}, to: f32)")
        bias = f"{writer.operand(chosen)}, {writer.weight(op, 'bias')}"
        sums = writer.result(op, "biased")
        writer.step(sums, f"expert_bias({writer.result(op, 'product')}, {bias})")
    writer.step(writer.result(op), f"encode({sums}, to: f32)")


def write_clamped_swiglu(writer: Writer, op: Op) -> None:
    gate, up = (writer.operand(name) for name in op.inputs)
    limit, slope = number(op.attributes["limit"]), number(op.attributes["slope"])
    writer.step(writer.result(op), f"clamped_swiglu({gate}, {up}, limit: {limit}, slope: {slope})")


def write_expert_sum(writer: Writer, op: Op) -> None:
    if len(op.inputs) == 1:
        writer.step(writer.result(op), f"expert_total({writer.operand(op.inputs[0])})")
        return
    experts, shares = (writer.operand(name) for name in op.inputs)
    writer.rounded(op, "sums", f"expert_sum({experts}, {shares})")


def write_mul(writer: Writer, op: Op) -> None:
    """Entry by entry, or every row by its own number where the second factor has one entry a row."""
    left, right = (writer.shapes[name] for name in op.inputs)
    operands = [writer.operand(name) for name in op.inputs]
    if left == right:
        writer.step(writer.result(op), f"mul({operands[0]}, {operands[1]})")
        return
    if right != (*left[:-1], 1):
        raise refuse_operator(op, f"a product of shapes {left} and {right} has no form in the library")
    rows = f"reshape({operands[1]}, shape: {list_of(left[:-1])})"
    writer.rounded(op, "product", f"scale_rows({operands[0]}, {rows})")
