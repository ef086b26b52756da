"""`pllm compile FILE:NAME`: lock an accepted plan or experiment, or say every reason why not."""

from __future__ import annotations

import os
import sys

import click

from pllm_lang.cli.app import BAD_CALL, FOUND_NOTHING, FOUND_SOMETHING


@click.command(short_help="Lock an accepted plan: digests, role programs, certificate.")
@click.argument("target", metavar="FILE[:NAME]")
@click.option(
    "-o", "--output", metavar="LOCK", help="Where the lock goes.  [default: NAME.lock.json beside FILE]"
)
@click.option(
    "--check", is_flag=True, help="Write nothing: compare the lock that is there, and say what changed."
)
def command(target: str, output: str | None, check: bool) -> int:
    """Compile a plan or an experiment to a lock. A gap stops it, with the whole coverage report."""
    from pllm_lang.artifacts.lock_changes import changes
    from pllm_lang.cli.compiling import Refused, compile_target
    from pllm_lang.cli.given import NotGivenError
    from pllm_lang.cli.naming import split_target
    from pllm_lang.text.regular_file import Unreadable, read_bytes

    try:
        done = compile_target(target)
    except NotGivenError as problem:
        click.echo(str(problem), err=True)
        return problem.status
    if isinstance(done, Refused):
        click.echo(done.text, nl=False)
        return FOUND_SOMETHING
    folder = os.path.dirname(split_target(target)[0])
    path = output or os.path.join(folder, f"{done.lock.name}.lock.json")
    if check:
        old = read_bytes(path, MAX_LOCK_BYTES)
        if isinstance(old, Unreadable):
            click.echo(f"{path}: {old.message}", err=True)
            return BAD_CALL
        found = list(changes(old, done.content))
        click.echo("\n".join(found) if found else f"{path} is what {target} compiles to")
        return FOUND_SOMETHING if found else FOUND_NOTHING
    try:
        _write(path, done.content)
    except OSError as problem:
        click.echo(f"cannot write {path}: {problem.strerror}", err=True)
        return BAD_CALL
    click.echo(f"{path}\nplan_lock_digest {done.lock.plan_lock_digest}")
    return FOUND_NOTHING


MAX_LOCK_BYTES = 64_000_000
"""A larger file is no lock."""


def _write(path: str, content: bytes) -> None:
    """The whole file or none of it."""
    if path == "-":
        sys.stdout.buffer.write(content)
        return
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as stream:
            stream.write(content)
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
