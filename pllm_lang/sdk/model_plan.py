"""A lowered model as Python sees it: its graph, its digest, passes over it and what a pipeline covers of it.

In: a published config and the bounds of the workload. Out: an immutable `ModelPlan`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from pllm_lang.artifacts.coverage_report import Coverage
from pllm_lang.interchange.decoder.lower import PlanSource, decoder_plan
from pllm_lang.interchange.decoder.plan import DecoderPlan
from pllm_lang.models.digest import canonical_bytes, graph_digest
from pllm_lang.models.errors import Note
from pllm_lang.models.graph import ModelGraph
from pllm_lang.models.lower import lower_model as lower
from pllm_lang.sdk.coverage import model_coverage
from pllm_lang.sdk.passes import PlanPass
from pllm_lang.sdk.pipeline import Pipeline
from pllm_lang.sdk.view import Immutable, fill


def lower_model(
    config: Mapping[str, Any] | bytes | str, *, batch: int, max_input_tokens: int, max_new_tokens: int
) -> ModelPlan:
    """The plan of a `config.json` (a mapping, or its bytes or text) for `batch` sequences at once, of at most
    `max_input_tokens` and `max_new_tokens` each.

    Raises `LoweringError`, whose `code` starts with `config.` or `workload.`, for every key that would change
    the model and is not supported.
    """
    if not isinstance(config, Mapping | bytes | str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"config must be a mapping, bytes or text, not {type(config).__name__}")
    lowered = lower(config, batch=batch, max_input_tokens=max_input_tokens, max_new_tokens=max_new_tokens)
    text = (
        config
        if isinstance(config, bytes | str)
        else json.dumps(dict(config), ensure_ascii=False, default=dict)
    )
    plan = object.__new__(ModelPlan)
    fill(plan, graph=lowered.graph, notes=lowered.notes, _source=PlanSource(text, lowered.graph))
    return plan


class ModelPlan(Immutable):
    """A semantic graph for prefill and one for decode, made by `lower_model` and `apply` only.

    `notes` say which keys of the config had no effect or are unknown.
    """

    __slots__ = ("_source", "graph", "notes")
    graph: ModelGraph
    notes: tuple[Note, ...]
    _source: PlanSource

    def __init__(self, *_: object, **__: object) -> None:
        raise TypeError("a ModelPlan is made by lower_model() and apply() only")

    @property
    def digest(self) -> str:
        """64 hexadecimal digits over `canonical_bytes`."""
        return graph_digest(self.graph)

    def canonical_bytes(self) -> bytes:
        """The graph as canonical JSON (RFC 8785)."""
        return canonical_bytes(self.graph)

    def to_dict(self) -> dict[str, Any]:
        """The graph as a JSON value of its own; equal layers stand once, with the list of their indices."""
        return json.loads(msgspec.json.encode(self.graph))

    def apply(self, component: PlanPass) -> ModelPlan:
        """The plan that a pass makes of this one, which stays as it is; its lineage is in the graph.

        Raises `LoweringError` with a code `pass.…`, such as `pass.applied_twice` or `pass.state`.
        """
        if not isinstance(component, PlanPass):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"component must be a PlanPass, not {type(component).__name__}")
        plan = object.__new__(ModelPlan)
        source = self._source
        passes = (*source.passes, component.to_spec())
        fill(
            plan,
            graph=component.transform(self.graph),
            notes=self.notes,
            _source=msgspec.structs.replace(source, passes=passes),
        )
        return plan

    def coverage(self, pipeline: Pipeline | None = None) -> Coverage:
        """What `pipeline` covers of the model, and every operator, bound, role and record that it lacks.

        Without a pipeline, the methods that the library has for each operator. `complete` is False always: it
        takes `pllm check` of an experiment to know.
        """
        return model_coverage(self.graph, pipeline)

    def decoder_plan(self, *, lossy: bool = False) -> DecoderPlan:
        """The same plan as a `pllm.decoder_plan.v1` document of the pllm.run SDK.

        Raises `ConfigRefused` for a model that this format has not, and `NotFaithful` where it would say
        something else (only for passes it does not know if `lossy`).
        """
        return decoder_plan(self, lossy=lossy)

    def decoder_source(self) -> PlanSource:
        """What `pllm_lang.interchange.decoder_plan` makes the document from."""
        return self._source

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModelPlan) and self.graph == other.graph

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        size = self.graph.dimensions
        return f"<ModelPlan {self.graph.config.family}, {size.layers} layers, hidden {size.hidden}, {self.digest[:12]}>"
