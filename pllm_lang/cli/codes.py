"""Codes of findings and their families, completed by a shell."""

from __future__ import annotations

import click


def codes_in(given: str) -> list[str]:
    """The codes and families of one argument, with commas between."""
    return [name.strip() for name in given.split(",") if name.strip()]


def complete_code(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 - click's signature
    """Codes and families that begin with what is typed; behind a comma the next one."""
    from pllm_lang.cli.commands.explain import known_codes

    before, comma, last = incomplete.rpartition(",")
    codes = known_codes()
    names = sorted({code.partition(".")[0] for code in codes}) + codes
    return [f"{before}{comma}{name}" for name in names if name.startswith(last)]
