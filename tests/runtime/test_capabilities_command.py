"""`pllm capabilities` says what runs, in text and in JSON, and explains what cannot be had."""

import json

import pytest
from click.testing import CliRunner

from pllm_lang.cli.commands.capabilities import command
from pllm_lang.runtime import startup
from pllm_lang.runtime.report import capabilities


def test_json_is_what_python_says(backend: str) -> None:
    done = CliRunner().invoke(command, ["--format", "json"])
    assert json.loads(done.output) == capabilities()


def test_text_has_a_line_for_each_fact(backend: str) -> None:
    lines = CliRunner().invoke(command).output.splitlines()
    assert len(lines) == len(capabilities())
    assert any(line.split()[:2] == ["implementation", capabilities()["implementation"]] for line in lines)


def test_what_cannot_be_had_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "_kernels", [])
    monkeypatch.setenv("PLLM_KERNELS", "fast")
    done = CliRunner().invoke(command, standalone_mode=False)
    assert done.return_value == 2
    assert "must be one of library, jit, reference" in done.output
