"""Products through the Python interface, on every backend: exact, on any layout, refusing what is wrong."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pllm_lang.runtime.engine import MaskedGEMM
from pllm_lang.runtime.errors import NativeKernelError
from pllm_lang.runtime.matrix import CompiledMatrix
from tests.runtime.backends import BACKENDS, kernels_of, using

EDGES = (2, 3, 255, 256, 257, 2**16, 2**31 - 1, 2**31, 2**54 - 1, 2**61, 2**62 - 1)
WEIGHTS = [[1, -2], [3, 4]]


@st.composite
def products(draw: st.DrawFn) -> tuple[list[list[int]], list[list[int]], int, int]:
    """Weights, inputs below a limit that is a modulus or a power of two, that limit, and the bits of a
    weight."""
    outputs, width, rows = (draw(st.integers(1, 70)) for _ in range(3))
    bits = draw(st.sampled_from((8, 4)))
    limit = draw(st.sampled_from(EDGES) | st.integers(2, 2**62 - 1))
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    pick = random.Random(draw(st.integers(0, 2**32)))
    weight = draw(st.sampled_from((lambda: low, lambda: high, lambda: pick.randint(low, high))))
    value = draw(
        st.sampled_from((lambda: 0, lambda: limit - 1, lambda: limit // 2, lambda: pick.randrange(limit)))
    )
    weights = [[weight() for _ in range(width)] for _ in range(outputs)]
    return weights, [[value() for _ in range(width)] for _ in range(rows)], limit, bits


def exact(weights: list[list[int]], inputs: list[list[int]], modulus: int) -> list[list[int]]:
    return [
        [sum(w * x for w, x in zip(row, line, strict=True)) % modulus for row in weights] for line in inputs
    ]


@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(product=products())
def test_residues_are_exact(backend: str, product: tuple[Any, Any, int, int]) -> None:
    weights, inputs, q, bits = product
    with using(kernels_of(backend)):
        matrix = MaskedGEMM(threads=2).compile(np.array(weights), bits=bits)
        words = np.array(inputs, np.uint64)
        expected = exact(weights, inputs, q)
        assert matrix.modular_wide(words, q).tolist() == expected
        assert matrix.coefficients_wide(words.T, q).T.tolist() == expected
        if q < 2**54:
            assert matrix.coefficients(words.T.copy(), q).T.tolist() == expected
        if q < 2**31:
            assert matrix.modular(words.astype(np.uint32), q).tolist() == expected
        assert matrix.wrap64(words).tolist() == exact(weights, inputs, 2**64)
        assert matrix.wrap32((words & 0xFFFFFFFF).astype(np.uint32)).tolist() == exact(weights, inputs, 2**32)


@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), bits=st.integers(1, 64), shape=st.tuples(*[st.integers(1, 40)] * 3))
def test_rings_and_clear_are_exact(backend: str, seed: int, bits: int, shape: tuple[int, int, int]) -> None:
    pick = random.Random(seed)
    outputs, width, rows = shape
    weights = [[pick.randint(-128, 127) for _ in range(width)] for _ in range(outputs)]
    words = [[pick.getrandbits(bits) for _ in range(width)] for _ in range(rows)]
    small = [[pick.randint(-128, 127) for _ in range(width)] for _ in range(rows)]
    with using(kernels_of(backend)):
        matrix = MaskedGEMM(threads=1).compile(np.array(weights))
        assert matrix.ring(np.array(words, np.uint64), bits).tolist() == exact(weights, words, 2**bits)
        clear = [[sum(w * x for w, x in zip(row, line, strict=True)) for row in weights] for line in small]
        assert matrix.clear(np.array(small)).tolist() == clear


def matrix_of(weights: Any = WEIGHTS, **options: Any) -> CompiledMatrix:
    return MaskedGEMM(threads=1).compile(np.array(weights), **options)


def test_weights_are_a_snapshot(backend: str) -> None:
    weights = np.array(WEIGHTS, np.int8)
    matrix = MaskedGEMM(threads=1).compile(weights)
    weights[:] = 0
    assert matrix.clear(np.array([[5, 6]], np.int8)).tolist() == [[-7, 39]]


def test_inputs_are_never_written(backend: str) -> None:
    matrix = matrix_of()
    inputs = np.array([[5, 6]], np.uint64)
    inputs.flags.writeable = False
    for run in (
        lambda: matrix.modular_wide(inputs, 17),
        lambda: matrix.wrap64(inputs),
        lambda: matrix.coefficients(inputs.T, 17),
        lambda: matrix.ring(inputs, 48),
    ):
        run()
        assert inputs.tolist() == [[5, 6]]


@pytest.mark.parametrize("dtype", ["<u4", ">u4", "<u8", ">i8", "u1", "i2"])
@pytest.mark.parametrize("layout", ["rows", "columns", "strided", "reversed", "misaligned", "list"])
def test_any_layout_of_the_inputs_gives_the_same(backend: str, dtype: str, layout: str) -> None:
    values = (np.arange(3 * 5) * 7 % 101).reshape(3, 5)
    weights = (np.arange(4 * 5) * 37 % 251 - 120).reshape(4, 5)
    matrix = matrix_of(weights)
    array = values.astype(dtype)
    if layout == "columns":
        array = np.asfortranarray(array)
    elif layout == "strided":
        wide = np.zeros((6, 10), dtype)
        wide[::2, ::2] = array
        array = wide[::2, ::2]
    elif layout == "reversed":
        array = array[::-1, ::-1].copy()[::-1, ::-1]
    elif layout == "misaligned":
        raw = np.zeros(array.nbytes + 1, np.uint8)
        raw[1:] = np.frombuffer(array.tobytes(), np.uint8)
        array = raw[1:].view(dtype).reshape(array.shape)
    given: Any = array.tolist() if layout == "list" else array
    exact_product = values @ weights.T
    assert (matrix.wrap32(given) == exact_product % 2**32).all()
    assert (matrix.wrap64(given) == exact_product.astype(np.uint64)).all()
    assert (matrix.modular(given, 101) == exact_product % 101).all()
    assert (matrix.clear(given) == exact_product).all()


def test_batch_zero_and_leading_shapes(backend: str) -> None:
    matrix = matrix_of()
    for result, dtype in (
        (matrix.clear(np.zeros((0, 2), np.int8)), np.int32),
        (matrix.wrap32(np.zeros((0, 2), np.uint32)), np.uint32),
        (matrix.modular(np.zeros((0, 2), np.uint32), 17), np.uint32),
        (matrix.modular_wide(np.zeros((0, 2), np.uint64), 17), np.uint64),
        (matrix.ring(np.zeros((0, 2), np.uint64), 40), np.uint64),
    ):
        assert result.shape == (0, 2)
        assert result.dtype == dtype
    assert matrix.wrap64(np.zeros((3, 0, 2), np.uint64)).shape == (3, 0, 2)
    assert matrix.wrap64(np.array([1, 2])).tolist() == [2**64 - 3, 11]
    assert matrix.wrap64(np.ones((2, 3, 2), np.int8)).shape == (2, 3, 2)


RANK_2 = "expected a rank 2 integer tensor"
REFUSED = {
    "nan": (lambda m: m.clear(np.array([[np.nan, 1]])), RANK_2),
    "infinity": (lambda m: m.wrap32(np.array([[np.inf, 1]])), RANK_2),
    "complex": (lambda m: m.modular(np.zeros((1, 2), complex), 5), RANK_2),
    "strings": (lambda m: m.clear(np.array([["1", "2"]])), RANK_2),
    "none": (lambda m: m.clear(None), RANK_2),
    "rank 1": (lambda m: m.wrap32(np.zeros(2, np.uint32)), RANK_2),
    "rank 3": (lambda m: m.coefficients(np.zeros((2, 1, 1), np.uint64), 17), RANK_2),
    "scalar": (lambda m: m.wrap64(np.uint64(1)), "expected an integer tensor"),
    "width": (lambda m: m.modular(np.zeros((1, 3), np.uint32), 17), "inputs [batch,in]"),
    "leading width": (lambda m: m.wrap64(np.zeros((1, 3), np.uint64)), "inputs [...,in]"),
    "columns": (
        lambda m: m.coefficients(np.zeros((3, 1), np.uint64), 17),
        "expected coefficients [in,columns]",
    ),
    "no columns": (
        lambda m: m.coefficients(np.zeros((2, 0), np.uint64), 17),
        "expected coefficients [in,columns]",
    ),
    "negative residue": (lambda m: m.modular(np.array([[-1, 0]]), 17), "values must be in [0, 16]"),
    "large residue": (lambda m: m.modular(np.array([[17, 0]], np.uint32), 17), "values must be in [0, 16]"),
    "large wide residue": (
        lambda m: m.modular_wide(np.array([[0, 2**61]], np.uint64), 2**61),
        "values must be in [0, ",
    ),
    "large coefficient": (
        lambda m: m.coefficients(np.array([[0], [5]], np.uint64), 5),
        "values must be in [0, 4]",
    ),
    "large word": (lambda m: m.wrap32(np.array([[2**32, 0]])), "values must be in [0, 4294967295]"),
    "large ring word": (
        lambda m: m.ring(np.array([[2**16, 0]], np.uint32), 16),
        "values must be in [0, 65535]",
    ),
    "large byte": (lambda m: m.clear(np.array([[128, 0]])), "values must be in [-128, 127]"),
    "modulus 1": (lambda m: m.modular(np.zeros((1, 2), np.uint32), 1), "2 <= modulus < 2^31"),
    "modulus 2^31": (lambda m: m.modular(np.zeros((1, 2), np.uint32), 2**31), "2 <= modulus < 2^31"),
    "q 2^54": (lambda m: m.coefficients(np.zeros((2, 1), np.uint64), 2**54), "2 <= q < 2^54"),
    "q 2^62": (lambda m: m.modular_wide(np.zeros((1, 2), np.uint64), 2**62), "2 <= q < 2^62"),
    "ring of 0 bits": (lambda m: m.ring(np.zeros((1, 2), np.uint32), 0), "1 to 64 bits"),
    "ring of 65 bits": (lambda m: m.ring(np.zeros((1, 2), np.uint64), 65), "1 to 64 bits"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_wrong_inputs_are_refused(backend: str, name: str) -> None:
    run, text = REFUSED[name]
    with pytest.raises(NativeKernelError) as caught:
        run(matrix_of())
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("weights", "bits", "text"),
    [
        (np.zeros((2, 2), bool), 8, RANK_2),
        (np.zeros((2, 2), np.float32), 8, RANK_2),
        (np.zeros(4, np.int8), 8, RANK_2),
        (np.zeros((0, 4), np.int8), 8, "matrix dimensions must be positive"),
        (np.array([[128]]), 8, "values must be in [-128, 127]"),
        (np.array([[8]]), 4, "values must be in [-8, 7]"),
        (np.array([[-9]], np.int8), 4, "values must be in [-8, 7]"),
        (np.zeros((2, 2), np.int8), 5, "weights have 8 or 4 bits"),
        (np.zeros((1, 2**24 + 1), np.int8), 8, "at most 16777216 inputs"),
    ],
)
def test_wrong_weights_are_refused(backend: str, weights: Any, bits: int, text: str) -> None:
    with pytest.raises(NativeKernelError) as caught:
        MaskedGEMM(threads=1).compile(weights, bits=bits)
    assert text in str(caught.value)


def test_a_matrix_says_what_it_is(backend: str) -> None:
    eight, four = matrix_of(np.ones((300, 200), np.int8)), matrix_of(np.ones((300, 200), np.int8), bits=4)
    assert eight.shape == four.shape == (300, 200)
    assert (eight.bits, four.bits) == (8, 4)
    assert eight.nbytes >= 300 * 200
    if backend == "cpp":
        assert four.nbytes < eight.nbytes * 0.6
    with pytest.raises(AttributeError):
        eight.shape = (1, 1)  # type: ignore[misc]


def test_products_on_engines_compile_first(backend: str) -> None:
    engine, weights, inputs = MaskedGEMM(threads=1), np.array(WEIGHTS), np.array([[5, 6]])
    assert engine.clear(weights, inputs).tolist() == [[-7, 39]]
    assert engine.modular(weights, inputs, 17).tolist() == [[10, 5]]
    assert engine.modular_limb12(weights, inputs, 17).tolist() == [[10, 5]]
    assert engine.coefficients(weights, inputs.T, 17).tolist() == [[10], [5]]
    assert engine.wrap32(weights, inputs).tolist() == [[2**32 - 7, 39]]
    assert engine.wrap64(weights, inputs).tolist() == [[2**64 - 7, 39]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_matrices_that_share_pages_live_and_die_apart(backend: str) -> None:
    """Matrices of 64 KB and more lie together on huge pages, whose memory goes when the last of them does."""
    draw = np.random.default_rng(7)
    with using(kernels_of(backend)):
        engine = MaskedGEMM(threads=1)
        held: list[tuple[CompiledMatrix, Any, Any]] = []
        for size in (260, 300, 900, 64, 1500, 270, 520, 400, 1100, 260) * 3:
            weights = draw.integers(-128, 128, (size, 260)).astype(np.int8)
            inputs = draw.integers(-128, 128, (2, 260)).astype(np.int8)
            held.append(
                (engine.compile(weights), inputs, inputs.astype(np.int64) @ weights.T.astype(np.int64))
            )
            if len(held) > 6:
                del held[int(draw.integers(len(held)))]
            for matrix, rows, expected in held:
                assert (matrix.clear(rows) == expected).all()
