"""Freivalds checks: whether y = W x, without computing W x again.

For a secret random vector v over a prime field, v.y = (v W).x always when y = W x, and with probability 1/p
otherwise (R. Freivalds, 1977). The projection v W is computed once for a matrix, each check costs two dot
products.
"""

import numpy as np

from pllm_lang.runtime import arguments
from pllm_lang.runtime.arguments import INT64, UINT32, UINT64, Array
from pllm_lang.runtime.elements import uniform_residues
from pllm_lang.runtime.engine import MaskedGEMM
from pllm_lang.runtime.errors import NativeKernelError
from pllm_lang.runtime.record import FREIVALDS_MODULUS
from pllm_lang.runtime.startup import kernels


class FreivaldsCheck:
    """`checks` secret vectors for weights int8 [out, in], and their projections; p is a prime up to 2^32.

    Whoever computes the products must not know the vectors, and a vector must not be used again after a
    failure.
    """

    def __init__(
        self, engine: MaskedGEMM, weights: object, checks: int = 1, modulus: int = FREIVALDS_MODULUS
    ) -> None:
        if not 2 <= modulus <= 2**32 or checks < 1:
            raise NativeKernelError(
                "a Freivalds check needs a prime modulus up to 2^32 and at least one vector"
            )
        transposed = arguments.weights(weights, 8).T
        self._modulus = modulus
        self._vectors = uniform_residues(modulus, checks * transposed.shape[1]).reshape(checks, -1)
        projected = engine.compile(transposed).modular_wide(self._vectors.astype(UINT64), modulus)
        self._projections = projected.astype(UINT32)

    def holds(self, inputs: object, outputs: object) -> Array:
        """For each row, whether outputs [batch, out] are inputs [batch, in] times the weights; integers,
        bool [batch]."""
        left = self._dot(inputs, self._projections)
        right = self._dot(outputs, self._vectors)
        if left.shape != right.shape:
            raise NativeKernelError("expected as many inputs as outputs")
        return (left == right).all(axis=1)

    def _dot(self, values: object, vectors: Array) -> Array:
        array = np.asarray(values)
        if array.ndim != 2 or array.shape[1] != vectors.shape[1] or array.dtype.kind not in "iu":
            raise NativeKernelError(f"expected integers [batch,{vectors.shape[1]}]")
        residues = _residues(array, self._modulus)
        results = np.empty((array.shape[0], vectors.shape[0]), UINT32)
        if results.size:
            project = kernels().function("project")
            project(residues, len(residues), vectors, len(vectors), vectors.shape[1], self._modulus, results)
        return results


def _residues(array: Array, p: int) -> Array:
    wide = array.astype(INT64) % p if array.dtype.kind == "i" else array % np.uint64(p)
    return arguments.laid_out(wide, UINT32)
