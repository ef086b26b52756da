"""Blocks are expanded in place: what they see, what they bind, and where it ends."""

from __future__ import annotations

from pllm_lang.ir.plan import Member, TensorType
from tests.ir.lowering import Case, lower

MLP = """block mlp {F} (x: F[m, k], w: F[n, k], twice: integer = 2) -> (y) {
  h = linear(x, w) using masked(bits: 64)
  y = scale(h, by: twice)
}
"""


def plan(text: str, blocks: str = MLP) -> Case:
    return lower(
        f"""{blocks}
plan p under pol {{
  input x: fx[2, 3] from client
  input u: fy[2, 3] from client
  weight w: fx[4, 3] public
  weight v[0..<n_layers]: fx[3, 3] public
  {text}
}}"""
    )


def test_steps_of_a_block_stand_in_the_plan_under_dotted_names() -> None:
    case = plan("out = mlp(x, w)\n  output out to client")
    assert case.codes == []
    first, second = case.steps()
    assert [case.name(first.results[0]), case.name(second.results[0])] == ["mlp.h", "mlp.y"]
    assert first.operands == (case.plan.inputs[0].value, case.plan.weights[0].value)
    assert case.plan.stages[0].outputs[0].value == second.results[0]
    call = case.lowered.source_map.expanded[first.results[0]]
    assert case.module.source.text[call.start : call.end] == "mlp(x, w)"


def test_arguments_by_name_and_members_of_families() -> None:
    case = plan("out = mlp(w: v[1], x: x, twice: 3)")
    assert case.codes == []
    first, second = case.steps()
    operand = first.operands[1]
    assert isinstance(operand, Member)
    assert operand.family == case.plan.weights[1].value
    assert dict(second.params)["by"].value == "3"  # type: ignore[union-attr]


def test_a_block_in_a_block() -> None:
    case = plan(
        "out = two(x, v[0])",
        MLP + "block two {F} (x: F[m, k], w: F[k, k]) -> (z) {\n  a = add(x, x)\n  z = mlp(a, w)\n}",
    )
    assert case.codes == []
    assert [case.name(step.results[0]) for step in case.steps()] == ["two.a", "two.mlp.h", "two.mlp.y"]


def test_shape_variables_can_be_used_in_arithmetic() -> None:
    blocks = "block b (x: fx[m, k]) -> (y: fx[m, k - 1]) {\n  y = slice(x, axis: 1, start: 0, stop: k - 1)\n}"
    case = plan("out = b(x)", blocks)
    assert case.codes == []
    assert case.steps()[0].types == (TensorType(0, (2, 2)),)


def test_formats_and_shapes_are_checked_against_the_signature() -> None:
    assert plan("out = mlp(u, w)").codes == ["types.format_mismatch"]
    assert plan("out = mlp(x, x)").codes == []
    square = "block b (x: fx[m, m]) -> (y) {\n  y = add(x, x)\n}"
    assert plan("out = b(x)", square).codes == ["types.shape_mismatch"]
    result = "block b (x: fx[m, k]) -> (y: fx[k, m]) {\n  y = add(x, x)\n}"
    assert plan("out = b(x)", result).codes == ["types.shape_mismatch"]


def test_a_block_sees_nothing_of_the_caller() -> None:
    blocks = "block b (y: fx[m, k]) -> (z) {\n  z = add(y, x)\n}"
    case = plan("out = b(x)", blocks)
    assert case.told() == [("names.unknown", "x")]
    assert case.findings[0].labels[0].text == "expanded from this call"


def test_a_slip_inside_a_block_is_told_once_with_a_count() -> None:
    blocks = "block b (y: fx[m, k]) -> (z) {\n  z = add(y, nothing)\n}"
    case = plan("a = b(x)\n  c = b(x)\n  d = b(x)", blocks)
    assert [(f.code, f.count) for f in case.findings] == [("names.unknown", 3)]


def test_recursion_is_refused() -> None:
    blocks = """block a (x: fx[m, k]) -> (y) { y = b(x) }
block b (x: fx[m, k]) -> (y) { y = a(x) }
"""
    case = plan("out = a(x)", blocks)
    assert case.told() == [("blocks.recursive", "a(x)")]
    assert "a -> b -> a" in case.findings[0].message


def test_what_a_block_may_not_hold_and_how_it_is_called() -> None:
    blocks = "block b (x: fx[m, k]) -> (y) {\n  weight w: fx[m, k] public\n  y = add(x, x)\n}"
    assert plan("out = b(x)", blocks).codes == ["stages.misplaced"]
    assert plan("out = mlp(x, w) @ client").told() == [("types.clause", "@ client")]
    assert plan("out = mlp(x)").told() == [("params.missing", "mlp(x)")]
    assert plan("out = mlp(x, w, x)").codes == ["numbers.not_constant"]
    assert plan("out = mlp(x, w, 2, 3)").told() == [("types.arity", "mlp(x, w, 2, 3)")]
    assert plan("out, o2 = mlp(x, w)").codes == ["types.arity"]
    assert plan("out = mlp(x, w, width: 3)").told() == [("params.unknown", "width: 3")]


def test_a_block_that_makes_no_result() -> None:
    blocks = "block b (x: fx[m, k]) -> (y) {\n  z = add(x, x)\n}"
    assert plan("out = b(x)", blocks).codes == ["names.unknown"]
