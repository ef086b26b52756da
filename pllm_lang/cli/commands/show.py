"""`pllm show FILE[:NAME] --stage STAGE`: what the verifier makes of a plan, stage by stage."""

from __future__ import annotations

from collections.abc import Iterator

import click

from pllm_lang.cli.app import FOUND_NOTHING
from pllm_lang.cli.given import NotGivenError
from pllm_lang.cli.naming import NoSuchPlanError, checked_file, need_sound, one_plan, split_target
from pllm_lang.verify.check import PlanReport

STAGES = ("syntax", "resolved", "ir", "bounds", "roles", "views")


@click.command(short_help="What is made of a plan: syntax, names, types, bounds.")
@click.argument("target", metavar="FILE[:NAME]")
@click.option("--stage", type=click.Choice(STAGES), default="ir", show_default=True)
def command(target: str, stage: str) -> int:
    """Show a plan: its syntax tree, names resolved, the typed plan, facts of values, programs of parties, or views."""
    try:
        text = (
            _syntax(target)
            if stage == "syntax"
            else _resolved(target)
            if stage == "resolved"
            else _plan(target, stage)
        )
    except NotGivenError as problem:
        click.echo(str(problem), err=True)
        return problem.status
    click.echo(text)
    return FOUND_NOTHING


def _syntax(target: str) -> str:
    from pllm_lang.cli.tree import tree_text

    path, name = split_target(target)
    checked = checked_file(path)
    need_sound(checked)
    main = checked.opened.project.modules[checked.opened.project.main[0]]
    decls = [d for d in main.file.decls if not name or getattr(getattr(d, "name", None), "id", "") == name]
    if not decls:
        raise NoSuchPlanError(f"{path} declares no `{name}`")
    return "\n".join(tree_text(decl) for decl in decls)


def _resolved(target: str) -> str:
    path, _ = split_target(target)
    checked = checked_file(path)
    need_sound(checked)
    main = checked.opened.project.modules[checked.opened.project.main[0]]
    lines = [f"module {main.name}"]
    lines += [
        f"  {name} = {found.kind} {found.key}"
        for name, found in sorted(main.scope.items())
        if _said(found.module)
    ]
    lines += [f"  {name} = {value}" for name, value in sorted(main.constants.items())]
    return "\n".join(lines)


def _said(module: str) -> bool:
    """Leave out the operators of the library, which are in scope everywhere."""
    return module not in ("std.operators", "std.nn", "std.experts", "std.recurrent")


def _plan(target: str, stage: str) -> str:
    if stage in ("roles", "views"):
        return _proof(target, stage)
    from pllm_lang.ir.show import show_plan

    report = one_plan(target)
    if stage == "ir":
        return show_plan(report.plan, report.source_map).rstrip("\n")
    return "\n".join(_bounds(report))


def _proof(target: str, stage: str) -> str:
    from pllm_lang.cli.proofs import proof_of
    from pllm_lang.verify.narrations.show import roles_text, views_text

    found = proof_of(target)
    return roles_text(found.proof) if stage == "roles" else views_text(found.proof, found.policy)


def _bounds(report: PlanReport) -> Iterator[str]:
    from pllm_lang.verify.facts_text import facts_text
    from pllm_lang.verify.report import name_of

    facts = {} if report.flow is None else report.flow.facts
    for value in sorted(facts):
        yield f"%{value} {name_of(value, report.source_map)}: {facts_text(facts[value])}"
