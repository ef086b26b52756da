"""`pllm check PATHS`: prove or refuse every plan of the files, and of the files that depend on them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

import click

from pllm_lang.cli.app import BAD_CALL, FOUND_NOTHING, FOUND_SOMETHING
from pllm_lang.cli.call import Call
from pllm_lang.cli.config import BadConfigError, Settings, find_settings
from pllm_lang.cli.discover import NoSuchPathError, files_of, with_dependents

FORMATS = ("full", "concise", "json")


@click.command(short_help="Prove plans, or refuse them with the place and the numbers.")
@click.argument("paths", nargs=-1)
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), help="How findings are written.  [default: full]"
)
@click.option("--select", multiple=True, help="Show only warnings and notes of these codes or families.")
@click.option("--ignore", multiple=True, help="Leave out warnings and notes of these codes or families.")
@click.option("--exclude", multiple=True, help="Leave out files by a .gitignore pattern.")
@click.option(
    "--force-exclude", is_flag=True, help="Leave out excluded files even when they are named (for hooks)."
)
@click.option(
    "--stdin-filename", default="stdin.pllm", show_default=True, help="What to call the text read from `-`."
)
@click.option("--no-dependents", is_flag=True, help="Check only the files named, not those that use them.")
@click.option("--no-cache", is_flag=True, help="Work everything out again.")
def command(
    paths: tuple[str, ...],
    format_: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    exclude: tuple[str, ...],
    force_exclude: bool,
    stdin_filename: str,
    no_dependents: bool,
    no_cache: bool,
) -> int:
    """Check plans in PATHS: files, folders, globs, or `-` for the standard input (default: this folder)."""
    from pllm_lang.cli.answer import answer
    from pllm_lang.cli.commands.explain import is_known
    from pllm_lang.cli.replay import remember

    try:
        calls = list(_calls(paths or (".",), exclude, force_exclude, stdin_filename, not no_dependents))
    except NoSuchPathError as problem:
        click.echo(f"no such file, folder or match: {problem}", err=True)
        return BAD_CALL
    except BadConfigError as problem:
        click.echo(str(problem), err=True)
        return BAD_CALL
    for code in (*select, *ignore):
        if not is_known(code):
            raise click.BadParameter(
                f"there is no finding or family `{code}`; `pllm explain` lists all codes"
            )
    given = answer(calls, format_, select, ignore)
    click.echo(given.text, nl=False)
    if not any(call.files for call in calls):
        click.echo("nothing was checked: no `.pllm` file is there, or all are excluded", err=True)
        return FOUND_NOTHING
    code = FOUND_SOMETHING if given.findings else FOUND_NOTHING
    if not no_cache and "-" not in paths:
        remember(sys.argv[1:], given.read, given.text, code)
    return code


def _calls(
    paths: Sequence[str], exclude: Sequence[str], force: bool, stdin_filename: str, dependents: bool
) -> Iterator[Call]:
    """One call for each project that the paths lie in."""
    by_root: dict[str, tuple[Settings, list[str]]] = {}
    for path in paths:
        if path == "-":
            yield _stdin_call(stdin_filename)
            continue
        settings = find_settings(path if os.path.isdir(path) else os.path.dirname(path) or ".")
        by_root.setdefault(settings.root, (settings, []))[1].append(path)
    for settings, inside in by_root.values():
        yield _call(settings, inside, (*settings.config.exclude, *exclude), force, dependents)


def _call(
    settings: Settings, paths: Sequence[str], exclude: Sequence[str], force: bool, dependents: bool
) -> Call:
    files = files_of(paths, settings.root, exclude, force)
    watched = [path for path in paths if os.path.isdir(path)]
    if dependents and len(watched) < len(paths):
        changed = with_dependents(files, settings.root, exclude)
        return Call(settings, tuple(changed.wanted), tuple({*watched, *changed.looked_at}))
    return Call(settings, tuple(files), tuple(watched))


def _stdin_call(name: str) -> Call:
    text = sys.stdin.buffer.read().decode("utf-8", "replace")
    return Call(find_settings(os.path.dirname(name) or "."), (name,), buffers={name: text})
