"""`pllm coverage FILE[:NAME]`: what of a plan is covered, by what, and every gap by name."""

from __future__ import annotations

import click

from pllm_lang.cli.app import BAD_CALL
from pllm_lang.cli.naming import NoSuchPlanError, one_plan


@click.command(short_help="What covers each operator of a plan, and every gap.")
@click.argument("target", metavar="FILE[:NAME]")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(target: str, format_: str) -> int:
    """Print the coverage report of a plan; NAME may be left out where the file has one plan."""
    from pllm_lang.artifacts.coverage import coverage_of, document
    from pllm_lang.artifacts.coverage_text import as_text

    try:
        report = one_plan(target)
    except NoSuchPlanError as problem:
        click.echo(str(problem), err=True)
        return BAD_CALL
    coverage = coverage_of(report)
    click.echo(document(coverage).decode() if format_ == "json" else as_text(coverage))
    return 0 if coverage.complete else 1
