"""What measuring is for: row norms prove a ring that the number of inputs alone does not, on exactly these weights."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from click.testing import CliRunner

from pllm_lang.cli.commands.check import command as check
from pllm_lang.cli.commands.measure import command as measure
from tests.measure.checkpoints import save

INPUTS = 600
PLAN = f"""pllm 1

import std.components [masked_linear]
import std.formats [act8, weight8]
import std.policies [single_evaluator]

plan layer under single_evaluator {{
  facts "facts.json"
  input x: act8[1, {INPUTS}] from client
  weight w: weight8[8, {INPUTS}] public
  y = linear(x, w) using masked_linear(bits: 24)
  output y to client
}}
"""
WITHOUT = PLAN.replace('  facts "facts.json"\n', "")
LIMIT = 2**23 - 1


def checked(folder: Path, text: str) -> tuple[int, str]:
    path = folder / "plan.pllm"
    path.write_text(text)
    result = CliRunner().invoke(
        check, [str(path), "--no-cache", "--format", "concise"], standalone_mode=False
    )
    assert result.exception is None
    return result.return_value, result.stdout


def write(folder: Path, weights: np.ndarray, *options: str) -> None:
    path = save(folder / "model.safetensors", {"w": weights})
    call = [str(path), "-o", str(folder / "facts.json"), *options]
    result = CliRunner().invoke(measure, call, standalone_mode=False)
    assert result.return_value == 0
    assert result.stdout == ""
    assert '`facts: "facts.json"` in an experiment' in result.stderr


def test_row_norms_prove_a_ring_that_the_number_of_inputs_does_not(tmp_path: Path) -> None:
    assert INPUTS * 127 * 127 > LIMIT
    write(tmp_path, np.random.default_rng(0).normal(size=(8, INPUTS)).astype(np.float32), "--quantize", "8")
    code, told = checked(tmp_path, WITHOUT)
    assert code == 1
    assert "bounds.carrier" in told
    assert str(INPUTS * 127 * 127) in told
    assert checked(tmp_path, PLAN)[0] == 0


@pytest.mark.parametrize(("above", "code"), [(0, 0), (1, 1)])
def test_the_proof_ends_where_the_norm_does(tmp_path: Path, above: int, code: int) -> None:
    """127 times the norm of the row is the largest result: one more than the ring holds is refused."""
    weights = np.zeros((8, INPUTS), np.int8)
    most = LIMIT // 127 + above
    full, rest = divmod(most, 127)
    weights[3, :full], weights[3, full] = 127, rest
    write(tmp_path, weights, "--quantize", "8")
    assert checked(tmp_path, PLAN)[0] == code


def test_norms_of_the_real_weights_prove_nothing_of_the_integers(tmp_path: Path) -> None:
    write(tmp_path, np.full((8, INPUTS), 2**-10, np.float32))
    code, told = checked(tmp_path, PLAN)
    assert code == 1
    assert "facts.other_numbers" in told


def test_check_reads_facts_without_numpy(tmp_path: Path) -> None:
    write(tmp_path, np.ones((8, INPUTS), np.int8), "--quantize", "8")
    (tmp_path / "plan.pllm").write_text(PLAN)
    code = (
        "import sys\nfrom pllm_lang.cli.app import run\n"
        f"sys.argv = ['pllm', 'check', {str(tmp_path / 'plan.pllm')!r}, '--no-cache']\n"
        "code = run()\nprint(code, 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 False"


def test_files_of_the_safetensors_library_are_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    tensors = {
        "a": rng.normal(size=(3, 4)).astype(np.float16),
        "b": rng.integers(-9, 9, (2, 5, 6)).astype(np.int32),
    }
    tensors |= {"c": rng.normal(size=(7,)), "d": np.array(3, np.int8), "e": np.zeros((0, 4), np.float32)}
    safetensors.numpy.save_file(tensors, tmp_path / "m.safetensors", metadata={"format": "np"})
    result = CliRunner().invoke(measure, [str(tmp_path / "m.safetensors")], standalone_mode=False)
    facts = json.loads(result.stdout)["facts"]
    assert set(facts) == {"a", "b", "c", "d"}
    assert facts["b"]["row_norm1"] == str(np.abs(tensors["b"]).sum(axis=-1).max())
    assert facts["d"] == {"min": "3", "max": "3", "row_norm1": "3", "row_norm2_sq": "9"}
