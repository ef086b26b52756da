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
        from pllm_lang.runtime.report_text import as_text
    except ModuleNotFoundError as problem:
        click.echo(f"{problem.name} is not installed: pip install 'pllm-lang[kernels]'", err=True)
        return BAD_CALL
    try:
        found = capabilities()
    except NativeKernelError as problem:
        click.echo(str(problem), err=True)
        return BAD_CALL
    click.echo(json.dumps(found, indent=2) if form == "json" else as_text(found))
    return FOUND_NOTHING
