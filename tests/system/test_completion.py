"""Completion scripts in the real shells, and the man page in the real formatter."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pllm_lang.cli.manual import man_page

pytestmark = pytest.mark.system
BIN = str(Path(sys.executable).parent)


def run(*command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"}
    return subprocess.run(
        command, input=stdin, capture_output=True, text=True, check=False, env=environment, timeout=120
    )


BASH = """eval "$(pllm completion bash)"
complete -p pllm pllm-lang
COMP_WORDS=({words}) COMP_CWORD={at}
{function} pllm
echo "said: ${{COMPREPLY[*]}}"
"""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("pllm che", "check"),
        ("pllm check --format sa", "sarif"),
        ("pllm check --ignore names.unu", "names.unused"),
        ("pllm explain bounds.over", "bounds.overflow"),
        ("pllm completion fi", "fish"),
        ("pllm nonsense --x", ""),
    ],
)
def test_bash(words: str, said: str) -> None:
    at = len(words.split()) - 1
    done = run("bash", "-c", BASH.format(words=words, at=at, function="_pllm_completion"))
    assert "_pllm_lang_completion pllm-lang" in done.stdout
    assert done.stdout.splitlines()[-1] == f"said: {said}", done.stderr
    assert "rror" not in done.stderr


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("pllm-lang che", "check"),
        ("pllm check --format sa", "sarif"),
        ("pllm check --ignore names.unu", "names.unused"),
    ],
)
def test_fish(line: str, said: str) -> None:
    done = run("fish", "-c", f"pllm completion fish | source; complete -C '{line}'")
    assert [row.split("\t")[0] for row in done.stdout.splitlines()] == [said], done.stderr


def test_zsh() -> None:
    script = 'autoload -Uz compinit; compinit -u -D; eval "$(pllm completion zsh)"; print $_comps[pllm] $_comps[pllm-lang]'
    done = run("zsh", "-fc", script)
    assert done.stdout.split() == ["_pllm_completion", "_pllm_lang_completion"], done.stderr
    offered = run(
        "env", "_PLLM_COMPLETE=zsh_complete", "COMP_WORDS=pllm check --format sa", "COMP_CWORD=3", "pllm"
    )
    assert offered.stdout.split("\n")[:2] == ["plain", "sarif"]


def test_only_the_name_asked_for() -> None:
    done = run("pllm", "completion", "bash", "--for", "pllm-lang")
    assert "_pllm_completion" not in done.stdout
    assert "_PLLM_LANG_COMPLETE" in done.stdout


def test_the_man_page_has_no_warning() -> None:
    done = run("groff", "-man", "-ww", "-Tutf8", stdin=man_page())
    assert done.returncode == 0
    assert done.stderr == ""
    assert "PLLM(1)" in done.stdout
