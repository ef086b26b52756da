"""`CompiledMatrix`: the weights of one layer, packed once, and the products with them.

Inputs that already are contiguous arrays of the exact type are read in place; others are checked and
copied. Batch 0 gives an empty result (`coefficients` wants a column). Raises `NativeKernelError`, whose texts are those
of the pllm.run SDK where it has the same operation.
"""

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from pllm_lang.runtime import arguments
from pllm_lang.runtime.arguments import INT8, INT32, UINT32, UINT64, Array
from pllm_lang.runtime.errors import NativeKernelError
from pllm_lang.runtime.record import CLEAR_BOUND, COEFFICIENT_BITS, MODULAR_BITS, WIDE_BITS

if TYPE_CHECKING:
    from pllm_lang.runtime.engine import MaskedGEMM

_OUT_OF_RANGE, _NO_MEMORY = 1, 2
_empty, _ndarray = np.empty, np.ndarray


class CompiledMatrix:
    """Weights [out, in] of an engine; a later change of the array they came from changes nothing here."""

    __slots__ = (
        "__weakref__",
        "_bits",
        "_bytes",
        "_clear",
        "_clear_fits",
        "_engine",
        "_handle",
        "_inputs",
        "_outputs",
        "_residues32",
        "_residues64",
        "_ring32",
        "_ring64",
    )

    def __init__(self, owner: "MaskedGEMM", weights: object, bits: int = 8) -> None:
        packed = arguments.weights(weights, bits)
        function = owner.kernels.function
        self._engine, self._bits = owner, bits
        self._outputs, self._inputs = packed.shape
        self._clear_fits = self._inputs * int(abs(packed.astype(np.int16)).max()) * 128 <= CLEAR_BOUND
        self._handle: Any = function("matrix")(packed, self._outputs, self._inputs, bits)
        if isinstance(self._handle, int) and self._handle == 0:
            raise MemoryError(f"no memory for a matrix of {self._outputs} x {self._inputs}")
        weakref.finalize(self, function("matrix_release"), self._handle).atexit = False
        self._bytes = int(function("matrix_bytes")(self._handle))
        self._clear, self._ring32, self._ring64 = function("clear"), function("ring32"), function("ring64")
        self._residues32, self._residues64 = function("residues32"), function("residues64")

    @property
    def shape(self) -> tuple[int, int]:
        """(out, in)."""
        return self._outputs, self._inputs

    @property
    def bits(self) -> int:
        """Of a weight: 8 or 4."""
        return self._bits

    @property
    def nbytes(self) -> int:
        """Of everything that the matrix holds."""
        return self._bytes

    # The next three are called for single rows of small layers, where each Python call counts: no helpers.

    def clear(self, inputs: Any) -> Array:
        """int8 [batch, in] -> int32 [batch, out], exact; refused where some input of these weights would not fit."""
        if not (
            type(inputs) is _ndarray and inputs.dtype is INT8 and inputs.flags.carray and inputs.ndim == 2
        ):
            inputs = arguments.matrix(inputs, INT8, -128, 127)
        rows, width = inputs.shape
        if width != self._inputs:
            raise NativeKernelError(arguments.SHAPES)
        if not self._clear_fits:
            raise NativeKernelError(arguments.WORST_CASE)
        results = _empty((rows, self._outputs), INT32)
        if rows:
            status = self._clear(self._engine.pool, self._handle, inputs, rows, results)
            if status:
                self._again(status, self._clear, (inputs, rows, results), 127)
        return results

    def wrap32(self, inputs: Any) -> Array:
        """uint32 [batch, in] -> uint32 [batch, out], modulo 2^32."""
        if not (
            type(inputs) is _ndarray and inputs.dtype is UINT32 and inputs.flags.carray and inputs.ndim == 2
        ):
            inputs = arguments.matrix(inputs, UINT32, 0, 2**32 - 1)
        rows, width = inputs.shape
        if width != self._inputs:
            raise NativeKernelError(arguments.SHAPES)
        results = _empty((rows, self._outputs), UINT32)
        if rows:
            status = self._ring32(self._engine.pool, self._handle, 32, inputs, rows, results)
            if status:
                self._again(status, self._ring32, (32, inputs, rows, results), 2**32 - 1)
        return results

    def wrap64(self, inputs: Any) -> Array:
        """uint64 [..., in] (or signed, not negative) -> uint64 [..., out], modulo 2^64."""
        if not (type(inputs) is _ndarray and inputs.dtype is UINT64 and inputs.flags.carray and inputs.ndim):
            inputs = arguments.unsigned_words(inputs)
        if inputs.ndim == 2:
            rows, width = inputs.shape
            results = _empty((rows, self._outputs), UINT64)
        else:
            *leading, width = inputs.shape
            results = _empty((*leading, self._outputs), UINT64)
            rows = results.size // self._outputs
        if width != self._inputs:
            raise NativeKernelError(arguments.LEADING_SHAPES)
        if rows:
            status = self._ring64(self._engine.pool, self._handle, 64, inputs, rows, results)
            if status:
                self._again(status, self._ring64, (64, inputs, rows, results), 2**64 - 1)
        return results

    def ring(self, inputs: object, bits: int) -> Array:
        """Modulo 2^bits, 1 to 64: uint32 in and out up to 32 bits, uint64 above; [batch, in] -> [batch,
        out]."""
        if not 1 <= bits <= 64:
            raise NativeKernelError("a ring has 1 to 64 bits")
        dtype, function = (UINT32, self._ring32) if bits <= 32 else (UINT64, self._ring64)
        checked, rows = self._rows(inputs, dtype, 2**bits - 1)
        results = _empty((rows, self._outputs), dtype)
        if rows:
            self._run(function, (bits, checked, rows, results), 2**bits - 1)
        return results

    def modular(self, inputs: object, modulus: Any) -> Array:
        """uint32 [batch, in] below q -> uint32 [batch, out] modulo q, 2 <= q < 2^31; q need not be prime."""
        q = arguments.modulus(modulus, MODULAR_BITS, arguments.PRIME_RING)
        checked, rows = self._rows(inputs, UINT32, q - 1)
        results = _empty((rows, self._outputs), UINT32)
        if rows:
            self._run(self._residues32, (q, checked, rows, results), q - 1)
        return results

    def modular_wide(self, inputs: object, modulus: Any) -> Array:
        """As `modular` in uint64, 2 <= q < 2^62."""
        q = arguments.modulus(modulus, WIDE_BITS, arguments.WIDE_MODULUS)
        checked, rows = self._rows(inputs, UINT64, q - 1)
        results = _empty((rows, self._outputs), UINT64)
        if rows:
            self._run(self._residues64, (q, 0, checked, rows, results), q - 1)
        return results

    def coefficients(self, inputs: object, modulus: Any) -> Array:
        """uint64 [in, columns] below q -> uint64 [out, columns] modulo q, 2 <= q < 2^54."""
        return self._columns(inputs, arguments.modulus(modulus, COEFFICIENT_BITS, arguments.CIPHERTEXT))

    def coefficients_wide(self, inputs: object, modulus: Any) -> Array:
        """As `coefficients`, 2 <= q < 2^62."""
        return self._columns(inputs, arguments.modulus(modulus, WIDE_BITS, arguments.WIDE_MODULUS))

    def _columns(self, inputs: object, q: int) -> Array:
        checked = self._checked(inputs, UINT64, q - 1)
        width, columns = checked.shape
        if width != self._inputs or columns == 0:
            raise NativeKernelError(arguments.COLUMNS)
        results = _empty((self._outputs, columns), UINT64)
        self._run(self._residues64, (q, 1, checked, columns, results), q - 1)
        return results

    def _rows(self, inputs: object, dtype: "np.dtype[Any]", high: int) -> tuple[Array, int]:
        checked = self._checked(inputs, dtype, high)
        rows, width = checked.shape
        if width != self._inputs:
            raise NativeKernelError(arguments.SHAPES)
        return checked, rows

    @staticmethod
    def _checked(inputs: Any, dtype: "np.dtype[Any]", high: int) -> Array:
        if arguments.ready(inputs, dtype) and inputs.ndim == 2:
            return inputs
        return arguments.matrix(inputs, dtype, 0, high)

    def _run(self, function: Callable[..., int], call: tuple[Any, ...], high: int) -> None:
        status = function(self._engine.pool, self._handle, *call)
        if status:
            self._again(status, function, call, high)

    def _again(self, status: int, function: Callable[..., int], call: tuple[Any, ...], high: int) -> None:
        """A kernel that was not compiled yet is compiled and run; anything else is an error."""
        if status == _OUT_OF_RANGE:
            raise arguments.out_of_range(0, high)
        if status == _NO_MEMORY:
            raise MemoryError("no memory for the digits of the inputs")
        self._engine.kernels.make(status)
        self._run(function, call, high)
