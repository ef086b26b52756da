"""From nodes to places in a file: anchors are absolute, what they hold is relative to them."""

from __future__ import annotations

from pllm_lang.syntax.nodes import Anchor, Node
from pllm_lang.text.finding import Span


def anchor_span(file: str, anchor: Anchor) -> Span:
    return Span(file, anchor.at, anchor.at + anchor.end)


def node_span(file: str, anchor: Anchor, node: Node) -> Span:
    """The span of `node`, whose nearest anchor is `anchor`."""
    return Span(file, anchor.at + node.start, anchor.at + node.end)
