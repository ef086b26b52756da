"""`pllm replay LOCK`: prove a lock again from its certificate, without the verifier."""

from __future__ import annotations

import click

from pllm_lang.cli.app import BAD_CALL, FOUND_NOTHING, FOUND_SOMETHING
from pllm_lang.cli.discover import SUFFIX


@click.command(short_help="Prove a lock again from its certificate, without the verifier.")
@click.argument("lock", metavar="LOCK")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(lock: str, format_: str) -> int:
    """Check every digest of a lock, and show each obligation of its plan again from the evidence in it."""
    if lock.endswith(SUFFIX):
        click.echo(
            f"{lock} is a file of plans; `pllm compile {lock}` writes the lock that is replayed", err=True
        )
        return BAD_CALL
    from pllm_lang.artifacts.library_records import replay_here
    from pllm_lang.artifacts.replay.reading import MAX_LOCK_BYTES
    from pllm_lang.artifacts.replay.refusal import ReplayError
    from pllm_lang.artifacts.replay.text import as_json, as_text, refused_json, refused_text
    from pllm_lang.catalog.load import shipped_library
    from pllm_lang.text.regular_file import Unreadable, read_bytes

    data = read_bytes(lock, MAX_LOCK_BYTES)
    if isinstance(data, Unreadable) and data.code != "file.too_large":
        click.echo(f"{lock}: {data.message}", err=True)
        return BAD_CALL
    try:
        if isinstance(data, Unreadable):
            raise ReplayError("lock.too_large", data.message)
        done = replay_here(data, shipped_library())
    except ReplayError as problem:
        told = refused_json(problem) if format_ == "json" else refused_text(lock, problem)
        click.echo(told)
        return FOUND_SOMETHING
    click.echo(as_json(done) if format_ == "json" else as_text(lock, done))
    return FOUND_NOTHING
