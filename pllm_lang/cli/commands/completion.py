"""`pllm completion SHELL`: the script that makes a shell complete commands, options, files and codes."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from pllm_lang.cli.app import BAD_CALL, FOUND_NOTHING, app

SHELLS = ("bash", "zsh", "fish")
PROGRAMS = ("pllm-lang", "pllm")


@click.command(short_help="A completion script for bash, zsh or fish.")
@click.argument("shell", type=click.Choice(SHELLS))
@click.option(
    "--for", "programs", type=click.Choice(PROGRAMS), multiple=True, help="Only for this name of the command."
)
def command(shell: str, programs: tuple[str, ...]) -> int:
    """Print a completion script for SHELL. Load it where the shell starts: `eval "$(pllm-lang completion bash)"` in ~/.bashrc,
    the same with zsh in ~/.zshrc, and `pllm-lang completion fish | source` in ~/.config/fish/config.fish.

    Both names of the command are completed. Where the `pllm` of another package is installed beside this one, say
    `--for pllm-lang`.
    """
    made = get_completion_class(shell)
    if made is None:
        click.echo(f"no completion is known for {shell}", err=True)
        return BAD_CALL
    for program in programs or PROGRAMS:
        variable = f"_{program.replace('-', '_').upper()}_COMPLETE"
        click.echo(made(app, {}, program, variable).source())
    return FOUND_NOTHING
