"""Hostile projects end with a finding, in two seconds and 512 MB."""

import subprocess
import sys
from pathlib import Path

import pytest

from pllm_lang.resolve.project import load

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (512 * 2**20, 512 * 2**20))
resource.setrlimit(resource.RLIMIT_CPU, (2, 2))
from pllm_lang.resolve.project import load
for finding in load([sys.argv[1]], sys.argv[2], {}).findings:
    print(finding.code)
"""


def doubling() -> str:
    """Each constant holds the one before twice."""
    lines = ["const c0 = [1, 1]"] + [f"const c{i} = [c{i - 1}, c{i - 1}]" for i in range(1, 90)]
    return "pllm 1\n" + "\n".join(lines) + "\n"


HOSTILE = {
    "tower": "pllm 1\nconst A = 2^(2^40)\nconst B = 9^(9^(9^9))\n",
    "digits": "pllm 1\nconst A = " + "7" * 3_000_000 + "\n",
    "nesting": "pllm 1\nconst A = " + "(" * 10_000 + "1" + ")" * 10_000 + "\n",
    "doubling": doubling(),
    "circle": "pllm 1\n"
    + "".join(f"const c{i} = c{i + 1} + 1\n" for i in range(5_000))
    + "const c5000 = c0\n",
    "large": "pllm 1\n" + "# filler\n" * 12_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_ends_with_a_finding(tmp_path: Path, name: str) -> None:
    path = tmp_path / "hostile.pllm"
    path.write_text(HOSTILE[name])
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()


def test_a_long_chain_of_imports_is_read(tmp_path: Path) -> None:
    for i in range(1_500):
        (tmp_path / f"m{i}.pllm").write_text(f'pllm 1\nimport "m{i + 1}.pllm" [N]\nconst A = N\n')
    (tmp_path / "m1500.pllm").write_text("pllm 1\nconst N = 1\n")
    project = load([str(tmp_path / "m0.pllm")], str(tmp_path), {})
    assert len(project.modules) == 1_501
    assert project.modules["./m1499"].constants["A"] == 1


def test_a_long_chain_of_constants_is_evaluated(tmp_path: Path) -> None:
    lines = [f"const c{i} = c{i + 1} + 1\n" for i in range(5_000)]
    (tmp_path / "a.pllm").write_text("pllm 1\n" + "".join(lines) + "const c5000 = 1\n")
    project = load([str(tmp_path / "a.pllm")], str(tmp_path), {})
    assert project.findings == ()
    assert project.modules["./a"].constants["c0"] == 5_001
