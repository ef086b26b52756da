"""`pllm cost FILE:NAME`: bytes, rounds and one-use material of a plan, or of an experiment within its budget."""

from __future__ import annotations

import click

from pllm_lang.cli.app import BAD_CALL, FOUND_NOTHING


@click.command(short_help="What a plan costs: bytes, rounds, one-use material.")
@click.argument("target", metavar="FILE[:NAME]")
def command(target: str) -> int:
    """Print what a plan under a policy costs; for an experiment, all of its budget."""
    from pllm_lang.cli.naming import NoSuchPlanError
    from pllm_lang.cli.proofs import proof_of
    from pllm_lang.verify.narrations.show import cost_text

    try:
        found = proof_of(target)
    except NoSuchPlanError as problem:
        click.echo(str(problem), err=True)
        return BAD_CALL
    click.echo(cost_text(found.proof, found.experiment))
    if not found.accepted:
        click.echo("the plan is refused: this is the cost of what could be read", err=True)
    return FOUND_NOTHING
