"""Measured bounds are never below the truth, and hardly above it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as nps

from pllm_lang.resolve.modules import Measured
from pllm_lang.runtime.checkpoint import tensors
from pllm_lang.runtime.checkpoint.header import read_header
from pllm_lang.runtime.measure.norms import Overflow, measure, rounded_up
from tests.measure.checkpoints import save

SLACK = 1 + Fraction(1, 2**20)
TINY = Fraction(1, 2**1000)
SHAPES = nps.array_shapes(min_dims=2, max_dims=2, max_side=9)


def exact(array: np.ndarray) -> dict[str, Fraction]:
    """The five sums of a matrix, in rationals."""
    rows = [[Fraction(x) for x in row] for row in array.tolist()]
    columns = [list(column) for column in zip(*rows, strict=True)]

    def worst(lines: list[list[Fraction]], power: int) -> Fraction:
        return max(sum((abs(x) ** power for x in line), Fraction(0)) for line in lines)

    return {
        "row_norm1": worst(rows, 1), "row_norm2_sq": worst(rows, 2),
        "col_norm1": worst(columns, 1), "col_norm2_sq": worst(columns, 2),
    }  # fmt: skip


def bounds(array: np.ndarray, split: int = 100) -> Measured:
    widened = array.astype(np.int64 if array.dtype.kind in "iu" else np.float64)
    found = measure((widened[i : i + split] for i in range(0, len(array), split)), len(array))
    assert found is not None
    return found


def holds(array: np.ndarray, split: int) -> None:
    found = bounds(array, split)
    assert found.min == Fraction(array.min().item())
    assert found.max == Fraction(array.max().item())
    for slot, truth in exact(array).items():
        bound = getattr(found, slot)
        assert truth <= bound <= truth * SLACK + TINY, slot


@settings(deadline=None)
@given(
    nps.arrays(np.float32, SHAPES, elements=st.floats(width=32, allow_nan=False, allow_infinity=False)),
    st.integers(1, 9),
)
def test_of_single_precision(array: np.ndarray, split: int) -> None:
    holds(array, split)


@given(
    nps.arrays(np.float64, SHAPES, elements=st.floats(-1e150, 1e150) | st.floats(-1e-300, 1e-300)),
    st.integers(1, 9),
)
def test_of_double_precision(array: np.ndarray, split: int) -> None:
    holds(array, split)


@given(nps.arrays(st.sampled_from([np.int8, np.int16, np.int32, np.uint32]), SHAPES), st.integers(1, 9))
def test_of_integers(array: np.ndarray, split: int) -> None:
    holds(array, split)


@given(nps.arrays(np.int8, SHAPES))
def test_small_integers_are_summed_exactly(array: np.ndarray) -> None:
    found = bounds(array)
    assert {slot: getattr(found, slot) for slot in exact(array)} == exact(array)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_of_long_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    holds(rng.lognormal(sigma=8, size=(2, 5_000)).astype(np.float32), 1)


def test_sums_beyond_double_precision_have_no_bound() -> None:
    with pytest.raises(Overflow):
        bounds(np.full((1, 2), 1e200))


@given(st.fractions(min_value=0))
def test_rounding_up_never_rounds_down(value: Fraction) -> None:
    up = rounded_up(value)
    assert value <= up <= value * (1 + Fraction(1, 2**31))


@settings(deadline=None)
@given(nps.arrays(np.uint16, (3, 4), elements=st.integers(0, 2**16 - 1)))
def test_bfloat16_is_the_upper_half_of_single_precision(
    tmp_path_factory: pytest.TempPathFactory, array: np.ndarray
) -> None:
    array &= np.uint16(0xBFFF)  # no infinities, no NaN
    path = save(tmp_path_factory.mktemp("b") / "m.safetensors", {"w": array}, bfloat16=("w",))
    found = tensors.whole("w", read_header(str(path))["w"])
    for stored, value in zip(array.ravel().tolist(), found.ravel().tolist(), strict=True):
        sign, exponent, fraction = stored >> 15, stored >> 7 & 0xFF, stored & 0x7F
        magnitude = Fraction(fraction + (128 if exponent else 0)) * Fraction(2) ** (max(exponent, 1) - 134)
        assert Fraction(value) == (-magnitude if sign else magnitude)


@pytest.mark.parametrize("entries", [1, 7, 40, 70, 75, 1000])
def test_blocks_are_the_whole(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, entries: int
) -> None:
    array = np.arange(2 * 5 * 7, dtype=np.int16).reshape(2, 5, 7)
    path = save(tmp_path_factory.mktemp("b") / "m.safetensors", {"a": array[0], "w": array})
    stored = read_header(str(path))["w"]
    monkeypatch.setattr(tensors, "BLOCK_ENTRIES", entries)
    parts = list(tensors.blocks("w", stored))
    assert all(len(part) <= max(1, entries // 7) for part in parts)
    assert np.array_equal(np.concatenate(parts), array.reshape(10, 7))
    found = measure(parts, 5)
    assert found is not None
    assert found.col_norm1 == max(array[0].sum(axis=0).max(), array[1].sum(axis=0).max())


@settings(deadline=None)
@given(
    nps.arrays(np.int32, nps.array_shapes(min_dims=3, max_dims=4, max_side=5)),
    st.integers(1, 60),
)
def test_of_stacks_of_matrices(
    tmp_path_factory: pytest.TempPathFactory, array: np.ndarray, entries: int
) -> None:
    """Whole matrices share a block where it has room, and their columns are not summed together."""
    path = save(tmp_path_factory.mktemp("s") / "m.safetensors", {"w": array})
    stored = read_header(str(path))["w"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tensors, "BLOCK_ENTRIES", entries)
        found = measure(tensors.blocks("w", stored), array.shape[-2])
    assert found is not None
    each = [exact(matrix) for matrix in array.reshape(-1, *array.shape[-2:])]
    for slot in each[0]:
        truth = max(one[slot] for one in each)
        assert truth <= getattr(found, slot) <= truth * SLACK + TINY, slot


def test_many_small_matrices_take_no_longer_than_one(tmp_path: Path) -> None:
    path = save(tmp_path / "m.safetensors", {"w": np.ones((300_000, 1, 1), np.int8)})
    stored = read_header(str(path))["w"]
    assert len(list(tensors.blocks("w", stored))) == 1
