"""Write what the help of a finding writes out: an operator for a sign, a shape in brackets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pllm_lang.text.finding import Fix
from pllm_lang.verify.fixes.around import Around, replaced, step_at

CODES = ("types.not_a_step", "types.not_a_format")
_STEP = re.compile(r"write `\w+ = (\w+\([^`]*\))`$")
_SHAPE = re.compile(r"(?:a shape stands in brackets|write the format before the shape): `([^`]+)`$")


def propose(around: Around) -> Iterator[Fix]:
    help_, span = around.finding.help, around.finding.span
    match = _STEP.match(help_) or _SHAPE.match(help_)
    if match is None or "..." in match[1]:
        return
    if around.finding.code == "types.not_a_step" and step_at(around) is None:
        return
    yield Fix(f"Write `{match[1]}`", (replaced(around, span.start, span.end, match[1]),), safe=False)
