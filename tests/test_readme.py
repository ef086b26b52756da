"""The README shows what a user really sees, and its two commands are the ones that CI runs."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from pllm_lang.cli.app import app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def anywhere(output: str) -> str:
    """The output without the line of the library's record, which moves whenever the library grows above it."""
    found = re.search(r"^  ::: std/methods\.pllm:(\d+):", output, re.MULTILINE)
    assert found is not None
    return output.replace(f"pllm:{found[1]}:", "pllm:N:").replace(f"\n{found[1]} |", "\nN |")


def test_the_refused_plan_gives_the_output_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "layer.pllm").write_text(blocks("pllm")[0], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["check", "--no-cache", "layer.pllm"], standalone_mode=False)
    assert anywhere(result.output) == anywhere(blocks("text")[0])
    assert result.return_value == 1


def test_the_plan_is_accepted_with_the_norms_that_the_text_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = blocks("pllm")[0].replace("abs(x) <= 8", "abs(x) <= 8 and norm2(x) <= 64")
    plan = plan.replace("abs(w) <= 4", "abs(w) <= 4 and row_norm2(w) <= 8")
    (tmp_path / "layer.pllm").write_text(plan, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert (
        CliRunner().invoke(app, ["check", "--no-cache", "layer.pllm"], standalone_mode=False).return_value
        == 0
    )


def test_there_are_two_commands_with_their_own_set_up() -> None:
    examples, tests = blocks("sh")
    assert "pllm check examples" in examples
    assert "pytest" in tests
    assert all("-m venv" in command for command in (examples, tests))


def test_the_commands_that_lock_a_plan_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    lines = blocks("console")[0].splitlines()
    assert [line.split()[2] for line in lines] == ["compile", "replay", "diff"]
    for line in lines:
        assert line.startswith("$ pllm ")
        done = CliRunner().invoke(app, line.split()[2:], standalone_mode=False)
        assert done.return_value in (0, None), (line, done.output)
