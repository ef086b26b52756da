"""What is done to one number at a time around the products: masks, quantisation, wire words, residues,
rescaling.

Arrays of any shape in, new arrays of the same shape out. Raises `NativeKernelError`; the texts are those of
the pllm.run SDK where it has the same operation.
"""

from typing import Any

import numpy as np

from pllm_lang.runtime import arguments
from pllm_lang.runtime.arguments import FLOAT32, INT8, INT32, INT64, UINT8, UINT32, UINT64, Array
from pllm_lang.runtime.errors import NativeKernelError
from pllm_lang.runtime.record import MASK_LIMIT, QUANTIZE_BITS, WIRE_WIDTHS
from pllm_lang.runtime.startup import kernels

_QUANTIZE_ERRORS = {1: "nonfinite float input", 2: "row scale underflow or overflow", 3: "invalid row scales"}


def mask(values: object, masks: object, modulus: int) -> Array:
    """(value + mask) mod q in uint32: int8 values, masks below q, 2 <= q <= 2^32."""
    return _masked("mask", values, masks, _mask_modulus(modulus), (INT8, UINT32, UINT32))


def unmask(values: object, masks: object, modulus: int) -> Array:
    """(value - mask) mod q as centred int64, -q/2 <= v < q/2: both uint32 below q, 2 <= q <= 2^32."""
    return _masked("unmask", values, masks, _mask_modulus(modulus), (UINT32, UINT32, INT64))


def mask_wide(values: object, masks: object, modulus: int) -> Array:
    """As `mask` in uint64 on int64 values, 2 <= q <= 2^64."""
    return _masked("mask", values, masks, _wide_modulus(modulus), (INT64, UINT64, UINT64))


def unmask_wide(values: object, masks: object, modulus: int) -> Array:
    """As `unmask` on uint64, 2 <= q <= 2^64."""
    return _masked("unmask", values, masks, _wide_modulus(modulus), (UINT64, UINT64, INT64))


def quantize(values: object, bits: int, scales: object = None) -> tuple[Array, Array]:
    """Symmetric per row: (int8 [rows, columns], float32 scales [rows]) with x about value * scale, ties to
    even."""
    array = _floats(values)
    least, most = QUANTIZE_BITS
    if array.ndim != 2 or 0 in array.shape or not least <= bits <= most:
        raise NativeKernelError("invalid quantization shape or bits")
    rows, columns = array.shape
    used = np.empty(rows, FLOAT32) if scales is None else _floats(scales).copy()
    if used.shape != (rows,):
        raise NativeKernelError("invalid row scales")
    results = np.empty(array.shape, INT8)
    status = kernels().function("quantize")(
        array, rows, columns, bits, int(scales is not None), used, results
    )
    if status:
        raise NativeKernelError(_QUANTIZE_ERRORS[status])
    return results, used


def dequantize(values: object, scales: object) -> Array:
    """value * scale of its row: int8 [rows, columns] by float32 [rows] -> float32."""
    array, used = arguments.matrix(values, INT8, -128, 127), _floats(scales)
    if used.shape != array.shape[:1]:
        raise NativeKernelError("invalid row scales")
    results = np.empty(array.shape, FLOAT32)
    if array.size:
        kernels().function("dequantize")(array, used, *array.shape, results)
    return results


def pack_unsigned(values: object, width: int) -> Array:
    """Little-endian words of 2, 3 or 4 bytes: uint32 that fit -> uint8 [count * width]."""
    if width not in WIRE_WIDTHS:
        raise NativeKernelError("wire width must be 2, 3, or 4")
    array = arguments.integers(values, UINT32, 0, 2**32 - 1)
    results = np.empty(array.size * width, UINT8)
    if array.size and not kernels().function("pack")(array, array.size, width, results):
        raise NativeKernelError("value exceeds wire width")
    return results


def unpack_unsigned(data: object, width: int) -> Array:
    """The inverse: whole words of `width` bytes -> uint32 [count]."""
    array = arguments.integers(data, UINT8, 0, 255).reshape(-1)
    if width not in WIRE_WIDTHS or array.size % width:
        raise NativeKernelError("invalid wire width or truncated payload")
    results = np.empty(array.size // width, UINT32)
    if results.size:
        kernels().function("unpack")(array, results.size, width, results)
    return results


def uniform_residues(modulus: int, count: int) -> Array:
    """Residues of q from the operating system, exactly uniform: uint32 up to q = 2^32, uint64 up to 2^64."""
    q = _wide_modulus(modulus)
    if count < 0:
        raise NativeKernelError("count must not be negative")
    narrow = q <= MASK_LIMIT
    results = np.empty(count, UINT32 if narrow else UINT64)
    if count and not kernels().function("uniform")(q % 2**64, count, 32 if narrow else 64, results):
        raise OSError("the operating system gave no random bytes")
    return results


def rescale(values: object, divisor: int) -> Array:
    """value / divisor to the nearest integer, ties to even: int64, 1 <= divisor < 2^62."""
    if not 1 <= divisor < 2**62:
        raise NativeKernelError("divisor must satisfy 1 <= divisor < 2^62")
    array = arguments.integers(values, INT64, -(2**63), 2**63 - 1)
    results = np.empty(array.shape, INT64)
    if array.size:
        kernels().function("rescale")(array, array.size, divisor, results)
    return results


def silu_q7(values: object) -> Array:
    """Quadratic stand-in for x * sigmoid(x), x = value / 128 in -1..1: (v^2 + 256 v) / 512 to the nearest,
    int32."""
    array = _q7(values)
    return rescale(array * array + 256 * array, 512).astype(INT32)


def multiply_q7(left: object, right: object) -> Array:
    """a * b / 128 to the nearest, ties to even; int32."""
    return rescale(_q7(left) * _q7(right), 128).astype(INT32)


def gated_q7(gate: object, up: object) -> Array:
    """silu_q7(gate) times up, both rounded; int32."""
    return multiply_q7(silu_q7(gate), up)


def _q7(values: object) -> Array:
    array = arguments.integers(values, INT64, -(2**63), 2**63 - 1)
    outside = array[(array < -128) | (array > 128)]
    if outside.size:
        raise NativeKernelError(f"Q7 value {int(outside.flat[0])} is outside -128..=128")
    return array


def _floats(values: object) -> Array:
    array = np.asarray(values)
    if array.dtype.kind != "f":
        raise NativeKernelError("expected a float tensor")
    return arguments.laid_out(array, FLOAT32)


def _mask_modulus(modulus: int) -> int:
    if not 2 <= modulus <= MASK_LIMIT:
        raise NativeKernelError("modulus must be in [2,2^32]")
    return modulus


def _wide_modulus(modulus: int) -> int:
    if not 2 <= modulus <= 2**64:
        raise NativeKernelError("modulus must be in [2,2^64]")
    return modulus


def _masked(name: str, values: object, masks: object, q: int, types: tuple[Any, Any, Any]) -> Array:
    value_type, mask_type, result_type = types
    refusal = "mask shape or residue mismatch" if name == "mask" else "output mask shape or residue mismatch"
    array = arguments.integers(values, value_type, np.iinfo(value_type).min, np.iinfo(value_type).max)
    other = arguments.integers(masks, mask_type, 0, np.iinfo(mask_type).max)
    if array.shape != other.shape:
        raise NativeKernelError(refusal)
    results = np.empty(array.shape, result_type)
    word_bits = mask_type.itemsize * 8
    if array.size and not kernels().function(name)(array, other, array.size, q % 2**64, word_bits, results):
        raise NativeKernelError(refusal)
    return results
