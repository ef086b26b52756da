"""What a plan costs, as a picture: for each stage the parties as lanes, an arrow a link, and the numbers beside it.

SVG without scripts and without anything loaded, light and dark, 960 pixels wide; letters of 13 pixels and more. Texts are
cut to the room that they have, letter by letter as wide as they are in the widest of the fonts named.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from math import ceil

import msgspec

from pllm_lang.artifacts.cost_report import Amount, CostReport, Link, Memory
from pllm_lang.artifacts.cost_text import heading, in_units

WIDTH = 960
LEFT, LANES, NUMBERS, BAR, RIGHT = 30, 380, 430, 760, 930
ROW = 28
WIDEST = "MWmw@%…"
PLAIN, STAGE, TITLE = 1.0, 1.3, 1.75
"""How much wider than plain letters of 13 pixels headings are."""
STYLE = """
text { font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1c2126; }
.title { font-size: 20px; font-weight: 600; } .stage { font-size: 15px; font-weight: 600; } .soft { fill: #56616c; }
.ground { fill: #ffffff; } .lane { stroke: #c9d1d9; } .rule { stroke: #d7dde3; }
.online { stroke: #1f5fa8; fill: #1f5fa8; } .offline { stroke: #8a5a00; fill: #8a5a00; } .offline.line { stroke-dasharray: 5 4; }
.bar { stroke: none; opacity: .75; } .line { stroke-width: 1.8; }
@media (prefers-color-scheme: dark) { text { fill: #e6eaee; } .soft { fill: #a3afba; } .ground { fill: #14181c; }
  .lane { stroke: #46515c; } .rule { stroke: #37414b; } .online { stroke: #7db4f0; fill: #7db4f0; }
  .offline { stroke: #e3b35a; fill: #e3b35a; } }
"""


class Panel(msgspec.Struct, frozen=True):
    title: str
    amount: Amount


def as_svg(report: CostReport) -> str:
    """The whole picture."""
    y = 78
    body: list[str] = []
    for panel in _panels(report):
        part, y = _panel(panel, y)
        body += part
    part, y = _memory(report.memory, y)
    body += part
    height = y + 10
    refused = "" if report.accepted else " (refused: as far as it could be read)"
    title = f"Cost of {report.plan}{refused}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img">',
            f"<title>{escape(_clean(title))}</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="ground" width="{WIDTH}" height="{height}"/>',
            _text(LEFT, 34, title, RIGHT - LEFT, "title", TITLE),
            _text(
                LEFT,
                56,
                "Bytes of the values sent; rounds at most; solid arrows online, dashed offline.",
                RIGHT - LEFT,
                "soft",
            ),
            *body,
            "</svg>",
            "",
        ]
    )


def _panels(report: CostReport) -> Iterator[Panel]:
    for place, stage in enumerate(report.stages):
        yield Panel(heading(report, place), stage.cost)
    if len(report.stages) > 1 or any(stage.runs > 1 for stage in report.stages):
        yield Panel("one request", report.per_request)
    requests = report.budget.get("requests", 1)
    if requests > 1:
        yield Panel(f"the budget, {requests} requests", report.total)


# ---- a stage ----
def _panel(panel: Panel, y: int) -> tuple[list[str], int]:
    parties = list(
        dict.fromkeys(name for link in panel.amount.links for name in (link.sender, link.receiver))
    )
    out = [
        f'<line class="rule" x1="{LEFT}" x2="{RIGHT}" y1="{y}" y2="{y}"/>',
        _text(LEFT, y + 24, panel.title, RIGHT - LEFT, "stage", STAGE),
    ]
    y += 34
    if parties:
        part, y = _lanes(parties, panel.amount.links, y)
        out += part
    for line in _lines(panel.amount):
        out.append(_text(LEFT, y + 20, line, RIGHT - LEFT, "soft"))
        y += ROW - 4
    return out, y + 16


def _lanes(parties: list[str], links: tuple[Link, ...], y: int) -> tuple[list[str], int]:
    step = LANES / len(parties)
    x = {party: LEFT + step * (at + 0.5) for at, party in enumerate(parties)}
    out = [_text(x[party], y + 18, party, step - 8, "name", anchor="middle") for party in parties]
    bottom = y + 28 + ROW * len(links)
    out += [
        f'<line class="lane" x1="{x[party]:.1f}" x2="{x[party]:.1f}" y1="{y + 26}" y2="{bottom}"/>'
        for party in parties
    ]
    most = max(link.bytes for link in links) or 1
    y += 28
    for link in links:
        out += _arrow(x[link.sender], x[link.receiver], y + ROW / 2, link.phase)
        out += _numbers(link, y, most)
        y += ROW
    return out, y


def _arrow(start: float, end: float, y: float, phase: str) -> Iterator[str]:
    kind = "offline" if phase == "offline" else "online"
    way = 1 if end > start else -1
    yield f'<line class="{kind} line" x1="{start:.1f}" x2="{end - way * 6:.1f}" y1="{y}" y2="{y}"/>'
    yield f'<path class="{kind}" d="M{end:.1f} {y} l{-way * 9} -4.5 v9 z"/>'


def _numbers(link: Link, y: int, most: int) -> Iterator[str]:
    kind = "offline" if link.phase == "offline" else "online"
    size = in_units(link.bytes).strip(" ()") or f"{link.bytes} B"
    messages = f"{link.messages} message{'s' if link.messages != 1 else ''}"
    yield _text(NUMBERS, y + 19, link.phase, 70, "soft")
    yield _text(NUMBERS + 72, y + 19, messages, 150, "plain")
    yield _text(BAR - 20, y + 19, size, 86, "plain", anchor="end")
    width = (RIGHT - BAR) * link.bytes / most
    yield f'<rect class="{kind} bar" x="{BAR}" y="{y + 8}" width="{width:.1f}" height="13" rx="2"/>'


def _lines(amount: Amount) -> Iterator[str]:
    if amount.rounds:
        yield "rounds: " + ", ".join(f"{one.phase} at most {one.rounds}" for one in amount.rounds)
    for need in amount.material:
        yield f"burns {need.count} of {need.component}.{need.bundle}, one each {need.unit}"
    for work in amount.work:
        yield f"{work.phase} products at {work.party}: {work.macs} multiply-accumulates"
    if amount == Amount():
        yield "nothing is sent, burnt or multiplied"


# ---- memory ----
def _memory(memory: tuple[Memory, ...], y: int) -> tuple[list[str], int]:
    if not memory:
        return [], y
    most = max(max(_total(one), one.available or 0) for one in memory) or 1
    out = [
        f'<line class="rule" x1="{LEFT}" x2="{RIGHT}" y1="{y}" y2="{y}"/>',
        _text(LEFT, y + 24, "memory: weights, states and the largest call", RIGHT - LEFT, "stage", STAGE),
    ]
    y += 34
    for one in memory:
        size = in_units(_total(one)).strip(" ()") or f"{_total(one)} B"
        of = (
            "" if one.available is None else f" of{in_units(one.available)}".replace("(", "").replace(")", "")
        )
        out.append(_text(LEFT, y + 19, one.party, LANES, "name"))
        out.append(_text(NUMBERS, y + 19, f"{size}{of}", BAR - NUMBERS - 20, "plain"))
        width = (RIGHT - BAR) * _total(one) / most
        out.append(f'<rect class="online bar" x="{BAR}" y="{y + 8}" width="{width:.1f}" height="13" rx="2"/>')
        y += ROW
    return out, y + 16


def _total(one: Memory) -> int:
    return one.weights + one.states + one.largest_call


# ---- texts ----
def _text(
    x: float, y: float, text: str, room: float, kind: str, wider: float = PLAIN, anchor: str = "start"
) -> str:
    wide = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text class="{kind}" x="{ceil(x)}" y="{ceil(y)}"{wide}>{escape(_cut(_clean(text), room / wider))}</text>'


def _cut(text: str, room: float) -> str:
    """As much of the text as fits into `room` pixels, with a mark where some is left out."""
    if sum(map(_width, text)) <= room:
        return text
    left, kept = room - _width("…"), 0
    while kept < len(text) and (left := left - _width(text[kept])) >= 0:
        kept += 1
    return text[:kept] + "…"


def _width(letter: str) -> float:
    """Pixels of a letter of 13 pixels in DejaVu Sans, at most."""
    if letter in WIDEST:
        return 13.2
    if not letter.isascii():
        return 15.0
    return 10.2 if letter.isupper() else 8.6


def _clean(text: str) -> str:
    """Without control characters, which XML does not have, and without those that turn a text around."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)
