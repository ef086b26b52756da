"""`pllm measure CHECKPOINT -o facts.json`: exact bounds of a checkpoint's weights, for `facts "..."` of a plan."""

from __future__ import annotations

import os

import click

from pllm_lang.cli.app import BAD_CALL, FOUND_NOTHING, FOUND_SOMETHING


@click.command(short_help="Facts of a checkpoint's weights, as a file that `check` reads.")
@click.argument("checkpoint", metavar="CHECKPOINT")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="Write here, not to the standard output."
)
@click.option(
    "--quantize", "bits", type=click.IntRange(2, 8), default=None,
    help="Measure the integers of the weights of protected linear layers, quantised to so many bits a row.",
)  # fmt: skip
@click.option(
    "--calibration",
    metavar="DATA",
    help="Also the ranges seen on DATA (npz or safetensors): recorded values, or token ids to run.",
)
def command(checkpoint: str, output: str | None, bits: int | None, calibration: str | None) -> int:
    """Measure ranges and norms of every weight of CHECKPOINT: a safetensors file, an index, or a folder of them.

    With a config.json beside it, the names are those of `pllm lower` and of an experiment's model; without one every
    tensor keeps its own name. Nothing that the checkpoint holds is executed.
    """
    from pllm_lang.cli.output import write_file

    try:
        from pllm_lang.cli.measuring import NotMeasuredError, facts_text
    except ModuleNotFoundError as problem:
        click.echo(f"{problem.name} is not installed: pip install 'pllm-lang[run]'", err=True)
        return BAD_CALL
    if not os.path.exists(checkpoint):
        click.echo(f"no such file or folder: {checkpoint}", err=True)
        return BAD_CALL
    try:
        text = facts_text(checkpoint, bits or 0, calibration)
    except NotMeasuredError as problem:
        click.echo(str(problem), err=True)
        return FOUND_SOMETHING
    if output is None:
        click.echo(text.decode(), nl=False)
        return FOUND_NOTHING
    if not write_file(text.decode(), output):
        return BAD_CALL
    name = os.path.basename(output)
    click.echo(
        f'wrote   {output}\nnext:   `facts "{name}"` in a plan, or `facts: "{name}"` in an experiment',
        err=True,
    )
    return FOUND_NOTHING
