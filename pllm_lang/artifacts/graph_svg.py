"""A graph as SVG: parties as lanes, time from top to bottom, messages as arrows.

Every row has a band of its own, so no two texts can overlap; a text that is wider than the picture is cut, and its `<title>`
has all of it. Widths are those of the widest common fixed-width fonts. Colours follow the reader's light or dark scheme.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from xml.sax.saxutils import escape

from pllm_lang.artifacts.graph import Graph, Row
from pllm_lang.text.visible import visible, width

WIDTH = 960
FONT = 13
SMALL = 12
"""Sizes of text in pixels; nothing is smaller."""

CHAR = 0.62
"""Width of a character of a fixed-width font, in its size: DejaVu Sans Mono has 0.602, Menlo 0.602, Courier New 0.6."""

_MARGIN = 24
_INSET = 14
_LINE = 19
_PAD = 9
_HEADER = 96

STYLE = f"""
  svg {{ --page: #ffffff; --ink: #1b1f24; --soft: #57606a; --lane: #c4ccd4; --box: #f3f5f8; --edge: #8b949e; --joint: #e7efff;
    --joint-edge: #2f62c9; --sent: #9a4c00; --group: #6b7480; }}
  @media (prefers-color-scheme: dark) {{
    svg {{ --page: #0f1318; --ink: #e6eaef; --soft: #a3adb8; --lane: #3a434d; --box: #1a2028; --edge: #6b7683; --joint: #17263f;
      --joint-edge: #79a6ff; --sent: #ffb368; --group: #8c97a4; }}
  }}
  text {{ font: {FONT}px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: var(--ink); white-space: pre; }}
  .small {{ font-size: {SMALL}px; fill: var(--soft); }}
  .party {{ font-weight: bold; }}
  .page {{ fill: var(--page); }}
  .lane {{ stroke: var(--lane); stroke-width: 1.5; stroke-dasharray: 3 4; }}
  .box {{ fill: var(--box); stroke: var(--edge); }}
  .joint {{ fill: var(--joint); stroke: var(--joint-edge); }}
  .under {{ fill: var(--page); }}
  .arrow {{ stroke: var(--sent); stroke-width: 1.6; fill: none; }}
  .offline {{ stroke-dasharray: 6 4; }}
  .head {{ fill: var(--sent); }}
  .sent {{ fill: var(--sent); font-size: {SMALL}px; }}
  .group {{ fill: none; stroke: var(--group); stroke-dasharray: 2 3; }}
  .refused {{ fill: var(--sent); }}
"""


class _Band(NamedTuple):
    """What one row draws, and the height that it takes; `draw` lines have `y` of the band added by a group."""

    height: int
    lines: list[str]


def svg(graph: Graph) -> str:
    """The picture as one document, WIDTH pixels wide."""
    places = _places(graph)
    rows = list(_merged(graph.rows))
    parts: list[str] = []
    y = _HEADER
    open_groups: list[tuple[int, int]] = []
    groups: list[str] = []
    for row in rows:
        if row.kind == "end":
            top, depth = open_groups.pop()
            groups.append(_group(top, y + _PAD - top, depth))
            y += 2 * _PAD
            continue
        if row.kind in ("stage", "repeat"):
            open_groups.append((y, len(open_groups)))
        band = _band(row, places, len(open_groups))
        parts.append(f'<g transform="translate(0 {y})">{"".join(band.lines)}</g>')
        y += band.height
    while open_groups:  # a picture that was cut short
        top, depth = open_groups.pop()
        groups.append(_group(top, y + _PAD - top, depth))
    height = y + _MARGIN
    return "\n".join([*_head(graph, height), *groups, *_lanes(places, height), *parts, "</svg>"]) + "\n"


def _head(graph: Graph, height: int) -> Iterator[str]:
    title = _title(graph)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        'role="img" aria-labelledby="pllm-title pllm-desc">'
    )
    yield f'<title id="pllm-title">{_text(title)}</title>'
    yield f'<desc id="pllm-desc">{_text(_description(graph))}</desc>'
    yield f"<style>{STYLE}</style>"
    yield f'<rect class="page" width="{WIDTH}" height="{height}"/>'
    yield f'<text class="party" x="{_MARGIN}" y="30">{_cut(title, WIDTH - 2 * _MARGIN, FONT)}</text>'
    legend = "arrows: messages, dashed before the inputs are known; wide boxes: a protocol of several parties"
    if graph.refused:
        legend = "REFUSED: this is what could be read; pllm check says what is wrong"
    style = "small refused" if graph.refused else "small"
    yield f'<text class="{style}" x="{_MARGIN}" y="50">{_text(legend)}</text>'


def _title(graph: Graph) -> str:
    return f"{graph.name} under {graph.policy}" if graph.policy else graph.name


def _description(graph: Graph) -> str:
    who = ", ".join(graph.lanes) or "no party"
    state = "Refused plan" if graph.refused else "Accepted plan"
    return f"{state} {_title(graph)}. Parties: {who}. {graph.n_steps} steps, {graph.n_messages} messages."


# ---- lanes -------------------------------------------------------------------------------------------


def _places(graph: Graph) -> dict[str, float]:
    """The middle of each lane."""
    room = WIDTH - 2 * _MARGIN
    count = max(len(graph.lanes), 1)
    return {lane: _MARGIN + room * (k + 0.5) / count for k, lane in enumerate(graph.lanes)}


def _lanes(places: dict[str, float], height: int) -> Iterator[str]:
    room = (WIDTH - 2 * _MARGIN) / max(len(places), 1)
    for lane, x in places.items():
        shown = _cut(lane, room - 24, FONT)
        wide = min(_wide(lane, FONT) + 24, room - 4)
        yield f'<line class="lane" x1="{x:g}" y1="88" x2="{x:g}" y2="{height - 12}"/>'
        yield f'<rect class="box" x="{x - wide / 2:g}" y="62" width="{wide:g}" height="26" rx="6"/>'
        yield f'<text class="party" text-anchor="middle" x="{x:g}" y="80">{shown}{_full(lane, shown)}</text>'


# ---- rows --------------------------------------------------------------------------------------------


def _merged(rows: tuple[Row, ...]) -> Iterator[Row]:
    """Steps that one party does one after another in one box, a line each; values without a lane together as well, and
    messages that go the same way at once."""
    waiting: list[Row] = []
    for row in rows:
        alike = bool(waiting) and _joins(row) and _sort(row) == _sort(waiting[0])
        if waiting and not alike:
            yield _joined(waiting)
            waiting = []
        if _joins(row):
            waiting.append(row)
        else:
            yield row
    if waiting:
        yield _joined(waiting)


def _joins(row: Row) -> bool:
    local = row.kind in ("step", "value", "note") and len(row.lanes) <= 1 and not row.detail
    return local or row.kind == "message"


def _sort(row: Row) -> tuple[str, tuple[str, ...], str]:
    kind = "step" if row.kind == "note" and row.lanes else row.kind  # a state is written where the steps are
    return kind, row.lanes, row.detail


def _joined(rows: list[Row]) -> Row:
    first = rows[0]
    between = ", " if first.kind == "message" else "\n"
    return Row(
        first.kind, between.join(row.text.replace("\n", " ") for row in rows), first.lanes, first.detail
    )


def _band(row: Row, places: dict[str, float], depth: int) -> _Band:
    match row.kind:
        case "stage" | "repeat":
            return _heading(row, depth - 1)
        case "message":
            return _message(row, places)
        case _:
            return _box(row, places, depth)


def _heading(row: Row, depth: int) -> _Band:
    x = _MARGIN - 14 + depth * _INSET + 10
    text = f"{row.text}  {row.detail}".rstrip()
    shown = _cut(text, WIDTH - 2 * x, FONT)
    return _Band(34, [f'<text class="party" x="{x}" y="20">{shown}{_full(text, shown)}</text>'])


def _group(top: int, height: int, depth: int) -> str:
    x = _MARGIN - 14 + depth * _INSET
    return f'<rect class="group" x="{x}" y="{top + 2}" width="{WIDTH - 2 * x}" height="{height - 4}" rx="8"/>'


def _box(row: Row, places: dict[str, float], depth: int) -> _Band:
    lines = [*row.text.split("\n"), *([row.detail] if row.detail else [])]
    known = [places[lane] for lane in row.lanes if lane in places]
    room = WIDTH - 2 * (_MARGIN + depth * _INSET)
    wide = min(max(_wide(line, FONT) for line in lines) + 2 * _PAD, room)
    low, high = (min(known), max(known)) if known else (WIDTH / 2, WIDTH / 2)
    wide = max(wide, min(high - low + 60, room)) if len(known) > 1 else wide
    left = min(max((low + high - wide) / 2, (WIDTH - room) / 2), (WIDTH + room) / 2 - wide)
    style = "joint" if len(known) > 1 or row.accent else "box"
    height = _LINE * len(lines) + 10
    drawn = [f'<rect class="{style}" x="{left:g}" y="4" width="{wide:g}" height="{height}" rx="5"/>']
    for k, line in enumerate(lines):
        small = ' class="small"' if row.detail and k == len(lines) - 1 else ""
        shown = _cut(line, wide - 2 * _PAD, FONT)
        x, y = left + _PAD, 4 + _LINE * (k + 1)
        drawn.append(f'<text{small} x="{x:g}" y="{y}">{shown}{_full(line, shown)}</text>')
    return _Band(height + 12, drawn)


def _message(row: Row, places: dict[str, float]) -> _Band:
    sender, *receivers = [places[lane] for lane in row.lanes]
    text = f"{row.text}  ({row.detail})" if row.detail else row.text
    shown = _cut(text, WIDTH - 2 * _MARGIN - 12, SMALL)
    wide = min(_wide(text, SMALL) + 8, WIDTH - 2 * _MARGIN)
    middle = (min(sender, *receivers) + max(sender, *receivers)) / 2
    left = min(max(middle - wide / 2, _MARGIN), WIDTH - _MARGIN - wide)
    drawn = [
        f'<rect class="under" x="{left:g}" y="3" width="{wide:g}" height="17"/>',
        f'<text class="sent" x="{left + 4:g}" y="16">{shown}{_full(text, shown)}</text>',
    ]
    dashed = " offline" if row.detail == "offline" else ""
    for x in receivers:
        back = 9 if x > sender else -9
        drawn.append(f'<path class="arrow{dashed}" d="M{sender:g} 27H{x - back:g}"/>')
        drawn.append(f'<path class="head" d="M{x:g} 27l{-back:g} -5v10z"/>')
    return _Band(38, drawn)


# ---- text --------------------------------------------------------------------------------------------


def _wide(text: str, size: int) -> float:
    return width(visible(text)) * CHAR * size


def _cut(text: str, room: float, size: int) -> str:
    """As much of the text as `room` holds, escaped; `…` where it is cut."""
    shown = visible(text)
    most = max(1, int(room / (CHAR * size) + 0.01))
    if width(shown) <= most:
        return escape(shown)
    kept, columns = "", 1
    for char in shown:
        columns += width(char)
        if columns > most:
            break
        kept += char
    return escape(kept + "…")


def _full(text: str, shown: str) -> str:
    return "" if escape(visible(text)) == shown else f"<title>{_text(text)}</title>"


def _text(text: str) -> str:
    return escape(visible(text))
