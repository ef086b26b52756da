"""The one protected nonlinear region that the compiler knows: SiLU in Q7 by arithmetic garbling.

In: a request with a silu operation. Out: diagnostics. The SDK accepts exactly its own installed method,
kernel, compiler and graph identities here; they are facts of that release.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from pllm_lang.interchange.compilation.request import (
    CompileRequest,
    Kernel,
    Method,
    Properties,
    VersionedReference,
    input_of,
)
from pllm_lang.interchange.errors import Diagnostic
from pllm_lang.interchange.reading import U64_MAX

COMPILER = VersionedReference(
    id="pllm-compiler",
    version="0.1.0-alpha.2",
    digest="6db5d32b7d14697241ca457edcd6350f7c68710d5df3a24b4bb5a46a5645f8b8",
)
NUMERIC_GRAPH = "pllm.numeric.silu.quadratic_q7.v1"
PROTECTED_GRAPH = "pllm.protected.arithmetic_garbling.silu_q7.v1"
METHOD = Method(
    id="arithmetic-garbling-silu-q7",
    version="1",
    operator="silu",
    input_representation="arithmetic_label",
    output_representation="arithmetic_label",
    properties=Properties(
        online_parties=1,
        uses_he=False,
        needs_client_weights=False,
        needs_online_preparation=False,
        experimental=True,
    ),
    artifact_digest="7eefe8d4eb9beb4c8ebc3909313a9559124974562ce52bb1ca3fd8c580672c41",
)
KERNEL = Kernel(
    id="pllm-garble-silu-quadratic-q7",
    version="1",
    method_id=METHOD.id,
    method_version="1",
    implementation="pllm_garble_silu_quadratic_q7",
    input_numeric="signed_fixed_q7",
    output_numeric="signed_fixed_q7",
    artifact_digest="10cdf40ecacc6e48a5b86f350b5280724c4a80fdb451e234d011ec5ccdcf2df3",
)
MAX_ELEMENTS = 128
SCHEDULE = "configuration.pipeline.components.nonlinear_schedule"


def check_silu(request: CompileRequest) -> Iterator[Diagnostic]:
    """Yield every fault of the silu operations of `request`; nothing if it has none."""
    if not any(step.operator == "silu" for step in request.operations):
        return
    yield from _installed(request)
    if len(request.operations) > 1:
        yield Diagnostic("E_NOT_IMPLEMENTED", "region", "Q7 SiLU runs alone in its region only")
    limit = request.configuration["pipeline"]["components"]["nonlinear_schedule"]["params"]["max_elements"]
    for index, step in enumerate(request.operations):
        if step.operator == "silu":
            yield from _elements(request, index, limit)


def is_installed(method: Method, kernel: Kernel) -> bool:
    """Whether a pair for silu is described exactly as the SDK has it installed."""
    return (method, kernel) == (METHOD, KERNEL)


def _installed(request: CompileRequest) -> Iterator[Diagnostic]:
    context = request.context
    if context.compiler != COMPILER:
        yield Diagnostic(
            "E_INVALID_CONTEXT", "compiler", f"Q7 SiLU is compiled by {COMPILER.id} {COMPILER.version} only"
        )
    for subject, found, wanted in (
        ("numeric_graph", context.numeric_graph.id, NUMERIC_GRAPH),
        ("protected_graph", context.protected_graph.id, PROTECTED_GRAPH),
    ):
        if found != wanted:
            yield Diagnostic("E_INVALID_CONTEXT", subject, f"Q7 SiLU needs the identity {wanted}")


def _elements(request: CompileRequest, index: int, limit: int) -> Iterator[Diagnostic]:
    step, source = request.operations[index], input_of(request, index)
    labels = step.input_representation == step.output_representation == "arithmetic_label"
    count = prod(step.output.shape)
    if (
        source != step.output
        or source.numeric != "signed_fixed_q7"
        or not labels
        or not (source.shape and count)
    ):
        why = "Q7 SiLU keeps the shape of a nonempty signed_fixed_q7 tensor in arithmetic_label"
        yield Diagnostic("E_INVALID_TENSOR", step.id, why)
    elif count > U64_MAX:
        yield Diagnostic("E_INVALID_TENSOR", step.id, "the number of elements does not fit 64 bits")
    elif count > MAX_ELEMENTS:
        yield Diagnostic(
            "E_INVALID_TENSOR", step.id, f"Q7 SiLU takes at most {MAX_ELEMENTS} elements, not {count}"
        )
    if count % (U64_MAX + 1) > limit:
        # The SDK counts in 64 bits that wrap: an overflowing shape may pass here, and is stopped above.
        yield Diagnostic("E_INVALID_CONTEXT", SCHEDULE, f"permits {limit} elements, the region has {count}")
