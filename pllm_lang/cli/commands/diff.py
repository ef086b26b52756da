"""`pllm diff A B`: what is less private, less exact, more costly or another version in B."""

from __future__ import annotations

import click

from pllm_lang.cli.app import BAD_CALL, FOUND_NOTHING, FOUND_SOMETHING


@click.command(short_help="Two plans or locks compared by what they mean.")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(first: str, second: str, format_: str) -> int:
    """Compare two plans (FILE:NAME) or locks. The exit status is 1 where B is weaker than A in anything."""
    from pllm_lang.artifacts.diff import as_json, as_text, compare
    from pllm_lang.cli.compiling import NoLockError, lock_of
    from pllm_lang.cli.given import NotGivenError

    try:
        found = compare(lock_of(first), lock_of(second))
    except (NoLockError, NotGivenError) as problem:
        click.echo(str(problem), err=True)
        return BAD_CALL
    click.echo((as_json if format_ == "json" else as_text)(first, second, found))
    return FOUND_SOMETHING if any(one.weaker for one in found) else FOUND_NOTHING
