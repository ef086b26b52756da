"""The identity of a graph: a digest of its canonical bytes (RFC 8785), the same on every platform."""

from __future__ import annotations

import hashlib

import msgspec
import rfc8785

from pllm_lang.models.graph import GRAPH_SCHEMA, ModelGraph


def canonical_bytes(graph: ModelGraph) -> bytes:
    return rfc8785.dumps(msgspec.to_builtins(graph))


def graph_digest(graph: ModelGraph) -> str:
    """Lowercase hex SHA-256 of the schema's name, a zero byte and the canonical bytes."""
    return hashlib.sha256(GRAPH_SCHEMA.encode() + b"\x00" + canonical_bytes(graph)).hexdigest()
