"""The document `pllm.decoder_plan.v1`: its Structs, and the one way to write an operation.

In: what a family builder says of one phase. Out: frozen Structs whose fields are the document's keys. It
exists so that the builders read like a listing of the graph, one line an operation.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from pllm_lang.interchange.canonical import canonical_bytes, digest_bytes

SCHEMA = "pllm.decoder_plan.v1"
Mode = Literal["prefill", "decode"]
Shape = tuple[int, ...]

_LAYER = re.compile(r"(?:^|\.)layer\.(\d+)\.")

POSITIONS, MASK, LENGTHS = "input.positions", "input.attention_mask", "input.sequence_lengths"
CACHE_INPUTS = (POSITIONS, MASK, LENGTHS)
CACHE_DESCRIPTOR = {
    "absolute_write_positions_input": POSITIONS,
    "padding_mask_input": MASK,
    "valid_lengths_input": LENGTHS,
}
GREEDY = {"policy": "pllm.greedy.v1", "source": "execution_policy"}
HEADS_FIRST = "batch_heads_sequence_feature"
KV_CACHE = "batch_kv_heads_sequence_feature"


class Operation(msgspec.Struct, frozen=True):
    """One operation; `layer` is the N of an id `layer.N.…` or `….layer.N.…`, else None."""

    id: str
    operator: str
    layer: int | None
    state_kind: str | None
    inputs: tuple[str, ...]
    output_shape: Shape
    attributes: dict[str, Any]


class State(msgspec.Struct, frozen=True):
    """A value carried between runs of a graph; `maximum_sequence` is its capacity in positions."""

    id: str
    layer: int
    kind: str
    shape: Shape
    maximum_sequence: int


class Graph(msgspec.Struct, frozen=True):
    """One phase of the decoder."""

    mode: Mode
    batch: int
    query_sequence: int
    maximum_key_sequence: int
    operations: tuple[Operation, ...]
    state_inputs: tuple[State, ...]
    state_outputs: tuple[State, ...]
    output: str = "token_feedback"


class Transformation(msgspec.Struct, frozen=True):
    """A pass that made this plan out of the plan with `input_digest`."""

    component: str
    implementation: str
    method_id: str
    input_digest: str
    configuration_digest: str


class DecoderDocument(msgspec.Struct, frozen=True):
    """The whole plan document."""

    model_family: str
    adapter: str
    config_digest: str
    prefill: Graph
    decode: Graph
    transformations: tuple[Transformation, ...] = ()
    schema_version: str = SCHEMA
    token_feedback: bool = True


class DecoderPlan(msgspec.Struct, frozen=True):
    """A decoder plan with its canonical bytes and the digest of these."""

    document: DecoderDocument
    canonical_bytes: bytes
    digest: str


class Workload(msgspec.Struct, frozen=True):
    """How much is asked of the plan: sequences at once, longest prompt, longest answer."""

    batch: int
    max_input_tokens: int
    max_new_tokens: int


class Phase(msgspec.Struct, frozen=True):
    """One phase of a workload: `query` positions come in at once."""

    mode: Mode
    batch: int
    query: int
    max_input_tokens: int
    max_new_tokens: int

    @property
    def cache_capacity(self) -> int:
        """Positions that are ever written: the last new token is never attended to."""
        return self.max_input_tokens + self.max_new_tokens - 1


def phases(work: Workload) -> tuple[Phase, Phase]:
    """The prefill and the decode phase of `work`."""
    prompt, new = work.max_input_tokens, work.max_new_tokens
    return Phase("prefill", work.batch, prompt, prompt, new), Phase("decode", work.batch, 1, prompt, new)


def operation(
    id: str,
    operator: str,
    inputs: tuple[str, ...],
    shape: Shape,
    state_kind: str | None = None,
    **attributes: Any,
) -> Operation:
    """An operation whose layer is read off its id."""
    layer = _LAYER.search(id)
    return Operation(id, operator, int(layer[1]) if layer else None, state_kind, inputs, shape, attributes)


def seal(document: DecoderDocument) -> DecoderPlan:
    """Attach canonical bytes and digest."""
    data = canonical_bytes(msgspec.to_builtins(document))
    return DecoderPlan(document, data, digest_bytes(SCHEMA, data))
