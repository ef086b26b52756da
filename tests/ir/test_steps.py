"""What steps become: operands, types, components, parties, assumptions, and the places of all."""

from __future__ import annotations

from pllm_lang.catalog.expr import Num, Ref
from pllm_lang.ir.plan import UNKNOWN, Bound, Constant, Input, Output, Placement, TensorType, Weight
from pllm_lang.ir.walk import family
from tests.ir.lowering import body, lower


def test_a_plan_is_its_inputs_weights_steps_and_outputs() -> None:
    case = lower(
        """plan p {
  input x: fx[2, 3] from client where abs(x) <= 12
  weight w: fx[4, 3] secret from [client] where row_norm1(w) <= 64
  y = linear(x, w)
  output y to client
}"""
    )
    assert case.codes == []
    fx, exact = (form.name for form in case.plan.formats)
    assert (fx, exact) == ("fx", "exact")
    at_client = Placement("party", ("client",))
    assert case.plan.inputs == (
        Input(0, TensorType(0, (2, 3)), "client", at_client, (Bound("max_abs", "<=", "12"),)),
    )
    assert case.plan.weights == (
        Weight(1, TensorType(0, (4, 3)), 0, ("client",), (Bound("row_norm1", "<=", "64"),)),
    )
    (step,) = case.steps()
    assert (step.operator, step.operands, step.results) == ("std.operators.linear", (0, 1), (2,))
    assert step.types == (TensorType(1, (2, 4)),)
    assert case.plan.stages[0].outputs == (Output(2, ("client",)),)


def test_using_fills_defaults_in_and_binds_roles_by_name() -> None:
    (step,) = body("y = linear(x, w) using masked(mode: slow)").steps()
    assert step.use is not None
    assert step.use.key == "./main.masked"
    assert step.use.params == (("bits", Num("32")), ("mode", Ref("slow")))
    assert step.use.roles == tuple((role, role) for role in ("client", "preparation", "inference"))


def test_roles_can_be_bound_explicitly() -> None:
    (step,) = body("y = linear(x, w) using masked(preparation: inference, inference: preparation)").steps()
    assert step.use is not None
    assert dict(step.use.roles) == {
        "client": "client",
        "preparation": "inference",
        "inference": "preparation",
    }


def test_the_party_and_what_is_assumed() -> None:
    (step,) = body("y = add(x, z) @ client assume abs(y) <= 20 assume norm2(y) <= 5 and abs(y) <= 18").steps()
    assert step.party == "client"
    assert step.assumes == (Bound("max_abs", "<=", "18"), Bound("norm2", "<=", "5"))


def test_an_assumption_names_the_result_it_speaks_of() -> None:
    (step,) = body("a, s = quantize(x, to: w8) @ client assume abs(s) <= 2").steps()
    assert step.assumes == (Bound("max_abs", "<=", "2", result=1),)
    assert step.params == (("to", Ref("%f1")), ("per", Ref("row")))


def test_a_stored_scale_is_a_weight_of_its_own() -> None:
    case = body("s = outer(q.scale, q.scale)")
    scale = case.plan.weights[-1]
    assert (scale.scale_of, scale.type.shape) == (case.plan.weights[2].value, (4,))
    assert case.plan.formats[scale.type.format].kind == "exact"
    assert case.steps()[0].operands == (scale.value, scale.value)


def test_calls_that_move_entries_stand_inside_others_at_the_same_party() -> None:
    case = body("y = matmul(x, transpose(w)) @ client")
    inner, outer = case.steps()
    assert case.codes == []
    assert (inner.operator, inner.party, inner.structural) == ("std.operators.transpose", "client", True)
    assert outer.operands == (0, inner.results[0])
    assert not outer.structural


def test_literals_are_constants_of_the_plan_and_equal_ones_are_one() -> None:
    case = lower(
        """const half = 1/2
plan p {
  a = encode([[1, half], [0.25, 3]], to: fx)
  b = encode([[1, 0.5], [1/4, 3]], to: fx)
}"""
    )
    assert case.codes == []
    (constant,) = case.plan.constants
    assert constant == Constant(constant.value, constant.type, ("1", "1/2", "1/4", "3"))
    assert constant.type.shape == (2, 2)
    assert [step.operands for step in case.steps()] == [(constant.value,)] * 2


def test_declarations_may_follow_their_use() -> None:
    case = lower("plan p {\n output y to client\n y = add(x, x)\n input x: fx[2] from client\n}")
    assert case.codes == []
    assert case.plan.stages[0].outputs[0].value == case.steps()[0].results[0]


def test_parts_of_a_step_are_found_in_the_text() -> None:
    case = body("y = linear(x, w) using masked(bits: 64) @ client assume abs(y) <= 3")
    (step,) = case.steps()

    def part(role: str) -> str:
        place = case.lowered.source_map.parts[step.results[0], role]
        return case.module.source.text[place.start : place.end]

    assert part("step") == "linear(x, w)"
    assert [part("operand0"), part("operand1"), part("target0")] == ["x", "w", "y"]
    assert part("using") == "using masked(bits: 64)"
    assert part("at") == "@ client"
    assert part("assume0") == "assume abs(y) <= 3"


def test_one_slip_costs_one_finding() -> None:
    case = body(
        "y = linear(x, v[0])\n  t = addd(y, y)\n  u = add(t, x)\n  r = mul(u, u)\n  output r to client"
    )
    assert case.told() == [("names.unknown", "addd")]
    assert [step.types for step in case.steps()[1:]] == [(UNKNOWN,), (UNKNOWN,)]
    assert not case.lowered.complete


def test_all_slips_are_told_in_one_run() -> None:
    case = body(
        "a = linear(x, v[9])\n  b = add(x, w)\n  c = linear(x, w) using masked(bits: 31)\n  d = add(x, nix)"
    )
    assert case.told() == [
        ("types.index", "9"),
        ("types.shape_mismatch", "w"),
        ("params.out_of_range", "31"),
        ("names.unknown", "nix"),
    ]


def test_requirements_speak_of_values_and_numbers() -> None:
    case = lower(
        """const limit = 1/256
plan p {
  input x: fx[2] from client
  y = add(x, x)
  requires error(y) <= limit else "too coarse"
  requires error(y) <= 1/256
}"""
    )
    assert case.codes == []
    first, second = case.plan.stages[0].body[1:]
    assert first.condition == second.condition  # type: ignore[union-attr]
    assert first.reason == "too coarse"  # type: ignore[union-attr]


def test_every_value_is_made_somewhere_even_after_errors() -> None:
    case = body(
        "y = addd(x, x)\n  a, b = add(y)\n  c = linear(b, nothing)\n  d = add(x, linear(x, w))\n  output d to client"
    )
    plan = case.plan
    made = {item.value for item in (*plan.inputs, *plan.weights, *plan.constants)}
    for step in case.steps():
        assert {family(operand) for operand in step.operands} <= made
        made |= set(step.results)
    assert len(case.findings) >= 4
    assert {output.value for output in plan.stages[0].outputs} <= made
