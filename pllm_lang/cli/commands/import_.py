"""`pllm import FILE`: an experiment of the pllm.run SDK as `.pllm` text."""

from __future__ import annotations

import os

import click

from pllm_lang.cli.app import BAD_CALL, FOUND_NOTHING, FOUND_SOMETHING


@click.command("import", short_help="An experiment of the pllm.run SDK as a .pllm file.")
@click.argument("file", metavar="FILE")
@click.option(
    "--config",
    default="",
    help="The config.json of its model, relative to the written file: what `check` reads.",
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="Write here, not to the standard output."
)
def command(file: str, config: str, output: str | None) -> int:
    """Print a `pllm.experiment.v2` document, JSON or YAML, as the text of a plan file.

    The text was read back and gives the same configuration digest. It is held to no policy until you write one:
    `experiment name under policy { ... }`.
    """
    from pllm_lang.cli.exchange import import_
    from pllm_lang.cli.given import NotGivenError, need_file
    from pllm_lang.cli.output import write_text

    folder = os.path.dirname(output) if output else ""
    try:
        if config:
            need_file(os.path.join(folder, config))
        done = import_(file, config, folder)
    except NotGivenError as problem:
        click.echo(str(problem), err=True)
        return problem.status
    click.echo(done.messages, nl=False, err=True)
    if done.text is None:
        return FOUND_SOMETHING
    return FOUND_NOTHING if write_text(done.text, output) else BAD_CALL
