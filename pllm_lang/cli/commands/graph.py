"""`pllm graph FILE:NAME`: a plan as party lanes with messages, SVG or DOT."""

from __future__ import annotations

import click

from pllm_lang.cli.app import BAD_CALL, FOUND_NOTHING


@click.command(short_help="A picture of a plan: who does what, who sends what to whom.")
@click.argument("target", metavar="FILE[:NAME]")
@click.option("--format", "format_", type=click.Choice(["svg", "dot"]), default="svg", show_default=True)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="Write here, not to the standard output."
)
def command(target: str, format_: str, output: str | None) -> int:
    """Draw a plan or an experiment: parties side by side, steps and messages from top to bottom, repeats folded.

    Messages are those of the narrations under the plan's policy; a plan under no policy is drawn without them.
    """
    from pllm_lang.artifacts.graph import graph_of
    from pllm_lang.artifacts.graph_dot import dot
    from pllm_lang.artifacts.graph_svg import svg
    from pllm_lang.cli.given import NotGivenError
    from pllm_lang.cli.graphing import drawn_plan
    from pllm_lang.cli.writing import replace_text

    try:
        found = drawn_plan(target)
    except NotGivenError as problem:
        click.echo(str(problem), err=True)
        return problem.status
    graph = graph_of(found.report, found.library, found.policy)
    text = svg(graph) if format_ == "svg" else dot(graph)
    if graph.refused:
        click.echo("the plan is refused: this is what could be read of it", err=True)
    if output is None:
        click.echo(text, nl=False)
        return FOUND_NOTHING
    try:
        replace_text(output, text)
    except OSError as problem:
        click.echo(f"cannot write {output}: {problem.strerror}", err=True)
        return BAD_CALL
    return FOUND_NOTHING
