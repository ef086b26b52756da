"""`pllm explain CODE`: the page of a finding's code, with a bad and a good example; or a name of the library, as it stands there."""

from __future__ import annotations

from pathlib import Path

import click

from pllm_lang.cli.app import BAD_CALL, FOUND_NOTHING
from pllm_lang.cli.codes import complete_code
from pllm_lang.resources import rule_pages_dir


@click.command(short_help="What a finding means, or what a name of the library is.")
@click.argument("code", metavar="[CODE|NAME]", required=False, shell_complete=complete_code)
def command(code: str | None) -> int:
    """Print the page of a finding's CODE (`bounds.overflow`); of a family (`bounds`), or of all without CODE, list the codes.

    A NAME of the library (`masked_linear`, `std.policies.two_party`) is shown as it stands there; of a module (`std.policies`)
    the names are listed.
    """
    listed = [known for known in known_codes() if code in (None, known.partition(".")[0])]
    if listed:
        width = max(len(known) for known in listed)
        click.echo("\n".join(f"{known:<{width}}  {_first_sentence(known)}" for known in listed))
        return FOUND_NOTHING
    assert code is not None
    page = _page(code) if _well_formed(code) else None
    if page is not None and page.is_file():
        click.echo(page.read_text(encoding="utf-8").rstrip())
        return FOUND_NOTHING
    return _of_the_library(code)


def _of_the_library(name: str) -> int:
    from pllm_lang.cli.library_text import (  # the library loads for a name alone
        MODULE,
        library_text,
        nearest_name,
    )

    text = library_text(name)
    if text is not None:
        click.echo(text)
        return FOUND_NOTHING
    meant, hint = nearest_name(name), nearest(name)
    if meant and (name.startswith(MODULE) or not hint.startswith("; did you mean")):
        click.echo(f"the library has no `{name}`; {meant}", err=True)
    else:
        click.echo(f"there is no finding with the code `{name}`{hint}", err=True)
    return BAD_CALL


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
