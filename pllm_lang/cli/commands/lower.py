"""`pllm lower CONFIG.json`: a published config as the text of a plan that can be checked, changed and protected."""

from __future__ import annotations

import click

from pllm_lang.cli.app import BAD_CALL, FOUND_NOTHING, FOUND_SOMETHING

FORMATS = ("full", "concise", "json")


@click.command(short_help="A plan from the configuration of a Hugging Face model.")
@click.argument("config", metavar="CONFIG.json")
@click.option("--batch", default=1, show_default=True, help="Sequences that run together.")
@click.option("--max-input-tokens", default=64, show_default=True, help="Positions of prefill.")
@click.option("--max-new-tokens", default=16, show_default=True, help="Tokens to generate, at most.")
@click.option(
    "--pass",
    "passes",
    multiple=True,
    metavar="PASS",
    help="A pass: `quantize_weights(bits: 8)`. May be repeated.",
)
@click.option("--name", default="", help="The plan's name.  [default: the model's family]")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="Write here, not to the standard output."
)
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), default="full", help="How findings are written."
)
def command(
    config: str,
    batch: int,
    max_input_tokens: int,
    max_new_tokens: int,
    passes: tuple[str, ...],
    name: str,
    output: str | None,
    format_: str,
) -> int:
    """Print the model of a Hugging Face CONFIG.json as a plan: prefill and decode, in the clear at the client.

    What the config says and the text cannot is refused by name; nothing is left out or approximated.
    """
    from pllm_lang.cli.given import NotGivenError
    from pllm_lang.cli.lowering import config_text
    from pllm_lang.cli.output import write_file

    sizes = {"batch": batch, "max_input_tokens": max_input_tokens, "max_new_tokens": max_new_tokens}
    try:
        done = config_text(config, sizes, name, format_, passes)
    except NotGivenError as problem:
        click.echo(str(problem), err=True)
        return problem.status
    click.echo(done.messages, nl=False, err=True)
    if done.text is None:
        return FOUND_SOMETHING
    if output is None:
        click.echo(done.text, nl=False)
        return FOUND_NOTHING
    return FOUND_NOTHING if write_file(done.text, output) else BAD_CALL
