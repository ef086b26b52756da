"""The byte functions that users of the pllm.run SDK know: little-endian bytes in and out, its errors and
texts.

Each is the array function of `elements.py` of the same name between `frombuffer` and `tobytes`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pllm_lang.runtime import elements
from pllm_lang.runtime.arguments import INT8, UINT8, Array
from pllm_lang.runtime.errors import NativeKernelError
from pllm_lang.runtime.record import MASK_LIMIT

_NEGATIVE = "can't convert negative int to unsigned"


def pack_unsigned(data: bytes, width: int) -> bytes:
    """uint32 words -> words of 2, 3 or 4 bytes."""
    return elements.pack_unsigned(_words(data), width).tobytes()


def unpack_unsigned(data: bytes, width: int) -> bytes:
    """Words of 2, 3 or 4 bytes -> uint32 words."""
    return elements.unpack_unsigned(np.frombuffer(data, UINT8), width).astype("<u4").tobytes()


def mask(data: bytes, masks: bytes, modulus: int) -> bytes:
    """int8 and uint32 masks -> uint32 words, (value + mask) mod q."""
    values = np.frombuffer(data, INT8)
    return elements.mask(values, _words(masks), _unsigned(modulus)).astype("<u4").tobytes()


def unmask(data: bytes, masks: bytes, modulus: int) -> bytes:
    """uint32 words and masks -> int64, (value - mask) mod q, centred."""
    return elements.unmask(_words(data), _words(masks), _unsigned(modulus)).astype("<i8").tobytes()


def quantize(
    data: bytes, rows: int, columns: int, bits: int, scales: bytes | None = None
) -> tuple[bytes, bytes]:
    """float32 [rows, columns] -> int8 values and float32 scales of the rows."""
    values = _words(data, "<f4", "float32")
    if rows < 1 or columns < 1 or values.size != rows * columns:
        raise NativeKernelError("invalid quantization shape or bits")
    given = None if scales is None else _words(scales, "<f4", "float32")
    if given is not None and not np.isfinite(given).all():
        raise NativeKernelError("nonfinite float input")
    quantized, used = elements.quantize(values.reshape(rows, columns), bits, given)
    return quantized.tobytes(), used.astype("<f4").tobytes()


def uniform_residues(modulus: int, count: int) -> bytes:
    """`count` uint32 residues, exactly uniform below 2 <= q <= 2^32."""
    if not 2 <= _unsigned(modulus) <= MASK_LIMIT:
        raise RuntimeError("modulus must be in [2,2^32]")
    return elements.uniform_residues(modulus, _unsigned(count)).astype("<u4").tobytes()


def _words(data: bytes, dtype: str = "<u4", name: str = "uint32") -> Array:
    if len(data) % 4:
        raise NativeKernelError(f"{name} buffer length must be divisible by four")
    return np.frombuffer(data, dtype)


def _unsigned(value: int) -> int:
    if value < 0:
        raise OverflowError(_NEGATIVE)
    return value


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "pack_unsigned": pack_unsigned,
    "unpack_unsigned": unpack_unsigned,
    "mask": mask,
    "unmask": unmask,
    "quantize": quantize,
    "uniform_residues": uniform_residues,
}
