"""What every pass does at its start and end: refuse a second application, record itself, check the
hand-over."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from pllm_lang.models.digest import graph_digest
from pllm_lang.models.errors import LoweringError
from pllm_lang.models.graph import Attribute, ModelGraph, Transformation
from pllm_lang.models.handover import check_handover


def begin(graph: ModelGraph, name: str) -> None:
    """Refuse a second application, and a graph whose states do not fit in the first place."""
    if any(done.name == name for done in graph.transformations):
        raise LoweringError("pass.applied_twice", f"{name} is already applied to this graph")
    check_handover(graph)


def record(
    before: ModelGraph, after: ModelGraph, name: str, parameters: Mapping[str, Attribute]
) -> ModelGraph:
    """`after` with the pass in its lineage, once its states are known to fit."""
    check_handover(after)
    step = Transformation(name, parameters, graph_digest(before))
    return msgspec.structs.replace(after, transformations=(*before.transformations, step))
