"""The three graph digests that bind a region: what it computes, in which numbers, in which representations.

In: a compile request. Out: digests. Each graph names the one before it, so a change of shape changes all
three.
"""

from __future__ import annotations

import msgspec

from pllm_lang.interchange.canonical import digest
from pllm_lang.interchange.compilation.request import CompileRequest


class GraphDigests(msgspec.Struct, frozen=True):
    """The digests that the context of a request must carry."""

    semantic: str
    numeric: str
    protected: str


def graph_digests(request: CompileRequest) -> GraphDigests:
    """The digests of the region of `request`."""
    semantic = digest(
        "pllm.semantic_region.v1",
        {
            "input_shape": request.input.shape,
            "output_shape": request.output.shape,
            "operations": [
                {"id": step.id, "operator": step.operator, "output_shape": step.output.shape}
                for step in request.operations
            ],
        },
    )
    numeric = digest(
        "pllm.numeric_region.v1",
        {
            "semantic_graph_digest": semantic,
            "input_numeric": request.input.numeric,
            "output_numeric": request.output.numeric,
            "operations": [{"output_numeric": step.output.numeric} for step in request.operations],
        },
    )
    protected = digest(
        "pllm.protected_region.v1",
        {
            "numeric_graph_digest": numeric,
            "input_representation": request.input_representation,
            "output_representation": request.output_representation,
            "operations": [
                {
                    "input_representation": step.input_representation,
                    "output_representation": step.output_representation,
                }
                for step in request.operations
            ],
        },
    )
    return GraphDigests(semantic, numeric, protected)
