"""What the prover says about a protocol, as findings at the lines of its narration."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pllm_lang.catalog.expr import NOWHERE, Origin
from pllm_lang.ir import protocol as p
from pllm_lang.text.finding import Finding, Label, Span, Verdict
from pllm_lang.verify.protocol.report import Correctness, ProtocolReport, View
from pllm_lang.verify.protocol.report import Finding as ProverFinding

MAX_LABELS = 6

MAX_SHOWN = 4
"""Entries of a tensor and terms of a sum that a text shows; the data of the finding have all."""

_TERMS = re.compile(r" (?=[+-] )")
_LONG = re.compile(r"[0-9]{13,}")

UNFINISHED = ("protocol.knowledge", "protocol.missing-output", "protocol.misfit")
"""Findings that leave a result without a term; that it is not shown to be right says nothing more then."""

HELP = {
    "protocol.knowledge": "send it there first, or let the party that holds it compute the line",
    "protocol.reused_stream": "give every draw a label of its own; with a key that outlives an execution add `counter`",
    "protocol.missing_output": "let every party named in the signature set its part of the result",
    "protocol.open_sharing": "bind the roles to different parties",
    "protocol.abort": "check a value that is 0 whenever everybody follows the text",
}


def findings_of(
    report: ProtocolReport, origins: tuple[Origin, ...], home: Origin, statistical: int, example: str = ""
) -> Iterator[Finding]:
    """Everything of a report that is no proof. `home` is the place of the record; `statistical` the bits that an
    integer mask has to be wider by, for each entry."""
    notes = (f"for {example}",) if example else ()
    for found in report.findings:
        yield _own(found, origins, home, notes)
    unfinished = any(found.code in UNFINISHED for found in report.findings)
    for result in report.correctness:
        if result.verdict is Verdict.REFUTED or (result.verdict is Verdict.UNPROVED and not unfinished):
            yield _wrong(result, origins, home, notes)
    for view in report.views:
        if view.verdict is not Verdict.PROVED:
            yield _leak(view, origins, home, notes)
        yield from _distances(view, home, statistical, notes)


def used_twice(protocol: p.Protocol) -> Iterator[tuple[int, str]]:
    """Origin and message of every bundle with a draw that outlives an execution: the next one would use it again."""
    lives = {st.name: st.lifetime for st in protocol.body if isinstance(st, p.Draw)}
    for st in protocol.body:
        again = (
            [m for m in st.members if lives.get(m, "execution") != "execution"]
            if isinstance(st, p.Bundle)
            else []
        )
        if isinstance(st, p.Bundle) and again:
            lifetime = lives[again[0]]
            text = f"`{st.name}` is one-use, and its `{again[0]}` is drawn once a {lifetime}: every execution uses it again"
            yield st.origin, text


def _own(found: ProverFinding, origins: tuple[Origin, ...], home: Origin, notes: tuple[str, ...]) -> Finding:
    code = found.code.replace("-", "_")
    places = spans(found.origins, origins, home)
    labels = tuple(Label(place, "and here") for place in places[1:])
    return Finding(
        code,
        found.message,
        places[0],
        verdict=found.verdict,
        labels=labels,
        notes=notes,
        help=HELP.get(code, ""),
    )


def _wrong(result: Correctness, origins: tuple[Origin, ...], home: Origin, notes: tuple[str, ...]) -> Finding:
    refuted = result.verdict is Verdict.REFUTED
    text = "is not" if refuted else "is not shown to be"
    message = f"`{result.output}` {text} what the operator means: {result.how}"
    if result.point:
        notes = (*notes, f"executed with {', '.join(result.point)}")
    place = spans(result.origins, origins, home)[0]
    data = {"witness": ", ".join(result.point)} if result.point else {}
    return Finding(
        "protocol.wrong_result", message, place, verdict=result.verdict, notes=notes, data=data,
        help="compare the lines that make the result with the operator's `means`",
    )  # fmt: skip


def _leak(view: View, origins: tuple[Origin, ...], home: Origin, notes: tuple[str, ...]) -> Finding:
    leak = view.leak
    places = spans(leak.origins if leak is not None else view.origins, origins, home)
    labels = tuple(Label(place, "with this message") for place in places[:-1])[:MAX_LABELS]
    return Finding(
        "protocol.leak",
        leak_message(view),
        places[-1],
        verdict=view.verdict,
        labels=labels,
        notes=(*notes, *leak_notes(view)),
        data=leak_data(view),
        help="mask what is sent with a fresh draw that the receiver does not know, used once",
    )


def leak_message(view: View) -> str:
    who = " and ".join(f"`{party}`" for party in view.coalition)
    if view.leak is None:
        return f"it is not shown that {who} learns nothing: {view.reason}"
    learns = "learns" if len(view.coalition) == 1 else "together learn"
    secret, combination = _short_sum(view.leak.secret), _short_sum(view.leak.combination)
    return f"{who} {learns} `{secret}` from `{combination}`"


def leak_notes(view: View) -> Iterator[str]:
    leak = view.leak
    if leak is None:
        for term in view.stuck[:MAX_LABELS]:
            yield f"left over: {term}"
        return
    first, second = (", ".join(map(_briefly, row)) or "the same" for row in leak.inputs)
    values = [_briefly(str(value)) for value in leak.values]
    where = f" ({leak.setting})" if leak.setting else ""
    yield f"executed{where}: {values[0]} with {first}; {values[1]} with {second}"


def _short_sum(text: str) -> str:
    """At most MAX_SHOWN terms of a sum, and how many there are."""
    terms = _TERMS.split(text)
    if len(terms) <= MAX_SHOWN:
        return text
    return f"{' '.join(terms[:MAX_SHOWN])} + ... {len(terms)} terms"


def _briefly(text: str) -> str:
    """At most MAX_SHOWN entries of a tensor, and the ends of long numbers."""
    name, bracket, rest = text.partition("[")
    entries = rest.rstrip("]").split(", ") if bracket else []
    if len(entries) > MAX_SHOWN:
        text = f"{name}[{', '.join(entries[:MAX_SHOWN])}, ... {len(entries)} entries]"
    return _LONG.sub(lambda found: f"{found[0][:4]}..{found[0][-4:]}", text)


def leak_data(view: View) -> dict[str, str]:
    if view.leak is None:
        return {}
    inputs = " / ".join(", ".join(row) for row in view.leak.inputs)
    return {"term": f"{view.leak.combination} = {view.leak.secret}", "witness": inputs}


def _distances(view: View, home: Origin, statistical: int, notes: tuple[str, ...]) -> Iterator[Finding]:
    weak = [s for s in view.statistical if s.exponent < statistical]
    if not weak:
        return
    worst = min(weak, key=lambda s: s.exponent)
    who = " and ".join(f"`{party}`" for party in view.coalition)
    message = (
        f"the mask `{worst.draw}` hides `{worst.message}` from {who} only up to 2^-{worst.exponent} an entry, "
        f"and 2^-{statistical} is asked"
    )
    place = Span(home.file, home.start, home.end)
    data = {"value": str(worst.exponent), "limit": str(statistical)}
    yield Finding(
        "protocol.distance", message, place, verdict=Verdict.REFUTED, notes=notes, data=data,
        help="draw a wider mask (`uniform_int(bits)`), or require a smaller range of what it hides",
    )  # fmt: skip


def spans(places: tuple[int, ...], origins: tuple[Origin, ...], home: Origin) -> list[Span]:
    found = [origins[i] for i in places if 0 <= i < len(origins)] or [home]
    return [Span(o.file, o.start, o.end) for o in found if o != NOWHERE] or [
        Span(home.file, home.start, home.end)
    ]


def line_of(places: tuple[int, ...], origins: tuple[Origin, ...]) -> Origin:
    """The first of these lines that is known."""
    return next((origins[i] for i in places if 0 <= i < len(origins)), NOWHERE)
