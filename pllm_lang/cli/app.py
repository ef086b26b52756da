"""The click application: each file in `commands/` is one command, imported when it is called."""

from __future__ import annotations

import errno
import importlib
import keyword
import os
import sys
from collections.abc import Sequence

import click

from pllm_lang import __version__

COMMANDS_DIR = os.path.join(os.path.dirname(__file__), "commands")
FOUND_NOTHING, FOUND_SOMETHING, BAD_CALL = 0, 1, 2
NO_PLACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class Commands(click.Group):
    """A group whose commands are the files of `commands/`; a file `x.py` holds a click command `command`.

    A command whose name is a word of Python ends in `_`: `import_.py`.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        names = (name[:-3] for name in os.listdir(COMMANDS_DIR) if name.endswith(".py"))
        return sorted(name.removesuffix("_") for name in names if not name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        file = f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name
        return importlib.import_module(f"pllm_lang.cli.commands.{file}").command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        unknown = bool(args) and args[0] not in self.list_commands(ctx) and not args[0].startswith("-")
        if unknown and not ctx.resilient_parsing:  # a shell that completes wants no message
            ctx.fail(_unknown_command(args[0], self.list_commands(ctx)))
        return super().resolve_command(ctx, args)


def _unknown_command(name: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=1)
    hint = f" Did you mean `{close[0]}`?" if close else f" The commands are {', '.join(known)}."
    return f"there is no command `{name}`.{hint}"


EPILOG = """Begin with `pllm init`, which writes a first plan; `pllm COMMAND --help` says more of a command. The exit status is 0,
1 where something was found or refused, 2 where the call or the environment is wrong."""


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EPILOG)
@click.version_option(__version__, prog_name="pllm-lang")
def app() -> None:
    """Check, format and explain plans for private LLM inference."""


def run() -> int:
    """Run the application; the exit status: 0 nothing found, 1 findings, 2 a wrong call or environment."""
    try:
        result = app.main(standalone_mode=False, prog_name=_program_name())
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as problem:
        problem.show()
        return BAD_CALL
    except (KeyboardInterrupt, click.exceptions.Abort):
        click.echo("stopped", err=True)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD_CALL
    except (Exception, RecursionError) as problem:
        if os.environ.get("PLLM_DEBUG"):
            raise
        click.echo(_no_folder() or _not_written(problem) or _own_mistake(problem), err=True)
        return BAD_CALL
    return result if isinstance(result, int) else FOUND_NOTHING


def _no_folder() -> str:
    """What to say where the working folder is gone or closed to us; "" where it is there."""
    try:
        os.getcwd()
    except OSError as problem:
        return f"the working folder cannot be used: {problem.strerror}; change into another"
    return ""


def _not_written(problem: BaseException) -> str:
    """What to say where the answer finds no place, such as on a full disk; "" for another problem."""
    if isinstance(problem, OSError) and problem.errno in NO_PLACE and problem.filename is None:
        return f"the answer could not be written: {problem.strerror}"
    return ""


def _own_mistake(problem: BaseException) -> str:
    """What to say when the program itself fails: never a verdict, never a page of code."""
    return (
        f"pllm failed on its own account ({type(problem).__name__}); nothing was proved or refused.\n"
        "This is a mistake in pllm, not in your plan. Please report it with the plan; PLLM_DEBUG=1 shows where it failed."
    )


def _program_name() -> str:
    return os.path.basename(sys.argv[0]) if sys.argv and not sys.argv[0].endswith(".py") else "pllm"
