"""`FILE:NAME` of a call: the plan that it means. `-` as the file is the standard input."""

from __future__ import annotations

import os
import sys

from pllm_lang.cli.checking import Checked, check_files
from pllm_lang.cli.config import find_settings
from pllm_lang.verify.check import PlanReport


class NoSuchPlanError(Exception):
    """The text says what is not there."""


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
    """Raises NoSuchPlanError for a file that is not there."""
    if path == STDIN:
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
        return check_files([STDIN_NAME], find_settings(".").root, {STDIN_NAME: text})
    if not os.path.isfile(path):
        raise NoSuchPlanError(f"no such file: {path}")
    return check_files([path], find_settings(os.path.dirname(os.path.abspath(path))).root)


def one_plan(target: str) -> PlanReport:
    path, name = split_target(target)
    return chosen(checked_file(path), path, name)


def chosen(checked: Checked, path: str, name: str) -> PlanReport:
    """The report of the plan or experiment `name`; where no name is given, the only one."""
    reports = checked.reports
    if name:
        found = [report for report in reports if report.name == name]
    else:
        found = list(reports) if len(reports) == 1 else []
    if not found:
        known = ", ".join(report.name for report in reports) or "none"
        if name or not reports:
            asked = f"a plan or experiment `{name}`" if name else "a plan"
            raise NoSuchPlanError(f"{path} does not hold {asked}; it holds: {known}")
        start = "-- -" if path == STDIN else path
        raise NoSuchPlanError(f"{path} holds {known}; name one, as in {start}:{reports[0].name}")
    return found[0]
