"""The manual has every command and every option, in roff that cannot be broken by a help text."""

import re

import click
import pytest

from pllm_lang.cli.manual import commands, man_page, markdown

NAMES = [name for name, _ in commands()]


def options(command: click.Command) -> list[str]:
    return [name for param in command.params if isinstance(param, click.Option) for name in param.opts]


@pytest.mark.parametrize(("name", "command"), list(commands()), ids=NAMES)
def test_every_command_and_option_is_told(name: str, command: click.Command) -> None:
    roff, page = man_page().replace("\\-", "-"), markdown()
    assert f".SS pllm {name}" in roff
    assert f"## pllm {name}\n" in page
    for option in options(command):
        assert option in roff
        assert option in page


def test_no_line_of_text_is_a_request_of_its_own() -> None:
    known = re.compile(r"\.(TH|SH|SS|PP|TP|B)\b")
    assert all(known.match(line) for line in man_page().splitlines() if line.startswith((".", "'")))


def test_every_command_says_what_it_does() -> None:
    for name, command in commands():
        assert command.help, name
        assert command.get_short_help_str(200), name
