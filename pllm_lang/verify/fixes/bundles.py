"""Split a bundle: the largest `max_elements` that the schedule takes, or a schedule that takes as many."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pllm_lang.text.finding import Fix
from pllm_lang.verify.fixes.around import Around, replaced

CODES = ("params.out_of_range",)
_RANGE = re.compile(r"in (\d+)\.\.(\d+)")


def propose(around: Around) -> Iterator[Fix]:
    data = around.finding.data
    match = _RANGE.fullmatch(data.get("limit", ""))
    value = data.get("value", "")
    if not match or not value.isdecimal() or "`max_elements`" not in around.finding.message:
        return
    limit = match[2] if int(value) > int(match[2]) else match[1]
    span = around.finding.span
    title = f"Split into bundles of {limit}" if limit == match[2] else f"Bundle {limit} elements"
    yield Fix(title, (replaced(around, span.start, span.end, limit),), safe=False)
