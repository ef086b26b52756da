"""Clang, by which kernels are compiled just in time, gives what numpy gives at every instruction set, wherever rows of results
lie: the other tests of all instruction sets compile with the system compiler, those by JIT take the best set alone."""

from pathlib import Path

import pytest

from pllm_lang.runtime import cpu
from pllm_lang.runtime.record import InstructionSet
from tests.runtime.test_startup import run

pytestmark = pytest.mark.system

PRODUCTS = """
import numpy as np
from pllm_lang.sdk.native import MaskedGEMM
draw = np.random.default_rng(7)
engine = MaskedGEMM(threads=1)
for outputs, inputs in ((64, 64), (65, 3), (67, 130), (100, 37), (129, 300), (131, 1300), (257, 96)):
    weights = draw.integers(-128, 128, (outputs, inputs)).astype(np.int8)
    wide, matrix = weights.T.astype(np.int64), engine.compile(weights)
    for batch in (1, 2, 3, 5, 6, 7, 13, 50, 63):
        small = draw.integers(-128, 128, (batch, inputs)).astype(np.int8)
        assert (matrix.clear(small) == small.astype(np.int64) @ wide).all(), ("clear", outputs, inputs, batch)
        words = draw.integers(0, 2**64, (batch, inputs), dtype=np.uint64)
        expected = words @ wide.astype(np.uint64)
        assert (matrix.wrap64(words) == expected).all(), ("wrap64", outputs, inputs, batch)
        halves = words.astype(np.uint32)
        assert (matrix.wrap32(halves) == expected.astype(np.uint32)).all(), ("wrap32", outputs, inputs, batch)
print("equal")
"""


@pytest.mark.parametrize("level", cpu.supported(), ids=lambda level: level.name)
def test_jit_gives_what_numpy_gives(level: InstructionSet, tmp_path: Path) -> None:
    done = run(PRODUCTS, tmp_path / "cache", PLLM_KERNELS="jit", PLLM_ISA=level.name)
    assert (done.returncode, done.stdout) == (0, "equal\n"), done.stdout + done.stderr
