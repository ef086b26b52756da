"""The manual of the command line, from the commands themselves: a man page, and a page of the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from pllm_lang import __version__
from pllm_lang.cli.app import app

_STATUS = (
    (0, "nothing was found"),
    (1, "something was found: an obligation that is not proved, a warning, a file out of layout"),
    (2, "the call or the environment is wrong; nothing was proved or refused"),
)
_ENVIRONMENT = (
    ("NO_COLOR", "no colours on a terminal"),
    ("PLLM_CACHE_DIR", "where answers of unchanged files are kept, instead of the user's cache folder"),
    ("PLLM_DEBUG", "show where pllm itself failed"),
    ("PLLM_ISA", "the most that kernels may use of the processor"),
)


def commands() -> Iterator[tuple[str, click.Command]]:
    """All commands, by name."""
    context = click.Context(app)
    for name in app.list_commands(context):
        found = app.get_command(context, name)
        if found is not None and not found.hidden:
            yield name, found


def man_page() -> str:
    """The page `pllm(1)` in the man macros of roff."""
    lines = [
        f'.TH PLLM 1 "" "pllm-lang {__version__}" "User Commands"',
        ".SH NAME",
        r"pllm, pllm\-lang \- check, format and explain plans for private LLM inference",
        ".SH SYNOPSIS",
        r".B pllm",
        r"[\fIOPTIONS\fR] \fICOMMAND\fR [\fIARGUMENTS\fR]",
        ".SH DESCRIPTION",
        *_roff_text(app.help or ""),
        ".SH COMMANDS",
    ]
    for name, found in commands():
        lines += [f".SS {_roff(_usage(name, found))}", *_roff_text(found.help or "")]
        for shown, help_ in _options(name, found):
            lines += [".TP", rf"\fB{_roff(shown)}\fR", _line(help_)]
    lines.append(".SH EXIT STATUS")
    for status, meaning in _STATUS:
        lines += [".TP", str(status), _line(meaning)]
    lines.append(".SH ENVIRONMENT")
    for variable, meaning in _ENVIRONMENT:
        lines += [".TP", variable, _line(meaning)]
    return "\n".join(lines) + "\n"


def markdown() -> str:
    """The same as a page in Markdown."""
    lines = ["# The command line", "", app.help or "", ""]
    for name, found in commands():
        lines += [f"## pllm {name}", "", f"`{_usage(name, found)}`", "", _escaped(found.help or ""), ""]
        options = list(_options(name, found))
        if options:
            lines += ["| option | |", "|---|---|"]
            lines += [
                f"| `{shown.replace('|', chr(92) + '|')}` | {_cell(help_)} |" for shown, help_ in options
            ]
            lines.append("")
    lines += ["## Exit status", "", *(f"- {status}: {meaning}" for status, meaning in _STATUS), ""]
    lines += ["## Environment", "", *(f"- `{name}`: {meaning}" for name, meaning in _ENVIRONMENT)]
    return "\n".join(lines) + "\n"


def _usage(name: str, found: click.Command) -> str:
    context = click.Context(found, info_name=name, parent=click.Context(app, info_name="pllm"))
    return " ".join(["pllm", name, *found.collect_usage_pieces(context)])


def _options(name: str, found: click.Command) -> Iterator[tuple[str, str]]:
    """The options of a command as its help shows them, without `--help` itself."""
    context = click.Context(found, info_name=name)
    for param in found.params:
        record = param.get_help_record(context) if isinstance(param, click.Option) else None
        if record is not None:
            yield record


def _roff_text(text: str) -> Iterator[str]:
    for paragraph in _paragraphs(text):
        yield ".PP"
        yield _line(paragraph)


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip())]


def _line(text: str) -> str:
    """One line of roff text: a dot or quote at its start would be a request."""
    shown = _roff(" ".join(text.split()))
    return rf"\&{shown}" if shown[:1] in (".", "'") else shown


def _roff(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-")


def _escaped(text: str) -> str:
    return "\n\n".join(_paragraphs(text)).replace("<", "\\<")


def _cell(text: str) -> str:
    return _escaped(text).replace("\n\n", " ").replace("|", "\\|")
