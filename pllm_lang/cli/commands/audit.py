"""`pllm audit [TARGET]`: what published methods claim, what is derived of it again, and what is known against them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from pllm_lang.cli.app import FOUND_NOTHING, FOUND_SOMETHING
from pllm_lang.cli.discover import SUFFIX
from pllm_lang.cli.given import NotGivenError
from pllm_lang.cli.naming import STDIN, NoSuchPlanError, checked_file, chosen, split_target

if TYPE_CHECKING:
    from pllm_lang.audit.report import Audited
    from pllm_lang.catalog.records import Component


@click.command(short_help="What published methods claim, derived again, and their defects.")
@click.argument("target", metavar="[FILE[:NAME]|METHOD]", required=False)
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(target: str | None, format_: str) -> int:
    """Audit the published methods that a plan rests on, or one METHOD of the library by its name or id; without an argument
    every method of the library that names a source.

    A record's bound on its error is compared with what its own formula gives: the largest difference from its operator over
    its domain, enclosed; that takes up to a few seconds a method.

    The exit status is 1 where a bound or claim is not met, or a known defect may apply.
    """
    from pllm_lang.audit.document import document
    from pllm_lang.audit.text import as_text, summary

    text = format_ == "text"
    try:
        name, found = _audited(target)
        audited: list[Audited] = []
        for one in found:
            if text:
                click.echo(as_text(one) + "\n")  # as soon as it is done
            audited.append(one)
    except NotGivenError as problem:
        click.echo(str(problem), err=True)
        return problem.status
    click.echo(summary(name, audited) if text else document(name, audited))
    return FOUND_NOTHING if all(one.good for one in audited) else FOUND_SOMETHING


def _audited(target: str | None) -> tuple[str, Iterator[Audited]]:
    """What is asked for, by name, and what is audited of it, one after another. Raises NotGivenError."""
    from pllm_lang.audit.report import audited, audited_library, audited_plan
    from pllm_lang.catalog.load import shipped_library

    if target is None:
        return "the library", audited_library(shipped_library())
    if _is_file(target):
        path, wanted = split_target(target)
        checked = checked_file(path)
        report = chosen(checked, path, wanted)
        return report.name, iter(audited_plan(report, checked.opened.library))
    component = _method(target)
    return component.name, iter([audited(component, shipped_library())])


def _is_file(target: str) -> bool:
    path, _ = split_target(target)
    return path == STDIN or path.endswith(SUFFIX) or os.path.exists(path)


def _method(name: str) -> Component:
    """A method of the library by its id (`published/puma-gelu`) or its name. Raises NoSuchPlanError."""
    from pllm_lang.catalog.load import shipped_library
    from pllm_lang.resolve.suggest import did_you_mean

    library = shipped_library()
    methods = [
        one for key in library.keys("component") if (one := library.component(key)) and one.kind == "method"
    ]
    found = [one for one in methods if name in (one.id, one.name)]
    if found:
        return found[0]
    hint = did_you_mean(name, [*(one.name for one in methods), *(one.id for one in methods)])
    told = (
        hint
        or f"a plan is named by its file, `FILE{SUFFIX}:NAME`; `pllm audit` alone lists all methods with a source"
    )
    raise NoSuchPlanError(f"the library has no method `{name}`; {told}")
