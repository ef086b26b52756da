"""How a mixture of experts is written: the choice, the shares of the chosen, their layers and the sum.

The largest scores and where they stood are the two results of one `top_k`; what the graph gathers at the chosen
places are its values. A choice by other scores than those that are gathered (a correction, groups) is refused.
"""

from __future__ import annotations

from pllm_lang.models.graph import Op
from pllm_lang.models.text.number import number
from pllm_lang.models.text.writer import Writer, refuse_operator


def write_top_k(writer: Writer, op: Op) -> None:
    chosen, values = writer.result(op), writer.result(op, "scores")
    k = number(op.attributes["k"])
    writer.step(f"{values}, {chosen}", f"top_k({writer.operand(op.inputs[0])}, k: {k})")
    writer.chosen[op.name] = (op.inputs[0], values)


def write_gather(writer: Writer, op: Op) -> None:
    """The values of the `top_k` that chose: no step of its own."""
    scores, values = writer.chosen.get(op.inputs[1], ("", ""))
    if scores != op.inputs[0]:
        raise refuse_operator(op, "scores taken by a choice among others have no form in the library")
    writer.shapes[op.name] = op.shape
    writer.renamed[op.name] = values


def write_normalize_sum(writer: Writer, op: Op) -> None:
    end = f", eps: {number(op.attributes['eps'])}" if "eps" in op.attributes else ""
    writer.step(writer.result(op), f"normalize_sum({writer.operand(op.inputs[0])}{end})")


def write_expert_linear(writer: Writer, op: Op) -> None:
    source, chosen = op.inputs
    each = len(writer.shapes[source]) == len(op.shape)
    operands = f"{writer.operand(source)}, {writer.operand(chosen)}, {writer.weight(op, 'weight')}"
    operator = "expert_linear_each" if each else "expert_linear"
    writer.step(writer.result(op, "sums"), f"{operator}({operands})")
    writer.step(writer.result(op), f"encode({writer.result(op, 'sums')}, to: f32)")


def write_expert_sum(writer: Writer, op: Op) -> None:
    if len(op.inputs) != 2:
        raise refuse_operator(op, "experts summed without shares have no form in the library")
    experts, shares = (writer.operand(name) for name in op.inputs)
    writer.step(writer.result(op, "sums"), f"expert_sum({experts}, {shares})")
    writer.step(writer.result(op), f"encode({writer.result(op, 'sums')}, to: f32)")


def write_mul(writer: Writer, op: Op) -> None:
    """Entry by entry, or every row by its own number where the second factor has one entry a row."""
    left, right = (writer.shapes[name] for name in op.inputs)
    operands = [writer.operand(name) for name in op.inputs]
    if left == right:
        writer.step(writer.result(op), f"mul({operands[0]}, {operands[1]})")
        return
    if right != (*left[:-1], 1):
        raise refuse_operator(op, f"a product of shapes {left} and {right} has no form in the library")
    rows = f"reshape({operands[1]}, shape: [{', '.join(map(str, left[:-1]))}])"
    writer.step(writer.result(op, "product"), f"scale_rows({operands[0]}, {rows})")
    writer.step(writer.result(op), f"encode({writer.result(op, 'product')}, to: f32)")
