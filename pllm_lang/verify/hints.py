"""What would make a range sharper: hints added to findings about ranges."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.verify.view import StepView

RANGES_ALONE = "k * range("
"""How the facts of a matrix product call a bound that uses no norm of rows."""

NORMS_HELP = (
    "state norms where they are known: `where norm2(x) <= ...` of an input and `row_norm2(w) <= ...` of a weight bound a "
    "matrix product far better than ranges do"
)


def norm_hints(view: StepView, own_rule: str = "") -> Iterator[str]:
    """A note for each range here that a matrix product gave from ranges alone, and what would sharpen it."""
    told = False
    for spec in view.operator.operands:
        facts = view.env.facts[spec.name]
        if facts.rule.startswith(RANGES_ALONE):
            told = True
            yield f"the range of operand `{spec.name}` comes from intervals alone ({facts.rule}): no norm of its rows was known"
    if own_rule.startswith(RANGES_ALONE):
        told = True
        yield f"this range comes from intervals alone ({own_rule}): no norm of the rows was known"
    if told:
        yield NORMS_HELP
