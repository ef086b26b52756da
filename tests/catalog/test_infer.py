"""Types of a use: formats, shapes, shape arithmetic, and the sentence where they do not fit."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from pllm_lang.catalog.apply import Inferred, Params, Problem, Type, infer
from pllm_lang.catalog.expr import AnyRank, Apply, Num, Ref
from pllm_lang.catalog.formats import BOOLEAN, EXACT, INDEX
from pllm_lang.catalog.records import OperandSpec, Operator
from tests.catalog.library import FIXED, INTEGER, REAL, operators


def use(name: str, params: Params | None = None, **operands: Type) -> Inferred | Problem:
    return infer(operators()[name], operands, params or Params())


def good(name: str, params: Params | None = None, **operands: Type) -> Inferred:
    found = use(name, params, **operands)
    assert isinstance(found, Inferred), found
    return found


def bad(name: str, params: Params | None = None, **operands: Type) -> Problem:
    found = use(name, params, **operands)
    assert isinstance(found, Problem), found
    return found


def test_format_and_shape_variables_bind() -> None:
    found = good("linear", x=Type(FIXED, (2, 5, 896)), w=Type(INTEGER, (4864, 896)))
    assert found.results == {"y": Type(EXACT, (2, 5, 4864))}
    assert found.env.exact == {"k": 896, "n": 4864}
    assert found.env.lists == {"s": (2, 5)}
    assert found.env.formats["F"] == FIXED
    assert found.env.formats["G"] == INTEGER


def test_results_take_their_variable() -> None:
    assert good("add", x=Type(FIXED, (3,)), y=Type(FIXED, (3,))).results["z"] == Type(FIXED, (3,))


def test_two_formats_for_one_variable() -> None:
    found = bad("add", x=Type(FIXED, (3,)), y=Type(INTEGER, (3,)))
    assert found.message == "add takes x and y in one format; x is fx and y is whole"
    assert found.operand == "y"


def test_equal_formats_of_other_names_are_one() -> None:
    good("add", x=Type(FIXED, (3,)), y=Type(replace(FIXED, name="other"), (3,)))


def test_inner_dimensions_that_differ() -> None:
    found = bad("linear", x=Type(REAL, (1, 896)), w=Type(REAL, (4864, 895)))
    assert found.message == "w has the shape [4864, 895]; [n, k] is [4864, 896] here"


def test_any_rank_that_differs() -> None:
    found = bad("mul", x=Type(REAL, (2, 3)), y=Type(REAL, (3, 2)))
    assert found.message == "y has the shape [3, 2], where ...s is [2, 3]"


def test_rank_that_does_not_fit() -> None:
    assert bad("linear", x=Type(REAL, (4,)), w=Type(REAL, (4,))).message == "w has the shape [4], not [n, k]"


def test_shape_arithmetic_of_results() -> None:
    whole = good("kv_cache_append", cache=Type(REAL, (2, 7, 4)), new=Type(REAL, (2, 3, 4)))
    assert whole.results["y"].shape == (2, 10, 4)
    parts = good("split", Params(exact={"at": 3}), x=Type(REAL, (2, 8)))
    assert (parts.results["left"].shape, parts.results["right"].shape) == ((2, 3), (2, 5))


def heads() -> Operator:
    d, h = Ref("d"), Ref("heads")
    x = OperandSpec("x", Ref("F"), (AnyRank("s"), Apply("*", (Num("3"), d))))
    y = OperandSpec("y", Ref("F"), (AnyRank("s"), h, Apply("/", (d, h))))
    w = OperandSpec("w", Ref("F"), (d,))
    return Operator("heads", "tests", ("F",), (w, x), (), (y,))


def test_shape_arithmetic_of_operands() -> None:
    w, x = Type(REAL, (12,)), Type(REAL, (5, 36))
    found = infer(heads(), {"w": w, "x": x}, Params(exact={"heads": 4}))
    assert isinstance(found, Inferred)
    assert found.results["y"].shape == (5, 4, 3)
    wrong = infer(heads(), {"w": w, "x": Type(REAL, (5, 35))}, Params(exact={"heads": 4}))
    assert isinstance(wrong, Problem)
    assert wrong.message == "x has the shape [5, 35]; [...s, 3*d] is [5, 36] here"


def test_a_size_that_does_not_divide() -> None:
    found = infer(heads(), {"w": Type(REAL, (12,)), "x": Type(REAL, (36,))}, Params(exact={"heads": 5}))
    assert isinstance(found, Problem)
    assert found.message == "the size d/heads of y is 12/5, not a whole number"


def test_format_parameters() -> None:
    found = good("encode", Params(formats={"to": INTEGER}), x=Type(EXACT, (2,)))
    assert found.results["y"] == Type(INTEGER, (2,))
    missing = bad("encode", x=Type(EXACT, (2,)))
    assert missing.message == "the format of encode's result y is open"


def test_standard_formats() -> None:
    found = good("top_k", Params(exact={"k": 2}), x=Type(REAL, (3, 5)))
    assert found.results == {"values": Type(REAL, (3, 2)), "indices": Type(INDEX, (3, 2))}
    b = good("compare", Params(words={"relation": "less"}), x=Type(REAL, (3,)), y=Type(REAL, (3,)))
    assert b.results["b"].format == BOOLEAN
    wrong = bad("embedding", table=Type(REAL, (9, 4)), tokens=Type(REAL, (2,)))
    assert wrong.message == "tokens is of format index, not real"


def test_shapes_that_only_the_meaning_knows() -> None:
    found = good("permute", Params(lists={"order": (2, 0, 1)}), x=Type(REAL, (2, 3, 4)))
    assert found.results["y"].shape == (4, 2, 3)
    wrong = bad("permute", Params(lists={"order": (0, 0, 1)}), x=Type(REAL, (2, 3, 4)))
    assert wrong.message == "permute: permute of [2, 3, 4] needs `order:` with each of 0 to 2 once"
    cut = bad("slice", Params(exact={"axis": 0, "start": 1, "stop": 5}), x=Type(REAL, (2, 3)))
    assert cut.message == "slice: slice 1..<5 leaves an axis of 2 entries"


@pytest.mark.parametrize("shape", [(3, 2), (6,), (1, 6, 1)])
def test_reshape_takes_its_shape(shape) -> None:
    found = good("reshape", Params(lists={"shape": shape}), x=Type(REAL, (2, 3)))
    assert found.results["y"].shape == shape


def test_reshape_to_another_size() -> None:
    found = bad("reshape", Params(lists={"shape": (5,)}), x=Type(REAL, (2, 3)))
    assert "6 entries" in found.message
    assert "5" in found.message


def test_a_missing_operand() -> None:
    assert bad("add", x=Type(REAL, (2,))).message == "add needs the operand y"
