"""Insert the conversion that a component asks for: share, convert or reveal the operand on a line of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pllm_lang.catalog.records import Component
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.edits import line_before
from pllm_lang.text.finding import Fix
from pllm_lang.verify.fixes.around import Around, Found, fresh_name, imported, part_replaced, step_at

CODES = ("coverage.missing_conversion",)
MAX_CANDIDATES = 6
_HELP = re.compile(r"(?:share|convert|reveal) it first: `\w+ = (\w+)\((\w+)\) using (\w+|\.\.\.)`")
_ENDINGS = {"share": "s", "convert": "c", "reveal": "r"}


def propose(around: Around) -> Iterator[Fix]:
    found, match = step_at(around), _HELP.match(around.finding.help)
    if found is None or match is None:
        return
    operator, operand, named = match[1], match[2], match[3]
    for component in _candidates(around, operator, named):
        fix = _inserted(around, found, operator, operand, component)
        if fix is not None:
            yield fix


def _candidates(around: Around, operator: str, named: str) -> list[Component]:
    """The component that the help names, else those with a protocol that need no parameter."""
    known = around.library.implementing(f"std.operators.{operator}")
    if named != "...":
        return [c for c in known if c.name == named]
    fitting = [c for c in known if c.protocol and not [p for p in c.params if p.default is None]]
    fitting.sort(key=lambda c: (c.name not in around.module.scope, c.name))
    return fitting[:MAX_CANDIDATES]


def _inserted(around: Around, found: Found, operator: str, operand: str, component: Component) -> Fix | None:
    step = found.step
    args = step.value.args if isinstance(step.value, syn.Call) else ()
    places = [arg for arg in args if isinstance(arg, syn.Name) and arg.id == operand]
    more = imported(around, component.module, component.name)
    if not places or more is None:
        return None
    name = fresh_name(around, f"{operand}{_ENDINGS[operator]}")
    line = f"{name} = {operator}({operand}) using {component.name}"
    before = line_before(around.module.source, step.at, line)
    edits = (before, *(part_replaced(around, step, place, name) for place in places), *more)
    return Fix(f"Insert `{line}`", edits, safe=False)
