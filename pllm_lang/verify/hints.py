"""What would make a range sharper: hints added to findings about ranges."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.verify.view import StepView

RANGES_ALONE = "k * range("
"""How the facts of a matrix product call a bound that uses no norm of rows."""

NORMS_HELP = "`where norm2(x) <= ...` of an input and `row_norm2(w) <= ...` of a weight bound a matrix product far better"


def norm_hints(view: StepView, own_rule: str = "") -> Iterator[str]:
    """One note on the ranges here that a matrix product gave from ranges alone, and what would sharpen them."""
    names = [
        f"`{spec.name}`"
        for spec in view.operator.operands
        if view.env.facts[spec.name].rule.startswith(RANGES_ALONE)
    ]
    what = ["this range"] if own_rule.startswith(RANGES_ALONE) else []
    if names:
        what.append(f"the range{'s' if len(names) > 1 else ''} of {' and '.join(names)}")
    if what:
        verb = "come" if len(what) + len(names) > 2 else "comes"
        yield f"no norm of rows was known, so {' and '.join(what)} {verb} from intervals alone: {NORMS_HELP}"
