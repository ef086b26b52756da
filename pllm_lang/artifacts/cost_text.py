"""What a plan costs, as tables for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pllm_lang.artifacts.cost_report import Amount, CostReport

UNITS = (("PiB", 2**50), ("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
COUNTS = (("P", 10**15), ("T", 10**12), ("G", 10**9), ("M", 10**6))


def as_text(report: CostReport) -> str:
    """Each stage for one run (of the last stage: one more token), then a request, the budget, and memory by party."""
    lines: list[str] = []
    for place, stage in enumerate(report.stages):
        lines += [f"{heading(report, place)}:", *_indented(_amount(stage.cost))]
    if any(stage.runs > 1 for stage in report.stages) or len(report.stages) > 1:
        lines += ["one request:", *_indented(_amount(report.per_request))]
    requests = report.budget.get("requests", 1)
    if requests > 1:
        lines += [f"the budget, {requests} requests:", *_indented(_amount(report.total))]
    if report.memory:
        lines += ["memory:", *_indented(_memory(report))]
    return "\n".join(lines)


def heading(report: CostReport, place: int) -> str:
    """What one run of a stage is."""
    stage = report.stages[place]
    times = f", {stage.runs} times a request" if stage.runs != 1 else ""
    token = ", one more token" if place and place == len(report.stages) - 1 else ""
    return f"stage {stage.stage}{times}; one run{token}"


def _amount(amount: Amount) -> Iterator[str]:
    for link in amount.links:
        messages = f"{link.messages} message{'s' if link.messages != 1 else ''}"
        size = f"{link.bytes} bytes{in_units(link.bytes)}"
        yield f"{link.phase} {link.sender} -> {link.receiver}: {messages}, {size}"
    yield from (f"{one.phase} rounds: at most {one.rounds}" for one in amount.rounds)
    for need in amount.material:
        yield f"burns {need.count} of {need.component}.{need.bundle}, one each {need.unit}"
    for work in amount.work:
        yield f"{work.phase} products at {work.party}: {counted(work.macs)} multiply-accumulates"
    if amount == Amount():
        yield "nothing is sent, burnt or multiplied"


def _memory(report: CostReport) -> Iterator[str]:
    for one in report.memory:
        total = one.weights + one.states + one.largest_call
        of = "" if one.available is None else f" of {one.available}{in_units(one.available)}"
        parts = f"weights {one.weights}, states {one.states}, largest call {one.largest_call}"
        yield f"{one.party}: {total} bytes{in_units(total)}{of}; {parts}"


def in_units(size: int) -> str:
    """` (1.5 MiB)`: in the largest unit that it fills, rounded up to a tenth; "" below one KiB."""
    found = next(((name, unit) for name, unit in UNITS if size >= unit), None)
    return "" if found is None else f" ({_tenths(size, found[1])} {found[0]})"


def counted(count: int) -> str:
    """`1230000 (1.3 M)`, rounded up to a tenth."""
    found = next(((name, unit) for name, unit in COUNTS if count >= unit), None)
    return str(count) if found is None else f"{count} ({_tenths(count, found[1])} {found[0]})"


def _tenths(size: int, unit: int) -> str:
    tenths = -(-size * 10 // unit)
    return f"{tenths // 10}.{tenths % 10}"


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)
