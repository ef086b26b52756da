"""`FILE:NAME` of a call: the plan that it means. `-` as the file is the standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from pllm_lang.cli.app import FOUND_SOMETHING
from pllm_lang.cli.checking import Checked, check_files
from pllm_lang.cli.config import find_settings
from pllm_lang.cli.given import NotGivenError, need_file
from pllm_lang.text.finding import Finding, Severity
from pllm_lang.text.read import decode_source
from pllm_lang.text.render_full import render_full
from pllm_lang.text.source import Source
from pllm_lang.text.style import style_for
from pllm_lang.verify.check import PlanReport


class NoSuchPlanError(NotGivenError):
    """There is no such plan, or the file that would hold it has errors, which are its text."""


def split_target(target: str) -> tuple[str, str]:
    """File and name; the name is "" where none is given."""
    if os.path.exists(target):
        return target, ""
    path, _, name = target.rpartition(":")
    return (path, name) if path else (target, "")


STDIN = "-"
STDIN_NAME = "stdin.pllm"
"""What the standard input is called; it stands in the folder of the call."""


def checked_file(path: str) -> Checked:
    """Raises NotGivenError for a file that is not there, or an input that is no text."""
    if path == STDIN:
        source = decode_source(STDIN_NAME, sys.stdin.buffer.read())
        if isinstance(source, Finding):
            raise _errors([source], {})
        return check_files([STDIN_NAME], find_settings(".").root, {STDIN_NAME: source.text})
    need_file(path)
    return check_files([path], find_settings(os.path.dirname(os.path.abspath(path))).root)


def one_plan(target: str) -> PlanReport:
    path, name = split_target(target)
    return chosen(checked_file(path), path, name)


def chosen(checked: Checked, path: str, name: str) -> PlanReport:
    """The report of the plan or experiment `name`; where no name is given, the only one. Raises NoSuchPlanError."""
    if not checked.reports:
        need_sound(checked)
    found = [report for report in checked.reports if name in ("", report.name)]
    if not found or (not name and len(found) > 1):
        raise not_chosen(path, name, [report.name for report in checked.reports])
    return found[0]


def need_sound(checked: Checked) -> None:
    """A file that cannot be read, or whose text is broken, holds no plans that could be shown: raises its errors."""
    errors = [finding for finding in checked.findings if finding.severity is Severity.ERROR]
    if errors:
        raise _errors(errors, checked.sources)


def _errors(errors: Sequence[Finding], sources: Mapping[str, Source]) -> NoSuchPlanError:
    told = render_full(errors, sources, style_for(sys.stderr))
    return NoSuchPlanError(told.rstrip("\n"), FOUND_SOMETHING)


def not_chosen(
    path: str, name: str, known: Sequence[str], what: str = "plan or experiment"
) -> NoSuchPlanError:
    """What to say where `name` is none of those that a file holds, or none of several is named."""
    if not known:
        return NoSuchPlanError(f"{path} holds no {what}")
    if name:
        return NoSuchPlanError(f"{path} holds no {what} `{name}`; it holds {', '.join(known)}")
    start = "-- -" if path == STDIN else path
    return NoSuchPlanError(f"{path} holds {', '.join(known)}; name one, as in {start}:{known[0]}")
