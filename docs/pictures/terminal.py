"""What a program really draws on a terminal, as SVG: it runs in a tmux window of fixed size, whose cells are then written as text.

In: a shell command that says when it is done by `$DONE`. Out: an SVG of those cells, each where a terminal has it.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from rich.color import Color, ColorType
from rich.style import Style
from rich.text import Text

COLUMNS = 104
FONT = 14
CELL = 8.43
"""Width of a cell: 0.602 of the letters' size in DejaVu Sans Mono and Menlo; `textLength` fits the letters of other fonts."""

LINE = 19
PAD = 18
GROUND, INK = "#161b22", "#e6eaee"
NAMED = (
    *("#2b333d", "#ff8088", "#7fd6a2", "#efc66b", "#79b4ff", "#d9a5f5", "#72d3dd", "#d5dbe1"),
    *("#98a3ae", "#ff9aa5", "#9be5b8", "#ffdc8f", "#a4cdff", "#e7c4fb", "#9be8ef", "#ffffff"),
)
"""The sixteen colours that a terminal names, each with a contrast of at least 4.5 to the ground, but for black."""

STYLE = (
    f"text {{ font: {FONT}px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; white-space: pre; fill: {INK}; }} "
    ".b { font-weight: bold; } .i { font-style: italic; }"
)
CONFIGURATION = (
    "set -g status off\nset -g default-terminal tmux-256color\nset -ga terminal-overrides ',*:Tc'\n"
)


class Run(NamedTuple):
    """Cells of one line that look alike."""

    column: int
    text: str
    style: Style


def screen(command: str, folder: Path, lines: int, more: Mapping[str, str]) -> Text:
    """The cells after `command` ran `$DONE`, without the empty lines at the end."""
    with tempfile.TemporaryDirectory() as private:
        (Path(private) / "tmux.conf").write_text(CONFIGURATION)
        tmux = ["tmux", "-f", str(Path(private) / "tmux.conf"), "-S", str(Path(private) / "socket")]
        environment = {**os.environ, "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8", **more}
        environment["DONE"] = f"tmux -S {private}/socket wait-for -S done"
        size = ["-x", str(COLUMNS), "-y", str(lines)]
        start = [*tmux, "new-session", "-d", *size, f"{command}; $DONE; sleep 600"]
        subprocess.run(start, env=environment, cwd=folder, check=True)
        try:
            subprocess.run([*tmux, "wait-for", "done"], check=True, timeout=300)
            cells = subprocess.run(
                [*tmux, "capture-pane", "-e", "-N", "-p"], capture_output=True, check=True, text=True
            )
        finally:
            subprocess.run([*tmux, "kill-server"], check=True)
    shown = cells.stdout.split("\n")
    while shown and not shown[-1].strip():
        shown.pop()
    return Text.from_ansi("\n".join(shown))


def svg(cells: Text, title: str) -> str:
    lines = cells.split("\n", allow_blank=True)
    wide, high = round(COLUMNS * CELL + 2 * PAD), len(lines) * LINE + 2 * PAD
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        f'<rect width="{wide}" height="{high}" rx="8" fill="{GROUND}"/>',
        *(part for row, line in enumerate(lines) for run in _runs(line) for part in _drawn(run, row)),
        "</svg>",
        "",
    ])  # fmt: skip


def _runs(line: Text) -> Iterator[Run]:
    column = 0
    styles = [Style() for _ in line.plain]
    for span in line.spans:
        for at in range(span.start, span.end):
            styles[at] += span.style if isinstance(span.style, Style) else Style.parse(span.style)
    while column < len(styles):
        end = column
        while end < len(styles) and styles[end] == styles[column]:
            end += 1
        yield Run(column, line.plain[column:end], styles[column])
        column = end


def _drawn(run: Run, row: int) -> Iterator[str]:
    front, ground = _colour(run.style.color, INK), _colour(run.style.bgcolor, GROUND)
    if run.style.reverse:
        front, ground = ground, front
    x, top = PAD + run.column * CELL, PAD + row * LINE
    if ground != GROUND:
        yield f'<rect x="{x:.1f}" y="{top}" width="{len(run.text) * CELL:.1f}" height="{LINE}" fill="{ground}"/>'
    words = run.text.strip()
    if not words:
        return
    x += (len(run.text) - len(run.text.lstrip())) * CELL
    wide = len(words) * CELL
    look = "".join(f"{name} " for name, on in (("b", run.style.bold), ("i", run.style.italic)) if on).strip()
    yield (
        f'<text x="{x:.1f}" y="{top + 14}" textLength="{wide:.1f}" lengthAdjust="spacingAndGlyphs"'
        + (f' class="{look}"' if look else "")
        + (f' fill="{front}" style="fill:{front}"' if front != INK else "")
        + f">{escape(words)}</text>"
    )
    if run.style.underline:
        yield f'<path d="M{x:.1f} {top + 17}h{wide:.1f}" stroke="{front}"/>'


def _colour(colour: Color | None, default: str) -> str:
    if colour is None or colour.is_default:
        return default
    if colour.type is ColorType.STANDARD and colour.number is not None:
        return NAMED[colour.number]
    return colour.get_truecolor().hex
