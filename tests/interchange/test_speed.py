"""Lowering, its coverage report and the complete check keep their limits, in processor time beside the SDK's."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "lower.py"

pytestmark = pytest.mark.system


def test_limits_of_lowering_and_coverage(peer_python: str) -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "--sdk", peer_python],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    ratios = dict(re.findall(r"^(\w+) 80 layers .* ratio ([\d.]+), limit", done.stdout, re.MULTILINE))
    assert set(ratios) == {"lower", "coverage"}, done.stdout + done.stderr
    assert done.returncode == 0, done.stdout
