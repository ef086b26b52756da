"""What of a model a pipeline covers: the coverage report of a `ModelPlan`.

In: a semantic graph, and a pipeline or none. Out: the report. The rows are made by `artifacts/coverage_model.py`, which
the command line uses as well.
"""

from __future__ import annotations

from pllm_lang.artifacts.coverage_model import Composition, Slot
from pllm_lang.artifacts.coverage_model import model_coverage as composition_coverage
from pllm_lang.artifacts.coverage_report import Coverage
from pllm_lang.catalog.expr import Ref
from pllm_lang.models.graph import ModelGraph
from pllm_lang.sdk.library import shipped_library
from pllm_lang.sdk.pipeline import Pipeline
from pllm_lang.sdk.profiles import Profile


def model_coverage(graph: ModelGraph, pipeline: Pipeline | None) -> Coverage:
    """The report; never `complete`."""
    return composition_coverage(
        graph, shipped_library(), None if pipeline is None else _composition(pipeline)
    )


def _composition(pipeline: Pipeline) -> Composition:
    slots = tuple(
        Slot(name, used.component, shipped_library().by_id(used.component))
        for name, used in pipeline.components.items()
    )
    stated = pipeline.record.fields.get("everything_else") if isinstance(pipeline, Profile) else None
    return Composition(slots, shipped_library().component(stated.name) if isinstance(stated, Ref) else None)
