"""The hooks under the real pre-commit: a good and a bad plan, a changed policy, and a small environment."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.system

PLAN = """pllm 1

import std.formats [int8]

plan doubling {{
  input x: int8[4] from client where abs(x) <= {limit}
  y = add(x, x) @ client
  output y to client
}}
"""
POLICY = """pllm 1

policy ours {
  parties [client, server]
  adversary semi_honest corrupts 1 of [client, server]
}
"""
USER = """pllm 1

import "policy.pllm" [ours]
import std.formats [int8]

plan quiet under ours {
  input x: int8[4] from client where abs(x) <= 10
  y = add(x, x) @ client
  output y to client
}
"""


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of the checkout, as pre-commit takes it."""
    clone = tmp_path_factory.mktemp("hooks") / "pllm-lang"
    done = run(ROOT, "git", "clone", "-q", str(ROOT), str(clone))
    assert done.returncode == 0, done.stderr
    return clone


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for command in (["init", "-q"], ["config", "user.email", "a@example.org"], ["config", "user.name", "a"]):
        run(tmp_path, "git", *command)
    (tmp_path / "good.pllm").write_text(PLAN.format(limit=63))
    (tmp_path / "bad.pllm").write_text(PLAN.format(limit=100))
    (tmp_path / "policy.pllm").write_text(POLICY)
    (tmp_path / "user.pllm").write_text(USER)
    run(tmp_path, "git", "add", "-A")
    return tmp_path


def try_repo(project: Path, hooks: Path, hook: str, *files: str) -> subprocess.CompletedProcess[str]:
    tool = shutil.which("pre-commit", path=str(Path(sys.executable).parent)) or "pre-commit"
    return run(project, tool, "try-repo", str(hooks), hook, "--files", *files)


def test_check(project: Path, hooks: Path) -> None:
    good = try_repo(project, hooks, "pllm-check", "good.pllm")
    assert good.returncode == 0, good.stdout + good.stderr
    bad = try_repo(project, hooks, "pllm-check", "good.pllm", "bad.pllm")
    assert bad.returncode == 1
    assert "bounds.overflow" in bad.stdout
    assert "bad.pllm" in bad.stdout


def test_a_changed_policy_checks_the_plans_that_use_it(project: Path, hooks: Path) -> None:
    (project / "policy.pllm").write_text(POLICY.replace("policy ours", "policy others"))
    run(project, "git", "add", "-A")
    renamed = try_repo(project, hooks, "pllm-check", "policy.pllm")
    assert renamed.returncode == 1
    assert "user.pllm" in renamed.stdout


def test_format(project: Path, hooks: Path) -> None:
    (project / "good.pllm").write_text(PLAN.format(limit=63).replace("  y = ", "      y   = "))
    run(project, "git", "add", "-A")
    done = try_repo(project, hooks, "pllm-fmt", "good.pllm")
    assert done.returncode == 1, "pre-commit fails a hook that changes files"
    assert (project / "good.pllm").read_text() == PLAN.format(limit=63)


def test_the_hook_installs_neither_numpy_nor_cppyy(tmp_path: Path, hooks: Path) -> None:
    environment = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = str(environment / "bin" / "python")
    assert run(tmp_path, python, "-m", "pip", "install", "-q", str(hooks)).returncode == 0
    listed = run(tmp_path, python, "-m", "pip", "list", "--format", "freeze").stdout.lower()
    assert "pllm" in listed
    assert not [name for name in ("numpy", "cppyy", "pygls", "yaml") if name in listed]


@pytest.mark.parametrize("hook", ["pllm-check", "pllm-fmt"])
def test_a_plan_that_is_no_text_is_refused_not_skipped(project: Path, hooks: Path, hook: str) -> None:
    (project / "wide.pllm").write_bytes(PLAN.format(limit=63).encode("utf-16"))
    run(project, "git", "add", "-A")
    done = try_repo(project, hooks, hook, "wide.pllm")
    assert (done.returncode, "file.not_text" in done.stdout) == (1, True), done.stdout
