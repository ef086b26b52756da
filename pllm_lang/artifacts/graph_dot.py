"""A graph in the DOT language of Graphviz: parties as columns, rows in order, messages as edges between them.

Each lane is a chain of points, one for each row in which it has a part, so that `dot` lays time out from top to bottom.
"""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.artifacts.graph import Graph, Row
from pllm_lang.text.visible import visible

_HEAD = """  rankdir=TB; newrank=true; nodesep=0.4; ranksep=0.25;
  node [shape=box, style=rounded, fontname="monospace", fontsize=11];
  edge [fontname="monospace", fontsize=11];"""


def dot(graph: Graph) -> str:
    """The graph as a DOT document."""
    return "\n".join(_lines(graph)) + "\n"


def _lines(graph: Graph) -> Iterator[str]:
    yield f"digraph {_quoted(graph.name)} {{"
    yield _HEAD
    label = f"{graph.name} under {graph.policy}" if graph.policy else graph.name
    yield f"  label={_quoted(label + (' (refused)' if graph.refused else ''))}; labelloc=t;"
    last: dict[str, str] = {}
    for k, lane in enumerate(graph.lanes):
        last[lane] = f"lane{k}"
        yield f"  lane{k} [label={_quoted(lane)}, style=filled];"
    depth = 0
    before = ""
    for number, row in enumerate(graph.rows):
        if row.kind == "end":
            depth -= 1
            yield "  " * (depth + 1) + "}"
            continue
        if row.kind in ("stage", "repeat"):
            depth += 1
            head = _quoted(f"{row.text} {row.detail}".strip())
            yield "  " * depth + f"subgraph cluster{number} {{ label={head};"
            continue
        yield from ("  " * (depth + 1) + line for line in _row(number, row, last, before))
        before = f"r{number}"
    yield from ("  " * (k + 1) + "}" for k in reversed(range(depth)))
    yield "}"


def _row(number: int, row: Row, last: dict[str, str], before: str) -> Iterator[str]:
    node = f"r{number}"
    if row.kind == "message":
        sender, *receivers = row.lanes
        style = ", style=dashed" if row.detail == "offline" else ""
        yield f"{node} [shape=plaintext, label={_quoted(row.text)}];"
        yield f"{last[sender]} -> {node} [dir=none, color=chocolate{style}];"
        for lane in receivers:
            yield f"{node} -> {node}_{_index(last, lane)} [color=chocolate{style}];"
            yield f"{node}_{_index(last, lane)} [label={_quoted(lane)}, shape=point];"
            yield f"{last[lane]} -> {node}_{_index(last, lane)} [style=dotted, arrowhead=none];"
        for lane in receivers:
            last[lane] = f"{node}_{_index(last, lane)}"
        return
    text = f"{row.text}\n{row.detail}" if row.detail else row.text
    shape = ", peripheries=2" if len(row.lanes) > 1 else ""
    yield f"{node} [label={_quoted(text)}{shape}];"
    for lane in row.lanes:
        yield f"{last[lane]} -> {node} [style=dotted, arrowhead=none];"
        last[lane] = node
    if not row.lanes and before:
        yield f"{before} -> {node} [style=invis];"


def _index(last: dict[str, str], lane: str) -> int:
    return list(last).index(lane)


def _quoted(text: str) -> str:
    """A DOT string: quotes and backslashes escaped, line ends as `\\n`, other control characters as pictures."""
    shown = "\n".join(visible(line) for line in text.split("\n"))
    return '"' + shown.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
