"""Model families: a published config to the semantic graph of its decoder, and passes from graph to graph."""

from __future__ import annotations

from pllm_lang.models.digest import graph_digest
from pllm_lang.models.errors import LoweringError, Note
from pllm_lang.models.graph import ModelGraph
from pllm_lang.models.lower import Lowering, lower_model
from pllm_lang.models.parameters import parameter_count

__all__ = [
    "Lowering",
    "LoweringError",
    "ModelGraph",
    "Note",
    "graph_digest",
    "lower_model",
    "parameter_count",
]
