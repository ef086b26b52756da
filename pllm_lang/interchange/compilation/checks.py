"""Everything about a request that is wrong before any method is chosen, all of it at once.

In: a typed request. Out: diagnostics, one for each fault of context, contract, identities, evidence and
region. Codes and subjects are those of the SDK's compiler; the wording is ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from pllm_lang.interchange.canonical import digest
from pllm_lang.interchange.compilation.graphs import GraphDigests, graph_digests
from pllm_lang.interchange.compilation.request import (
    ASSURANCE_SCHEMA,
    CONTEXT_SCHEMA,
    CONTRACT_SCHEMA,
    AssuranceResult,
    CompileRequest,
    RegionOperation,
    Tensor,
    identity,
    input_of,
)
from pllm_lang.interchange.errors import Diagnostic

PORTABLE = re.compile(r"[A-Za-z0-9._:/-]{1,128}")
PIPELINE_DOMAIN = "pllm.pipeline.v2"
CONTRACT_DOMAIN = "pllm.privacy_contract.v1"
ASSURANCE_DOMAIN = "pllm.assurance_result.v1"


def check_request(request: CompileRequest) -> Iterator[Diagnostic]:
    """Yield every fault of `request` outside of the choice of methods."""
    yield from _context(request)
    yield from _contract(request)
    yield from _identities(request)
    yield from _evidence(request)
    yield from _region(request)


def _context(request: CompileRequest) -> Iterator[Diagnostic]:
    context = request.context
    if context.schema_version != CONTEXT_SCHEMA:
        yield Diagnostic("E_INVALID_CONTEXT", "locked_context", f"schema_version must be {CONTEXT_SCHEMA}")
    if not all(PORTABLE.fullmatch(name) for name in _context_names(request)):
        why = "an identity is empty, too long or has other characters than letters, digits and ._:/-"
        yield Diagnostic("E_INVALID_CONTEXT", "locked_context", why)
    if digest(PIPELINE_DOMAIN, request.configuration["pipeline"]) != context.composition_digest:
        why = "composition_digest is not that of the configured pipeline"
        yield Diagnostic("E_INVALID_CONTEXT", "configuration.pipeline", why)
    others = [plan.role for plan in context.static_role_plans]
    expected = [role for role in context.roles if role != context.execution_role]
    is_ordered = _strictly_sorted(context.roles) and context.execution_role in context.roles
    if not is_ordered or others != expected:
        why = (
            "roles must be sorted and unique; every role but the executing one needs a static plan, in order"
        )
        yield Diagnostic("E_INVALID_CONTEXT", "roles", why)
    if not _strictly_sorted([(ref.id, ref.digest) for ref in context.material_requests]):
        yield Diagnostic("E_INVALID_CONTEXT", "material_requests", "must be sorted and unique")
    bound = GraphDigests(
        context.semantic_graph.digest, context.numeric_graph.digest, context.protected_graph.digest
    )
    if bound != graph_digests(request):
        yield Diagnostic("E_INVALID_CONTEXT", "region_graphs", "a graph digest is not that of the region")


def _context_names(request: CompileRequest) -> Iterable[str]:
    context = request.context
    references = (
        context.model,
        context.tokenizer,
        context.semantic_graph,
        context.numeric_graph,
        context.protected_graph,
        context.privacy_contract,
        context.workload,
        context.target,
        context.resource_forecast,
        *context.material_requests,
    )
    roles = (plan.role for plan in context.static_role_plans)
    names = (context.compiler.id, context.compiler.version, context.execution_role)
    return (*(reference.id for reference in references), *names, *roles)


def _contract(request: CompileRequest) -> Iterator[Diagnostic]:
    contract, bound = request.privacy_contract, request.context.privacy_contract
    found = digest(CONTRACT_DOMAIN, msgspec.to_builtins(contract))
    if contract.schema_version != CONTRACT_SCHEMA or (contract.id, found) != (bound.id, bound.digest):
        yield Diagnostic("E_INVALID_CONTRACT", contract.id, "is not the contract that the context binds")
    if contract.online_parties == 0:
        yield Diagnostic("E_INVALID_CONTRACT", contract.id, "online_parties must be above zero")
    claims = contract.required_claims
    accept = all(claim.accepted_outcomes and claim.accepted_implementation_refinements for claim in claims)
    named = all(PORTABLE.fullmatch(claim.claim_id) for claim in claims)
    if not (accept and named and _strictly_sorted([claim.claim_id for claim in claims])):
        why = "claims must be sorted by unique portable ids, each accepting some outcome and some refinement"
        yield Diagnostic("E_INVALID_CONTRACT", contract.id, why)


def _identities(request: CompileRequest) -> Iterator[Diagnostic]:
    for step in request.operations:
        yield from _portable("E_INVALID_ID", step.id, step.id)
    for found in (*request.methods, *request.kernels):
        yield from _portable("E_INVALID_ID", found.id, found.id)
        yield from _portable("E_INVALID_VERSION", found.version, found.id)
    yield from _duplicates("operation", [step.id for step in request.operations])
    yield from _duplicates("method", list(map(identity, request.methods)))
    yield from _duplicates("kernel", list(map(identity, request.kernels)))
    yield from _duplicates("assurance result", [result.id for result in request.assurance_results])
    methods = set(map(identity, request.methods))
    for kernel in request.kernels:
        if f"{kernel.method_id}@{kernel.method_version}" not in methods:
            yield Diagnostic("E_UNKNOWN_METHOD", identity(kernel), "names a method that is not declared")


def _portable(code: str, name: str, subject: str) -> Iterator[Diagnostic]:
    if not PORTABLE.fullmatch(name):
        yield Diagnostic(code, subject, "must be 1 to 128 letters, digits or ._:/-")


def _duplicates(what: str, names: Sequence[str]) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield Diagnostic("E_DUPLICATE_ID", name, f"this {what} is declared twice")
        seen.add(name)


def _evidence(request: CompileRequest) -> Iterator[Diagnostic]:
    for result in request.assurance_results:
        if not _is_sound(result):
            why = f"is no valid {ASSURANCE_SCHEMA}: an entry is empty or malformed"
            yield Diagnostic("E_INVALID_ASSURANCE", result.id, why)
    results = {result.id: result for result in request.assurance_results}
    # of two with one name, the first method or kernel counts, but the last result
    methods = {identity(method): method for method in reversed(request.methods)}
    kernels = {identity(kernel): kernel for kernel in reversed(request.kernels)}
    seen: set[tuple[str, str, str]] = set()
    for binding in request.candidate_evidence:
        method_name = f"{binding.method_id}@{binding.method_version}"
        kernel_name = f"{binding.kernel_id}@{binding.kernel_version}"
        subject = f"{method_name}/{kernel_name}"
        pair = (subject, binding.method_artifact_digest, binding.kernel_artifact_digest)
        if pair in seen:
            yield Diagnostic("E_DUPLICATE_ID", subject, "evidence for this pair is given twice")
        seen.add(pair)
        method, kernel = methods.get(method_name), kernels.get(kernel_name)
        if method is None or kernel is None:
            yield Diagnostic(
                "E_INVALID_ASSURANCE", subject, "evidence for a method or kernel that is not declared"
            )
        elif (binding.method_artifact_digest, binding.kernel_artifact_digest) != (
            method.artifact_digest,
            kernel.artifact_digest,
        ):
            yield Diagnostic("E_INVALID_ASSURANCE", subject, "evidence for another artifact")
        names = [reference.id for reference in binding.assurance_results]
        if len(set(names)) < len(names):
            yield Diagnostic("E_DUPLICATE_ID", subject, "an assurance result is referenced twice")
        for reference in binding.assurance_results:
            result = results.get(reference.id)
            if result is None:
                yield Diagnostic(
                    "E_UNKNOWN_EVIDENCE", subject, f"assurance result {reference.id} is not given"
                )
            elif digest(ASSURANCE_DOMAIN, msgspec.to_builtins(result)) != reference.digest:
                why = f"assurance result {reference.id} has another digest"
                yield Diagnostic("E_INVALID_ASSURANCE", subject, why)


def _is_sound(result: AssuranceResult) -> bool:
    texts = (result.scope, result.tool, result.tool_version, *result.assumptions, *result.evidence_paths)
    portable = all(PORTABLE.fullmatch(name) for name in (result.id, result.claim_id))
    return result.schema_version == ASSURANCE_SCHEMA and portable and all(texts)


def _region(request: CompileRequest) -> Iterator[Diagnostic]:
    steps = request.operations
    if not steps:
        yield Diagnostic("E_INCOMPLETE_STEP", "compile_request", "the region has no operation")
        return
    held = request.input_representation
    for index, step in enumerate(steps):
        if step.input_representation != held:
            yield Diagnostic(
                "E_REPRESENTATION", step.id, f"takes {step.input_representation}, but gets {held}"
            )
        held = step.output_representation
        yield from _tensor(step, input_of(request, index))
    if (steps[-1].output, held) != (request.output, request.output_representation):
        yield Diagnostic(
            "E_INCOMPLETE_STEP", "compile_request", "the last operation does not give the declared output"
        )


def _tensor(step: RegionOperation, source: Tensor) -> Iterator[Diagnostic]:
    if step.operator == "unsupported":
        yield Diagnostic("E_UNSUPPORTED_OPERATOR", step.id, "no method can run this operator")
    elif step.operator == "linear" and not _is_linear(source, step.output):
        why = "a linear operation takes wrap32 [batch, in] to wrap32 [batch, out], in and out above zero"
        yield Diagnostic("E_INVALID_TENSOR", step.id, why)
    elif step.operator == "conversion" and source != step.output:
        yield Diagnostic("E_INVALID_TENSOR", step.id, "a conversion must keep shape and number format")


def _is_linear(source: Tensor, target: Tensor) -> bool:
    ranks = len(source.shape) == 2 and len(target.shape) == 2
    wrap = source.numeric == target.numeric == "wrap32"
    return (
        ranks and wrap and source.shape[0] == target.shape[0] and source.shape[1] > 0 and target.shape[1] > 0
    )


def _strictly_sorted(values: Sequence[Any]) -> bool:
    return all(low < high for low, high in pairwise(values))
