"""The functions of `cpp_kernels/pllm/api.hpp` on numpy: what the engine calls where there is no C++.

Same names, same arguments, same answers, so that the engine has one path. The arithmetic is that of
`reference.py`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pllm_lang.runtime import reference
from pllm_lang.runtime.arguments import Array
from pllm_lang.runtime.interface import Loaded

_DONE, _OUT_OF_RANGE = 0, 1


class NumpyKernels:
    """Kernels of `interface.Kernels`; a matrix is its array of weights, a pool is nothing."""

    def __init__(self, reason: str) -> None:
        self.loaded = Loaded("python-reference", "numpy", "numpy", reason)

    def function(self, name: str) -> Callable[..., Any]:
        return _FUNCTIONS[name]

    def make(self, missing: int) -> None:
        raise AssertionError(f"numpy has every kernel, also {missing}")


def _matrix(weights: Array, _outputs: int, _inputs: int, _bits: int) -> Array:
    return weights


def _nothing(_what: object) -> None:
    return None


def _bytes(weights: Array) -> int:
    return weights.nbytes


def _clear(_pool: object, weights: Array, inputs: Array, _rows: int, results: Array) -> int:
    results[...] = reference.clear(weights, inputs)
    return _DONE


def _ring(_pool: object, weights: Array, bits: int, inputs: Array, _rows: int, results: Array) -> int:
    if int(inputs.max()) >> bits:
        return _OUT_OF_RANGE
    results[...] = reference.ring(weights, inputs, bits)
    return _DONE


def _residues32(_pool: object, weights: Array, q: int, inputs: Array, _rows: int, results: Array) -> int:
    return _residues64(_pool, weights, q, 0, inputs, _rows, results)


def _residues64(
    _pool: object, weights: Array, q: int, columns: int, inputs: Array, _rows: int, results: Array
) -> int:
    if int(inputs.max()) >= q:
        return _OUT_OF_RANGE
    results[...] = (
        reference.residues(weights, inputs.T, q).T if columns else reference.residues(weights, inputs, q)
    )
    return _DONE


def _mask(values: Array, masks: Array, _count: int, q: int, bits: int, results: Array) -> int:
    q = q or 1 << bits
    if int(masks.max()) >= q:
        return 0
    results[...] = reference.mask(values, masks, q)
    return 1


def _unmask(values: Array, masks: Array, _count: int, q: int, bits: int, results: Array) -> int:
    q = q or 1 << bits
    if max(int(values.max()), int(masks.max())) >= q:
        return 0
    results[...] = reference.unmask(values, masks, q)
    return 1


def _quantize(
    values: Array, _rows: int, _columns: int, bits: int, given: int, scales: Array, results: Array
) -> int:
    if not np.isfinite(values).all():
        return 1
    if not given:
        scales[...] = reference.row_scales(values, bits)
    if not ((scales > 0) & np.isfinite(scales)).all():
        return 3 if given else 2
    results[...] = reference.quantize(values, bits, scales)
    return 0


def _dequantize(values: Array, scales: Array, _rows: int, _columns: int, results: Array) -> None:
    results[...] = reference.dequantize(values, scales)


def _pack(values: Array, _count: int, width: int, results: Array) -> int:
    if int(values.max()) >> (8 * width):
        return 0
    results[...] = reference.pack_unsigned(values, width)
    return 1


def _unpack(data: Array, _count: int, width: int, results: Array) -> None:
    results[...] = reference.unpack_unsigned(data, width)


def _rescale(values: Array, _count: int, divisor: int, results: Array) -> None:
    results[...] = reference.rescale(values, divisor)


def _project(
    rows: Array, _rows: int, checks: Array, _checks: int, _width: int, p: int, results: Array
) -> None:
    results[...] = reference.project(rows, checks, p)


def _uniform(q: int, count: int, bits: int, results: Array) -> int:
    results[...] = reference.uniform_residues(q or 1 << bits, count, results.dtype)
    return 1


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "pool": _nothing,
    "pool_release": _nothing,
    "matrix": _matrix,
    "matrix_release": _nothing,
    "matrix_bytes": _bytes,
    "clear": _clear,
    "ring32": _ring,
    "ring64": _ring,
    "residues32": _residues32,
    "residues64": _residues64,
    "mask": _mask,
    "unmask": _unmask,
    "quantize": _quantize,
    "dequantize": _dequantize,
    "pack": _pack,
    "unpack": _unpack,
    "rescale": _rescale,
    "project": _project,
    "uniform": _uniform,
}
