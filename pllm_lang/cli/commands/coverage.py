"""`pllm coverage TARGET`: what of a plan, an experiment or a model is covered, by what, and every gap by name."""

from __future__ import annotations

import click

from pllm_lang.cli.app import BAD_CALL, FOUND_SOMETHING


@click.command(short_help="What covers each operator of a plan or a model, and every gap.")
@click.argument("target", metavar="FILE[:NAME]|CONFIG.json")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json", "html"]), default="text", show_default=True
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="Write here, not to the standard output."
)
@click.option(
    "--pipeline", default="", help="Of a CONFIG.json: the pipeline of the library to cover it with."
)
@click.option(
    "--max-input-tokens", default=64, show_default=True, help="Of a CONFIG.json: positions of prefill."
)
@click.option("--max-new-tokens", default=16, show_default=True, help="Of a CONFIG.json: tokens to generate.")
def command(
    target: str, format_: str, output: str | None, pipeline: str, max_input_tokens: int, max_new_tokens: int
) -> int:
    """Print the coverage report of a plan or an experiment; NAME may be left out where the file has one, and FILE may be
    `-`. Of the CONFIG.json of a model, the report says what a pipeline of the library does of it.
    """
    from pllm_lang.cli.covering import (
        NotCoveredError,
        coverage_of_config,
        coverage_of_target,
        pipelines,
        rendered,
    )
    from pllm_lang.cli.given import NotGivenError
    from pllm_lang.cli.output import write_file

    try:
        if target.endswith(".json"):
            coverage = coverage_of_config(target, pipeline, max_input_tokens, max_new_tokens)
        elif pipeline:
            raise click.BadParameter("--pipeline is for a CONFIG.json; an experiment names its own")
        else:
            coverage = coverage_of_target(target)
    except NotGivenError as problem:
        click.echo(str(problem), err=True)
        return problem.status
    except NotCoveredError as problem:
        click.echo(str(problem), err=True)
        return FOUND_SOMETHING
    text = rendered(coverage, format_)
    if output is None:
        click.echo(text, nl=False)
    elif not write_file(text, output):
        return BAD_CALL
    if target.endswith(".json") and not pipeline:
        names = ", ".join(pipelines())
        click.echo(
            f"`--pipeline NAME` says what a pipeline of the library covers; there are {names}", err=True
        )
    return 0 if coverage.complete else FOUND_SOMETHING
