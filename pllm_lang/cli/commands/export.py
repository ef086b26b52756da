"""`pllm export FILE:NAME`: an experiment or a model as a document of the pllm.run SDK."""

from __future__ import annotations

import os

import click

from pllm_lang.cli.app import BAD_CALL, FOUND_NOTHING, FOUND_SOMETHING


@click.command(short_help="An experiment or a model as a document of the pllm.run SDK.")
@click.argument("target", metavar="FILE[:NAME]")
@click.option("--lossy", is_flag=True, help="Leave out what the format cannot say, instead of refusing.")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="Write here, not to the standard output."
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["json", "yaml"]),
    help="[default: as the output's name says, else json]",
)
@click.option("--batch", default=1, show_default=True, help="Sequences that run together, for a model.")
@click.option("--max-input-tokens", default=64, show_default=True, help="Longest prompt, for a model.")
@click.option("--max-new-tokens", default=16, show_default=True, help="Longest answer, for a model.")
def command(
    target: str,
    lossy: bool,
    output: str | None,
    format_: str | None,
    batch: int,
    max_input_tokens: int,
    max_new_tokens: int,
) -> int:
    """Print an experiment as `pllm.experiment.v2`, or a model as `pllm.decoder_plan.v1`.

    What the SDK would then run differently is refused by name. What only judges the run, such as a policy or a stock,
    has no place in the document; it is listed on the standard error. Nothing is proved here: `pllm check` does that.
    """
    from pllm_lang.cli.exchange import SUFFIXES, export
    from pllm_lang.cli.given import NotGivenError
    from pllm_lang.cli.output import write_text

    format_ = format_ or SUFFIXES.get(os.path.splitext(output or "")[1].lower(), "json")
    sizes = {"batch": batch, "max_input_tokens": max_input_tokens, "max_new_tokens": max_new_tokens}
    try:
        done = export(target, format_, sizes, lossy=lossy)
    except NotGivenError as problem:
        click.echo(str(problem), err=True)
        return problem.status
    click.echo(done.messages, nl=False, err=True)
    if done.text is None:
        return FOUND_SOMETHING
    return FOUND_NOTHING if write_text(done.text, output) else BAD_CALL
