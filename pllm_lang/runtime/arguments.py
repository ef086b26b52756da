"""Arguments of the kernels, checked and brought into the one form that C++ takes; every refusal has its
text here.

Comes in: anything numpy can read. Goes out: a contiguous, aligned array of native byte order and the exact
type, the same object where it already is one, a copy where not; inputs are never written. Raises
`NativeKernelError`.
"""

from typing import Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

from pllm_lang.runtime.errors import NativeKernelError
from pllm_lang.runtime.record import MAX_INPUTS

Array: TypeAlias = npt.NDArray[Any]

INT8 = np.dtype(np.int8)
INT32 = np.dtype(np.int32)
INT64 = np.dtype(np.int64)
UINT8 = np.dtype(np.uint8)
UINT32 = np.dtype(np.uint32)
UINT64 = np.dtype(np.uint64)
FLOAT32 = np.dtype(np.float32)

RANK_2 = "expected a rank 2 integer tensor"
ANY_RANK = "expected an integer tensor"
SHAPES = "expected weights [out,in] and inputs [batch,in]"
LEADING_SHAPES = "expected weights [out,in] and inputs [...,in]"
COLUMNS = "expected coefficients [in,columns]"
POSITIVE = "matrix dimensions must be positive"
UNSIGNED = "ring-64 inputs must be unsigned residues"
WORST_CASE = "clear int32 result cannot represent this matrix's worst case"
PRIME_RING = "prime-ring modulus must satisfy 2 <= modulus < 2^31"
CIPHERTEXT = "ciphertext modulus must satisfy 2 <= q < 2^54"
WIDE_MODULUS = "modulus must satisfy 2 <= q < 2^62"


def ready(values: object, dtype: np.dtype[Any]) -> TypeGuard[Array]:
    """Whether the array can go to C++ as it is."""
    return (
        type(values) is np.ndarray
        and values.dtype is dtype
        and values.flags.c_contiguous
        and values.flags.aligned
    )


def laid_out(array: Array, dtype: np.dtype[Any]) -> Array:
    """The array as C++ reads it; itself where it is so already."""
    return np.require(array, dtype, ["C", "A"])


def matrix(values: object, dtype: np.dtype[Any], low: int, high: int) -> Array:
    """A rank 2 integer array with every value in low..high, as `dtype`."""
    array = np.asarray(values)
    if array.ndim != 2 or array.dtype.kind not in "iu":
        raise NativeKernelError(RANK_2)
    return _within(array, dtype, low, high)


def integers(values: object, dtype: np.dtype[Any], low: int, high: int) -> Array:
    """An integer array of any rank with every value in low..high, as `dtype`."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        raise NativeKernelError(ANY_RANK)
    return _within(array, dtype, low, high)


def unsigned_words(values: object) -> Array:
    """Residues of 2^64 of rank 1 or more: unsigned, or signed and not negative."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu" or array.ndim == 0:
        raise NativeKernelError(ANY_RANK)
    if array.dtype.kind == "i" and array.size and int(array.min()) < 0:
        raise NativeKernelError(UNSIGNED)
    return laid_out(array, UINT64)


def weights(values: object, bits: int) -> Array:
    """A copy of the weights, int8 [out, in], that nobody else can change."""
    high = 2 ** (bits - 1)
    checked = matrix(values, INT8, -high, high - 1)
    if 0 in checked.shape:
        raise NativeKernelError(POSITIVE)
    if checked.shape[1] > MAX_INPUTS:
        raise NativeKernelError(
            f"a matrix may have at most {MAX_INPUTS} inputs, this one has {checked.shape[1]}"
        )
    return np.array(checked, INT8, order="C", copy=True)


def modulus(value: Any, bits: int, message: str) -> int:
    """q as `int()` reads it, within 2 <= q < 2^bits."""
    q = int(value)
    if not 2 <= q < 1 << bits:
        raise NativeKernelError(message)
    return q


def out_of_range(low: int, high: int) -> NativeKernelError:
    return NativeKernelError(f"values must be in [{low}, {high}]")


def _within(array: Array, dtype: np.dtype[Any], low: int, high: int) -> Array:
    # The whole type may lie within the range; otherwise the values decide.
    info = np.iinfo(array.dtype)
    outside = info.min < low or info.max > high
    if outside and array.size and (int(array.min()) < low or int(array.max()) > high):
        raise out_of_range(low, high)
    return laid_out(array, dtype)
