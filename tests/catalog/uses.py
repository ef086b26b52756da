"""Random uses of a library operator: types, parameters and exact operand values."""

from __future__ import annotations

from fractions import Fraction

import msgspec
from hypothesis import strategies as st

from pllm_lang.catalog.apply import Inferred, Params, Type, infer
from pllm_lang.catalog.expr import AnyRank, Between, Expr, ListOf, Num, Ref
from pllm_lang.catalog.facts import Known
from pllm_lang.catalog.formats import BOOLEAN, INDEX
from pllm_lang.catalog.records import OperandSpec, Operator, ParamSpec
from pllm_lang.catalog.tensor import Shape
from tests.catalog.cases import tensors
from tests.catalog.library import FIXED

grid = st.integers(-96, 96).map(lambda n: Fraction(n, 16) if n % 16 else n // 16)
"""Values of FIXED, 4 fraction bits."""


class Use(msgspec.Struct):
    operator: Operator
    values: dict[str, Known]
    inferred: Inferred


LEADING = {"s": (2,), "h": (2,), "b": (), "t": (2,)}
DIMENSIONS = {"b": 2, "v": 4, "d": 4, "k": 3, "m": 2, "n": 3, "t": 3, "u": 4, "h": 2, "e": 3}


FIXED_SIZES = {"causal_convolution": {"t": 3}}
"""Sizes that an operator needs: as many rows as taps."""


@st.composite
def uses(draw: st.DrawFn, operator: Operator) -> Use:
    dims = {name: draw(st.sampled_from([1, size])) for name, size in DIMENSIONS.items() if name != "d"}
    dims = {**dims, "d": 4, **FIXED_SIZES.get(operator.name, {})}
    lead = {name: draw(st.sampled_from([(), shape, (*shape, 2)])) for name, shape in LEADING.items()}
    if operator.name in ("permute", "slice", "concat", "reshape"):
        lead = dict.fromkeys(lead, (2, 3))
    params = draw(parameters(operator))
    values, types = {}, {}
    for spec in operator.operands:
        shape = shape_of(spec, dims, lead)
        of, form = operand_values(operator, spec, dims)
        values[spec.name] = draw(tensors(shape, of))
        types[spec.name] = Type(form, shape)
    inferred = infer(operator, types, params)
    assert isinstance(inferred, Inferred), inferred
    return Use(operator, values, inferred)


def shape_of(spec: OperandSpec, dims: dict[str, int], lead: dict[str, Shape]) -> Shape:
    shape: list[int] = []
    for dim in spec.shape:
        if isinstance(dim, AnyRank):
            shape.extend(lead[dim.name])
        elif isinstance(dim, Num):
            shape.append(int(dim.value))
        else:
            assert isinstance(dim, Ref)
            shape.append(dims[dim.name])
    return tuple(shape)


TABLES = {
    "embedding": "v",
    "gather": "n",
    "expert_linear": "e",
    "expert_linear_each": "e",
    "scale_experts": "e",
    "expert_bias": "e",
    "expert_rows_scale": "e",
    "pick": "n",
    "choice_mask": "u",
}
"""The dimension that an index operand chooses from."""

POSITIVE = {"log": "x", "sqrt": "x", "inv_sqrt": "x", "reciprocal": "x", "divide": "y"}


def operand_values(operator: Operator, spec: OperandSpec, dims: dict[str, int]):
    if spec.format == Ref("index"):
        top = dims[TABLES[operator.name]] if operator.name in TABLES else 9
        return st.integers(0, top - 1), INDEX
    if spec.format == Ref("boolean"):
        return st.integers(0, 1), BOOLEAN
    if POSITIVE.get(operator.name) == spec.name:
        return grid.filter(bool).map(abs), FIXED
    return grid, FIXED


@st.composite
def parameters(draw: st.DrawFn, operator: Operator) -> Params:
    params = Params()
    for spec in operator.params:
        match spec.kind:
            case "format":
                params.formats[spec.name] = draw(
                    st.sampled_from([FIXED, msgspec.structs.replace(FIXED, frac=2, name="g")])
                )
            case "boolean":
                params.exact[spec.name] = draw(st.integers(0, 1))
            case "word":
                assert isinstance(spec.allowed, ListOf)
                params.words[spec.name] = draw(st.sampled_from([word(item) for item in spec.allowed.items]))
            case "list" | "shape":
                params.lists[spec.name] = LISTS[operator.name]
            case _:
                params.exact[spec.name] = draw(number(operator, spec))
    return params


LISTS = {
    "permute": (1, 0),
    "reshape": (3, 2),
    "polynomial": (1, -2, 0, Fraction(1, 3)),
    "rotary_divided": (2, Fraction(7, 3)),
}
NUMBERS = {
    ("clamp", "low"): [-3],
    ("clamp", "high"): [2, 4],
    ("slice", "axis"): [-1, 0, 1],
    ("slice", "start"): [0, 1],
    ("slice", "stop"): [2],
    ("split_heads", "heads"): [1, 2, 4],
    ("split", "at"): [0, 1],
    ("concat", "axis"): [-1, 0],
    ("top_k", "k"): [1],
    ("rotary_embedding", "theta"): [10000],
    ("rotary_embedding", "dims"): [2, 4],
    ("rotary_linear", "theta"): [10000],
    ("rotary_linear", "dims"): [2, 4],
    ("rotary_llama3", "theta"): [10000],
    ("rotary_llama3", "dims"): [2, 4],
    ("rotary_llama3", "low"): [1],
    ("rotary_llama3", "high"): [4],
    ("rotary_llama3", "original"): [16, 8192],
    ("rotary_divided", "theta"): [10000],
    ("cache_mask", "window"): [0, 2],
    ("repeat_kv", "times"): [1, 3],
    ("keep_best_groups", "keep"): [1],
    ("keep_best_groups", "by"): [1],
    ("rotary_first_pairs", "theta"): [10000],
    ("rotary_yarn", "theta"): [10000],
    ("rotary_yarn", "original"): [100],
    ("rotary_yarn", "fast"): [8],
    ("rotary_yarn", "slow"): [1],
    ("rotary_first_pairs", "dims"): [2, 4],
    ("rotary_first_pairs", "pairs"): [1],
    ("alibi_bias", "max_bias"): [8],
    ("causal_mask", "offset"): [0, 1],
    ("causal_mask", "window"): [0, 2],
}


def number(operator: Operator, spec: ParamSpec):
    fixed = NUMBERS.get((operator.name, spec.name))
    if fixed is not None:
        return st.sampled_from(fixed)
    if spec.kind == "integer":
        return st.integers(1, 3)
    return st.sampled_from([1, Fraction(1, 2), 3])


def word(expr: Expr) -> str:
    assert isinstance(expr, (Ref, Num, Between))
    return getattr(expr, "name", "")
