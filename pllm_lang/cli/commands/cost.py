"""`pllm cost FILE:NAME`: what a plan costs, or an experiment within its budget: a stage, a token, a request, all of it."""

from __future__ import annotations

import click

from pllm_lang.cli.app import BAD_CALL, FOUND_NOTHING


@click.command(short_help="What a plan costs: bytes, rounds, material, memory, products.")
@click.argument("target", metavar="FILE[:NAME]")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json", "svg"]), default="text", show_default=True
)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="Write here, not to the standard output."
)
def command(target: str, format_: str, output: str | None) -> int:
    """Print what a plan under a policy costs, by stage and link: messages, bytes, rounds, one-use material, products,
    and the memory of each party. Of an experiment also a request and all of its budget. FILE may be `-`.
    """
    from pllm_lang.cli.costing import cost_of_target, rendered
    from pllm_lang.cli.given import NotGivenError
    from pllm_lang.cli.output import write_file

    try:
        report = cost_of_target(target)
    except NotGivenError as problem:
        click.echo(str(problem), err=True)
        return problem.status
    text = rendered(report, format_)
    if output is None:
        click.echo(text, nl=False)
    elif not write_file(text, output):
        return BAD_CALL
    if not report.accepted:
        click.echo("the plan is refused: this is the cost of what could be read", err=True)
    return FOUND_NOTHING
