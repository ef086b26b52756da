"""`pllm fmt PATHS`: plan files in the one layout, or what would change."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterator, Sequence

import click
import msgspec

from pllm_lang.cli.app import BAD_CALL, FOUND_NOTHING, FOUND_SOMETHING
from pllm_lang.cli.config import BadConfigError, find_settings
from pllm_lang.cli.discover import BadNameError, NoSuchPathError, files_of
from pllm_lang.cli.writing import replace_text
from pllm_lang.syntax.format import format_source
from pllm_lang.syntax.parse import has_errors, parse
from pllm_lang.text.finding import Finding
from pllm_lang.text.read import decode_source, read_source
from pllm_lang.text.render_full import render_full
from pllm_lang.text.source import Source
from pllm_lang.text.visible import visible


class Outcome(msgspec.Struct, frozen=True):
    """A file with its new text; `findings` says why it could not be formatted."""

    source: Source | None
    text: str
    findings: tuple[Finding, ...] = ()

    @property
    def changed(self) -> bool:
        return self.source is not None and self.text != self.source.text

    @property
    def only_line_ends(self) -> bool:
        """Whether the file differs from its layout in line ends alone, which no reader sees."""
        return (
            self.changed and self.source is not None and self.source.text.replace("\r\n", "\n") == self.text
        )


@click.command(short_help="Give plan files their layout, or only say which lack it.")
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--check", is_flag=True, help="Change nothing; exit 1 where a file is not in the layout.")
@click.option(
    "--diff", is_flag=True, help="Change nothing; print what would change, exit 1 where something would."
)
@click.option("--exclude", multiple=True, help="Leave out files by a .gitignore pattern.")
@click.option(
    "--stdin-filename", default="stdin.pllm", show_default=True, help="What to call the text read from `-`."
)
def command(
    paths: tuple[str, ...], check: bool, diff: bool, exclude: tuple[str, ...], stdin_filename: str
) -> int:
    """Format plan files in PATHS: files, folders, globs, or `-` for standard input to standard output."""
    if paths == ("-",):
        return _stdin(stdin_filename, check, diff)
    try:
        files = list(_files(paths or (".",), exclude))
    except (NoSuchPathError, BadConfigError, BadNameError) as problem:
        click.echo(str(problem), err=True)
        return BAD_CALL
    codes = [_one(path, check, diff) for path in files]
    return max(codes, default=FOUND_NOTHING)


def _files(paths: Sequence[str], exclude: Sequence[str]) -> Iterator[str]:
    for path in paths:
        settings = find_settings(path if os.path.isdir(path) else os.path.dirname(path) or ".")
        yield from files_of([path], settings.root, (*settings.config.exclude, *exclude))


def _one(path: str, check: bool, diff: bool) -> int:
    outcome = formatted(read_source(path, path))
    if outcome.findings:
        return _refuse(outcome)
    if not outcome.changed or outcome.source is None:
        return FOUND_NOTHING
    if diff:
        click.echo(_diff(outcome.source, outcome.text), nl=False)
        if outcome.only_line_ends:
            click.echo(f"{visible(path)}{LINE_ENDS}", err=True)
        return FOUND_SOMETHING
    what = f"{visible(path)}{LINE_ENDS if outcome.only_line_ends else ''}"
    if check:
        click.echo(f"would format {what}")
        return FOUND_SOMETHING
    return _write(path, outcome.text, what)


LINE_ENDS = ": only its line ends differ (CRLF for LF)"


def _write(path: str, text: str, what: str) -> int:
    try:
        replace_text(path, text)
    except OSError as problem:
        click.echo(f"cannot write {visible(path)}: {problem.strerror}", err=True)
        return BAD_CALL
    click.echo(f"formatted {what}")
    return FOUND_NOTHING


def _stdin(name: str, check: bool, diff: bool) -> int:
    outcome = formatted(decode_source(name, sys.stdin.buffer.read()))
    if outcome.findings:
        return _refuse(outcome)
    if diff and outcome.changed and outcome.source is not None:
        click.echo(_diff(outcome.source, outcome.text), nl=False)
    elif not check and not diff:
        click.echo(outcome.text, nl=False)
    return FOUND_SOMETHING if outcome.changed and (check or diff) else FOUND_NOTHING


def formatted(source: Source | Finding) -> Outcome:
    """The text of a source in the one layout; a source with syntax errors is left as it is."""
    if isinstance(source, Finding):
        return Outcome(None, "", (source,))
    parsed = parse(source)
    if has_errors(parsed):
        return Outcome(source, source.text, tuple(parsed.findings))
    return Outcome(source, format_source(parsed))


def _refuse(outcome: Outcome) -> int:
    sources = {} if outcome.source is None else {outcome.source.name: outcome.source}
    click.echo(render_full(outcome.findings, sources), nl=False, err=True)
    return FOUND_SOMETHING if outcome.source is not None else BAD_CALL


def _diff(source: Source, text: str) -> str:
    lines = difflib.unified_diff(
        source.text.splitlines(keepends=True),
        text.splitlines(keepends=True),
        visible(source.name),
        f"{visible(source.name)} (formatted)",
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
