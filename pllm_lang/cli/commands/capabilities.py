"""`pllm capabilities`: which kernels run on this machine, on which instruction set, and why not faster ones."""

from __future__ import annotations

import json

import click

from pllm_lang.cli.app import BAD_CALL, FOUND_NOTHING


@click.command()
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(form: str) -> int:
    """Say which kernels run here, by starting them."""
    try:
        from pllm_lang.runtime.errors import NativeKernelError
        from pllm_lang.runtime.report import capabilities
    except ModuleNotFoundError as problem:
        click.echo(f"{problem.name} is not installed: pip install 'pllm-lang[kernels]'", err=True)
        return BAD_CALL
    try:
        found = capabilities()
    except NativeKernelError as problem:
        click.echo(str(problem), err=True)
        return BAD_CALL
    if form == "json":
        click.echo(json.dumps(found, indent=2))
        return FOUND_NOTHING
    width = max(map(len, found))
    for name, value in found.items():
        click.echo(f"{name.replace('_', ' '):<{width}}  {_shown(value)}".rstrip())
    return FOUND_NOTHING


def _shown(value: object) -> str:
    return str(value).strip("[]").replace("'", "")  # a list as its words
