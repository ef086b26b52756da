"""`pllm explain CODE`: the page of a finding's code, with a bad and a good example."""

from __future__ import annotations

from pathlib import Path

import click

from pllm_lang.cli.app import BAD_CALL
from pllm_lang.cli.codes import complete_code
from pllm_lang.resources import rule_pages_dir


@click.command(short_help="What a finding means; all codes without an argument.")
@click.argument("code", required=False, shell_complete=complete_code)
def command(code: str | None) -> int:
    """Print the page of a finding's CODE (`bounds.overflow`); of a family (`bounds`), or of all without CODE, list the codes."""
    listed = [known for known in known_codes() if code in (None, known.partition(".")[0])]
    if listed:
        width = max(len(known) for known in listed)
        click.echo("\n".join(f"{known:<{width}}  {_first_sentence(known)}" for known in listed))
        return 0
    assert code is not None
    page = _page(code) if _well_formed(code) else None
    if page is None or not page.is_file():
        click.echo(f"there is no finding with the code `{code}`{nearest(code)}", err=True)
        return BAD_CALL
    click.echo(page.read_text(encoding="utf-8").rstrip())
    return 0


def is_known(code: str) -> bool:
    """Whether it is a code or a family of codes."""
    return any(code in (known, known.partition(".")[0]) for known in known_codes())


def _first_sentence(code: str) -> str:
    """What the page of a code says first, below its title."""
    return _page(code).read_text(encoding="utf-8").split("\n\n", 2)[1].replace("\n", " ")


def _page(code: str) -> Path:
    return rule_pages_dir().joinpath(*code.split(".")).with_suffix(".md")


def known_codes() -> list[str]:
    root = rule_pages_dir()
    return sorted(f"{page.parent.name}.{page.stem}" for page in root.glob("*/*.md") if page.stem != "index")


def _well_formed(code: str) -> bool:
    parts = code.split(".")
    return len(parts) == 2 and all(part.replace("_", "").isalnum() for part in parts)


def nearest(code: str) -> str:
    """What to say behind a code that is none: the code or family that was probably meant."""
    from difflib import get_close_matches

    codes = known_codes()
    families = sorted({known.partition(".")[0] for known in codes})
    names = [known.partition(".")[2] for known in codes]
    close = get_close_matches(code, [*families, *codes], n=1)
    if not close and code in names:  # `overflow` for `bounds.overflow`
        close = [codes[names.index(code)]]
    return f"; did you mean `{close[0]}`?" if close else "; `pllm explain` lists all codes"
