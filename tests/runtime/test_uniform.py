"""Uniform residues: exactly uniform over every source, and drawn from the operating system."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from pllm_lang.resources import kernels_dir
from pllm_lang.runtime import elements
from pllm_lang.runtime.errors import NativeKernelError

ENUMERATION = r"""
#include <cstdio>
#include "random.hpp"

// Every byte once, then it fails: what a source of one-byte words can give at most.
struct EveryByte {
  unsigned next = 0;
  bool fill(std::uint8_t* bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (next == 256) return false;
      bytes[i] = std::uint8_t(next++);
    }
    return true;
  }
};

int main() {
  for (unsigned q = 2; q <= 256; ++q) {
    const unsigned kept = 256 / q * q;
    unsigned counts[256] = {};
    std::uint8_t residues[256];
    EveryByte source;
    if (!pllm::draw_residues(source, q, kept, residues)) return 1;   // none is lost
    for (unsigned i = 0; i < kept; ++i) {
      if (residues[i] >= q) return 2;
      ++counts[residues[i]];
    }
    for (unsigned r = 0; r < q; ++r)
      if (counts[r] != kept / q) return 3;                           // none is preferred
    EveryByte again;
    std::uint8_t more[257];
    if (pllm::draw_residues(again, q, kept + 1, more)) return 4;     // no word is used twice
  }
  std::puts("uniform");
}
"""


@pytest.mark.system
def test_every_residue_is_drawn_equally_often_from_all_bytes(tmp_path: Path) -> None:
    source, binary = tmp_path / "enumerate.cpp", tmp_path / "enumerate"
    source.write_text(ENUMERATION)
    include = str(kernels_dir() / "pllm")
    subprocess.run(["c++", "-std=c++17", "-Wall", "-I", include, str(source), "-o", str(binary)], check=True)
    done = subprocess.run([str(binary)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "uniform")


@pytest.mark.parametrize("q", [2, 3, 200, 256, 257, 65537, 2**24, 2**31 - 1, 2**32, 2**33, 2**62 - 57, 2**64])
def test_residues_cover_their_range(backend: str, q: int) -> None:
    residues = elements.uniform_residues(q, 4000)
    assert residues.dtype == (np.uint32 if q <= 2**32 else np.uint64)
    assert int(residues.max()) < q
    # The mean of 4000 uniform values is within 8 standard deviations but once in 10^15.
    assert abs(residues.mean(dtype=np.float64) - (q - 1) / 2) < 8 * q / (12 * 4000) ** 0.5
    assert len(np.unique(residues)) > min(q, 4000) * 0.9 if q > 4000**2 or q < 300 else True


def test_two_draws_differ(backend: str) -> None:
    assert (elements.uniform_residues(2**64, 8) != elements.uniform_residues(2**64, 8)).all()
    assert elements.uniform_residues(17, 0).shape == (0,)


@pytest.mark.parametrize(("q", "count"), [(0, 1), (1, 1), (-5, 1), (2**64 + 1, 1), (17, -1)])
def test_wrong_requests_are_refused(backend: str, q: int, count: int) -> None:
    with pytest.raises(NativeKernelError, match=r"modulus must be in|count must not be negative"):
        elements.uniform_residues(q, count)
