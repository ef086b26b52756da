"""Hostile and broken input: a finding with a code or exit status 2, within 2 seconds of work and 512 MB, never a traceback."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

MEMORY = 512 * 2**20
SECONDS = 2.0
STEP = " y = neg(x) @ client\n output y to client\n}\n"
HEAD = "pllm 1\nimport std.formats [int8]\n"


def nested(open_: str, close: str, depth: int = 10_000) -> str:
    return f"pllm 1\nconst a = {open_ * depth}1{close * depth}\n"


def doubling(depth: int) -> str:
    blocks = "".join(
        f"block b{i}(x: int8[4]) -> (y) {{ a = b{i + 1}(x)\n y = b{i + 1}(a) }}\n" for i in range(depth)
    )
    last = f"block b{depth}(x: int8[4]) -> (y) {{ y = neg(x) @ client }}\n"
    return (
        f"{HEAD}{blocks}{last}plan p {{\n input x: int8[4] from client\n y = b0(x)\n output y to client\n}}\n"
    )


REPEAT = """plan p {
  input x: int8[4] from client
  repeat i in 0..<10^12 carrying [x] { x = neg(x) @ client }
  output x to client
}
"""
RECURSIVE = """block b(x: int8[4]) -> (y) { y = b(x) }
plan p {
  input x: int8[4] from client
  y = b(x)
  output y to client
}
"""

# name, content, the code of a finding
TEXTS: list[tuple[str, bytes | str, str]] = [
    ("latin1", b"pllm 1\n# caf\xe9\n", "file.not_text"),
    ("nul", b"pllm 1\nconst a = 1\0\n", "file.not_text"),
    ("utf16", "pllm 1\n".encode("utf-16"), "file.not_text"),
    ("parentheses", nested("(", ")"), "syntax.too_deep"),
    ("lists", nested("[", "]"), "syntax.too_deep"),
    ("signs", nested("-", ""), "syntax.too_deep"),
    ("blocks of statements", "pllm 1\nplan p {" + "repeat i in 0..<2 {" * 10_000 + "}" * 10_001, "syntax.too_deep"),
    ("tower", "pllm 1\nconst a = 2^(2^40)\nconst b = a + 1\n", "numbers.too_large"),
    ("exponent", "pllm 1\nconst a = 1e999999999\n", "numbers.too_large"),
    ("digits", "pllm 1\nconst a = " + "9" * 3_000_000 + "\n", "file.too_large"),
    ("digits within the file's limit", "pllm 1\nconst a = " + "9" * 1_500_000 + "\n", "syntax.too_long"),
    ("repeat", HEAD + REPEAT, "limits.repeat"),
    ("doubling blocks", doubling(40), "limits.expansion"),
    ("recursive block", HEAD + RECURSIVE, "blocks.recursive"),
    ("cyclic constants", "pllm 1\nconst a = b\nconst b = a\n", "names.cycle"),
    ("outside the project", 'pllm 1\nimport "../../../other.pllm" [x]\n', "modules.outside_project"),
    ("not a plan file", 'pllm 1\nimport "/etc/hostname" [x]\n', "modules."),
    ("huge tensor", HEAD + "plan p {\n input x: int8[10^18, 10^18] from client\n" + STEP, "limits.tensor"),
    ("many mistakes", "pllm 1\n" + "@ $ ~ `\n" * 20_000, "syntax."),
    ("long string", 'pllm 1\nimport "' + "a" * 1_000_000 + '" [x]\n', "syntax.too_long"),
    ("long list", "pllm 1\nconst a = [" + "1, " * 300_000 + "1]\n", "syntax.too_large"),
]  # fmt: skip


def run(arguments: list[str], folder: Path) -> tuple[subprocess.CompletedProcess[str], float]:
    """The process, held to the memory limit, and the processor seconds it took."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "pllm_lang.cli.main", "check", "--no-cache", *arguments],
        cwd=folder, capture_output=True, text=True, check=False, timeout=60, preexec_fn=limit,
        env=os.environ | {"PLLM_CACHE_DIR": str(folder / "cache"), "PLLM_DEBUG": "1"},
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize(("content", "code"), [pytest.param(c, code, id=name) for name, c, code in TEXTS])
def test_text(content: bytes | str, code: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.pllm"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done, seconds = run(["plan.pllm"], tmp_path)
    assert done.returncode == 1, done.stderr
    assert f"[{code}" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert seconds < SECONDS


def _large(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(100 * 2**20)


def _folder(path: Path) -> None:
    path.mkdir()


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (_large, "file.too_large"),
        (_loop, "file.unreadable"),
        (_pipe, "file.unreadable"),
        (_device, "file.unreadable"),
    ],
)
def test_file(make: Callable[[Path], None], code: str, tmp_path: Path) -> None:
    make(tmp_path / "plan.pllm")
    done, seconds = run(["plan.pllm"], tmp_path)
    assert done.returncode == 1, done.stderr
    assert f"[{code}]" in done.stdout
    assert seconds < SECONDS


def test_cyclic_imports(tmp_path: Path) -> None:
    (tmp_path / "a.pllm").write_text('pllm 1\nimport "b.pllm" [y]\nconst x = y\n')
    (tmp_path / "b.pllm").write_text('pllm 1\nimport "a.pllm" [x]\nconst y = x\n')
    done, _ = run(["a.pllm"], tmp_path)
    assert done.returncode == 1
    assert "[modules.cycle]" in done.stdout


def test_a_missing_file_is_a_wrong_call(tmp_path: Path) -> None:
    done, _ = run(["absent.pllm"], tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "absent.pllm" in done.stderr


def test_a_broken_configuration_is_a_wrong_call(tmp_path: Path) -> None:
    (tmp_path / "pllm.toml").write_text("exclude = 3\n")
    (tmp_path / "a.pllm").write_text("pllm 1\n")
    done, _ = run(["a.pllm"], tmp_path)
    assert done.returncode == 2
    assert "pllm.toml" in done.stderr
