"""`pllm explain CODE`: the page of a finding's code, with a bad and a good example."""

from __future__ import annotations

import click

from pllm_lang.cli.app import BAD_CALL
from pllm_lang.resources import rule_pages_dir


@click.command()
@click.argument("code", required=False)
def command(code: str | None) -> int:
    """Print the page of a finding's CODE (`bounds.overflow`); without CODE, list all codes."""
    if code is None:
        for known in known_codes():
            click.echo(known)
        return 0
    page = rule_pages_dir().joinpath(*code.split(".")).with_suffix(".md") if _well_formed(code) else None
    if page is None or not page.is_file():
        click.echo(f"there is no finding with the code `{code}`{_nearest(code)}", err=True)
        return BAD_CALL
    click.echo(page.read_text(encoding="utf-8").rstrip())
    return 0


def known_codes() -> list[str]:
    root = rule_pages_dir()
    return sorted(f"{page.parent.name}.{page.stem}" for page in root.glob("*/*.md") if page.stem != "index")


def _well_formed(code: str) -> bool:
    parts = code.split(".")
    return len(parts) == 2 and all(part.replace("_", "").isalnum() for part in parts)


def _nearest(code: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(code, known_codes(), n=1)
    return f"; did you mean `{close[0]}`?" if close else "; `pllm explain` lists all codes"
