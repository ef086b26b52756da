"""Masks, quantisation, wire words, rescaling, Q7, Freivalds: each against its definition in exact
integers."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pllm_lang.runtime import elements
from pllm_lang.runtime.engine import MaskedGEMM
from pllm_lang.runtime.errors import NativeKernelError
from pllm_lang.runtime.freivalds import FreivaldsCheck
from tests.runtime.backends import BACKENDS, kernels_of, using

MODULI = st.sampled_from((2, 3, 17, 256, 257, 2**31 - 1, 2**32)) | st.integers(2, 2**32)
WIDE = st.sampled_from((2, 2**33, 2**62 - 57, 2**64)) | st.integers(2, 2**64)
EXAMPLES = settings(max_examples=60, deadline=None)


@pytest.mark.parametrize("backend", BACKENDS)
@EXAMPLES
@given(q=MODULI, values=st.lists(st.integers(-128, 127), min_size=1, max_size=70), seed=st.integers(0, 2**32))
def test_unmasking_takes_a_mask_away(backend: str, q: int, values: list[int], seed: int) -> None:
    masks = np.random.default_rng(seed).integers(0, q, len(values), dtype=np.uint64).astype(np.uint32)
    with using(kernels_of(backend)):
        masked = elements.mask(np.array(values, np.int8), masks, q)
        assert masked.tolist() == [(v + int(m)) % q for v, m in zip(values, masks, strict=True)]
        back = elements.unmask(masked, masks, q)
    assert [int(b) % q for b in back] == [v % q for v in values]
    assert all(-q <= 2 * int(b) < q for b in back)


@pytest.mark.parametrize("backend", BACKENDS)
@EXAMPLES
@given(
    q=WIDE,
    values=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20),
    seed=st.integers(0, 2**32),
)
def test_wide_unmasking_takes_a_mask_away(backend: str, q: int, values: list[int], seed: int) -> None:
    masks = np.random.default_rng(seed).integers(0, q - 1, len(values), dtype=np.uint64, endpoint=True)
    with using(kernels_of(backend)):
        masked = elements.mask_wide(np.array(values), masks, q)
        assert masked.tolist() == [(v + int(m)) % q for v, m in zip(values, masks, strict=True)]
        back = elements.unmask_wide(masked, masks, q)
    assert [int(b) % q for b in back] == [v % q for v in values]
    assert all(-q <= 2 * int(b) < q for b in back)


@pytest.mark.parametrize("backend", BACKENDS)
@EXAMPLES
@given(
    rows=st.lists(
        st.lists(
            st.floats(-(2.0**60), 2.0**60, width=32).filter(lambda x: x == 0 or abs(x) > 2.0**-100),
            min_size=5,
            max_size=5,
        ),
        min_size=1,
        max_size=4,
    ),
    bits=st.integers(2, 8),
)
def test_quantized_values_are_the_nearest(backend: str, rows: list[list[float]], bits: int) -> None:
    values, limit = np.array(rows, np.float32), 2 ** (bits - 1) - 1
    with using(kernels_of(backend)):
        quantized, scales = elements.quantize(values, bits)
        assert (
            elements.dequantize(quantized, scales) == quantized.astype(np.float32) * scales[:, None]
        ).all()
    assert np.abs(quantized.astype(int)).max() <= limit
    for row, integers, scale in zip(values, quantized, scales, strict=True):
        for value, integer in zip(row, integers, strict=True):
            quotient = Fraction(float(value)) / Fraction(float(scale))
            # The quotient is rounded to float32 before it is rounded to an integer.
            assert abs(quotient - int(integer)) <= Fraction(1, 2) + abs(quotient) / 2**23


@pytest.mark.parametrize(
    ("values", "bits", "text"),
    [
        (np.array([[np.nan, 1]], np.float32), 8, "nonfinite float input"),
        (np.array([[1, 1], [-np.inf, 1]], np.float32), 8, "nonfinite float input"),
        (np.array([[1e-45, 0]], np.float32), 8, "row scale underflow or overflow"),
        (np.ones((2, 0), np.float32), 8, "invalid quantization shape or bits"),
        (np.ones(2, np.float32), 8, "invalid quantization shape or bits"),
        (np.ones((1, 1), np.float32), 9, "invalid quantization shape or bits"),
        (np.ones((1, 1), np.int32), 8, "expected a float tensor"),
    ],
)
def test_what_cannot_be_quantized_is_refused(backend: str, values: object, bits: int, text: str) -> None:
    with pytest.raises(NativeKernelError, match=text):
        elements.quantize(values, bits)


def test_given_scales_are_used_and_checked(backend: str) -> None:
    values, scales = np.array([[0.5, 1.5, 2.5, -2.5]], np.float32), np.array([1.0], np.float32)
    quantized, used = elements.quantize(values, 8, scales)
    assert quantized.tolist() == [[0, 2, 2, -2]]
    assert used.tolist() == [1.0]
    for wrong in ([0.0], [-1.0], [np.nan], [np.inf], [1.0, 1.0]):
        with pytest.raises(NativeKernelError, match="invalid row scales"):
            elements.quantize(values, 8, np.array(wrong, np.float32))


@pytest.mark.parametrize("backend", BACKENDS)
@EXAMPLES
@given(width=st.integers(2, 4), data=st.data())
def test_wire_words_come_back(backend: str, width: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(0, 256**width - 1), max_size=70))
    with using(kernels_of(backend)):
        packed = elements.pack_unsigned(np.array(values, np.uint32), width)
        assert packed.tobytes() == b"".join(value.to_bytes(width, "little") for value in values)
        assert elements.unpack_unsigned(packed, width).tolist() == values


@pytest.mark.parametrize("backend", BACKENDS)
@EXAMPLES
@given(
    values=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30),
    divisor=st.sampled_from((1, 2, 128, 2**62 - 1)) | st.integers(1, 2**62 - 1),
)
def test_rescaling_rounds_half_to_even(backend: str, values: list[int], divisor: int) -> None:
    with using(kernels_of(backend)):
        assert elements.rescale(np.array(values), divisor).tolist() == [
            round(Fraction(v, divisor)) for v in values
        ]


def test_q7_functions_follow_their_definitions_everywhere(backend: str) -> None:
    every = np.arange(-128, 129)
    silu = [round(Fraction(v * v + 256 * v, 512)) for v in every.tolist()]
    assert elements.silu_q7(every).tolist() == silu
    gate, up = (axis.reshape(-1) for axis in np.meshgrid(every, every))
    product = [round(Fraction(a * b, 128)) for a, b in zip(gate.tolist(), up.tolist(), strict=True)]
    assert elements.multiply_q7(gate, up).tolist() == product
    gated = [round(Fraction(silu[a + 128] * b, 128)) for a, b in zip(gate.tolist(), up.tolist(), strict=True)]
    assert elements.gated_q7(gate, up).tolist() == gated
    with pytest.raises(NativeKernelError, match=r"Q7 value 129 is outside -128\.\.=128"):
        elements.silu_q7(np.array([0, 129]))


def test_freivalds_accepts_products_and_finds_one_wrong_entry(backend: str) -> None:
    draw = np.random.default_rng(5)
    weights = draw.integers(-128, 128, (40, 30)).astype(np.int8)
    check = FreivaldsCheck(MaskedGEMM(threads=1), weights, checks=2)
    inputs = draw.integers(-(2**31), 2**31, (6, 30))
    outputs = inputs @ weights.T.astype(np.int64)
    assert check.holds(inputs, outputs).all()
    for row in range(6):
        wrong = outputs.copy()
        wrong[row, draw.integers(0, 40)] += 1 + row
        assert check.holds(inputs, wrong).tolist() == [r != row for r in range(6)]


def test_freivalds_refuses_other_shapes(backend: str) -> None:
    check = FreivaldsCheck(MaskedGEMM(threads=1), np.ones((4, 3), np.int8))
    with pytest.raises(NativeKernelError, match=r"expected integers \[batch,3\]"):
        check.holds(np.ones((1, 4), int), np.ones((1, 4), int))
    with pytest.raises(NativeKernelError, match="as many inputs as outputs"):
        check.holds(np.ones((1, 3), int), np.ones((2, 4), int))
