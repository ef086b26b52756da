"""Every operation of the kernels in numpy, written to be believed at sight: the oracle of the tests, and
what runs where there is no C++.

Arrays in, new arrays out, already checked by the caller. Integers are exact throughout: a product splits
its inputs into halves of 31 bits, so that 64-bit sums hold them (K <= 2^24), and joins the halves as Python
integers.
"""

import secrets
from typing import Any

import numpy as np

from pllm_lang.runtime.arguments import FLOAT32, INT8, INT32, INT64, UINT8, UINT32, UINT64, Array

_HALF = 31


def clear(weights: Array, inputs: Array) -> Array:
    """[batch, out] int32: inputs int8 [batch, in] times weights int8 [out, in]."""
    return (inputs.astype(INT64) @ weights.astype(INT64).T).astype(INT32)


def ring(weights: Array, inputs: Array, bits: int) -> Array:
    """Modulo 2^bits, in words of 32 bits up to 32 and of 64 bits above; numpy's uint64 product wraps as it
    should."""
    mask = np.uint64(2**bits - 1)
    wrapped = inputs.astype(UINT64) @ weights.astype(INT64).T.astype(UINT64)
    return (wrapped & mask).astype(UINT32 if bits <= 32 else UINT64)


def residues(weights: Array, inputs: Array, q: int) -> Array:
    """Modulo q < 2^62, uint64 [batch, out]; inputs are residues of q."""
    narrow = weights.astype(INT64).T
    low = (inputs & np.uint64(2**_HALF - 1)).astype(INT64) @ narrow
    high = (inputs.astype(UINT64) >> np.uint64(_HALF)).astype(INT64) @ narrow
    return ((high.astype(object) * 2**_HALF + low.astype(object)) % q).astype(UINT64)


def mask(values: Array, masks: Array, q: int) -> Array:
    """(value + mask) mod q, in the type of the masks."""
    return ((values.astype(object) + masks.astype(object)) % q).astype(masks.dtype)


def unmask(values: Array, masks: Array, q: int) -> Array:
    """(value - mask) mod q, centred: v - q where v >= q/2. int64."""
    rest = (values.astype(object) - masks.astype(object)) % q
    return np.where(rest * 2 >= q, rest - q, rest).astype(INT64)


def row_scales(values: Array, bits: int) -> Array:
    """max|x| / qmax of each row, 1 for a row of zeros; float32 [rows]."""
    magnitude = np.abs(values).max(axis=1)
    with np.errstate(under="ignore"):
        return np.where(
            magnitude == 0, FLOAT32.type(1), magnitude / FLOAT32.type(2 ** (bits - 1) - 1)
        ).astype(FLOAT32)


def quantize(values: Array, bits: int, scales: Array) -> Array:
    """Nearest integers, ties to even, of x / scale, within -qmax..qmax; int8 [rows, columns]."""
    limit = 2 ** (bits - 1) - 1
    with np.errstate(over="ignore"):
        quotient = values / scales[:, None]
    return np.clip(np.rint(quotient), -limit, limit).astype(INT8)


def dequantize(values: Array, scales: Array) -> Array:
    return values.astype(FLOAT32) * scales[:, None]


def pack_unsigned(values: Array, width: int) -> Array:
    """The low `width` bytes of each word, little-endian; uint8 [count * width]."""
    return np.ascontiguousarray(values.astype("<u4").view(UINT8).reshape(-1, 4)[:, :width]).reshape(-1)


def unpack_unsigned(data: Array, width: int) -> Array:
    words = np.zeros((data.size // width, 4), UINT8)
    words[:, :width] = data.reshape(-1, width)
    return words.view("<u4").reshape(-1).astype(UINT32)


def rescale(values: Array, divisor: int) -> Array:
    """value / divisor to the nearest integer, ties to even; int64."""
    exact = values.astype(object)
    quotient, rest = exact // divisor, exact % divisor
    up = (rest * 2 > divisor) | ((rest * 2 == divisor) & (quotient % 2 == 1))
    return (quotient + up).astype(INT64)


def project(rows: Array, checks: Array, p: int) -> Array:
    """Dot products mod p of every row with every check: [rows, checks] uint32."""
    return ((rows.astype(object) @ checks.astype(object).T) % p).astype(UINT32)


def uniform_residues(q: int, count: int, dtype: np.dtype[Any]) -> Array:
    """Residues of q drawn by the standard library, which rejects what would bias them."""
    return np.fromiter((secrets.randbelow(q) for _ in range(count)), dtype, count)
