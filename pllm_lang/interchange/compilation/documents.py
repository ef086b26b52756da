"""The four documents of a compiled region: logical plan, execution plan, lock and region program.

In: a request and the choice for each operation. Out: the documents with canonical bytes and digests. Each
names the one before it by digest; the lock binds them all.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pllm_lang.interchange.canonical import canonical_bytes, digest, digest_bytes
from pllm_lang.interchange.compilation.request import CompileRequest, Reference, input_of
from pllm_lang.interchange.compilation.selection import Choice

LOGICAL_SCHEMA = "pllm.logical_plan.v2"
EXECUTION_SCHEMA = "pllm.execution_plan.v1"
LOCK_SCHEMA = "pllm.plan_lock.v1"
PROGRAM_SCHEMA = "pllm.region_program.v1"


class CompiledRegion(msgspec.Struct, frozen=True):
    """What `compile_request` gives: canonical bytes of the four documents, their digests, and the region's
    shapes.
    """

    logical_plan: bytes
    execution_plan: bytes
    plan_lock: bytes
    region_program: bytes
    configuration_digest: str
    logical_plan_digest: str
    execution_plan_digest: str
    plan_lock_digest: str
    region_program_digest: str
    input_shape: tuple[int, ...]
    output_shape: tuple[int, ...]


def write_documents(request: CompileRequest, choices: tuple[Choice, ...]) -> CompiledRegion:
    """Write the documents of `request` run as `choices` say."""
    configuration = digest("pllm.configuration.v1", request.configuration)
    logical, logical_digest = _sealed(LOGICAL_SCHEMA, _logical(request, configuration))
    program, program_digest = _sealed(PROGRAM_SCHEMA, _program(request, choices, logical_digest))
    plan = _execution(request, choices, logical_digest, program_digest)
    execution, execution_digest = _sealed(EXECUTION_SCHEMA, plan)
    lock = _lock(request, choices, configuration, logical_digest, execution_digest)
    lock_bytes, lock_digest = _sealed(LOCK_SCHEMA, lock)
    return CompiledRegion(
        logical_plan=logical,
        execution_plan=execution,
        plan_lock=lock_bytes,
        region_program=program,
        configuration_digest=configuration,
        logical_plan_digest=logical_digest,
        execution_plan_digest=execution_digest,
        plan_lock_digest=lock_digest,
        region_program_digest=program_digest,
        input_shape=request.input.shape,
        output_shape=request.output.shape,
    )


def execution_slots(request: CompileRequest, choices: tuple[Choice, ...]) -> list[dict[str, Any]]:
    """The components of the execution plan by slot, sorted."""
    slots = [
        {
            "slot": f"{step.id}.{part}",
            "component": used.id,
            "version": used.version,
            "artifact_digest": used.artifact_digest,
        }
        for step, choice in zip(request.operations, choices, strict=True)
        for part, used in (("method", choice.method), ("kernel", choice.kernel))
    ]
    return sorted(slots, key=lambda slot: slot["slot"])


def _sealed(schema: str, document: dict[str, Any]) -> tuple[bytes, str]:
    data = canonical_bytes({"schema_version": schema, **document})
    return data, digest_bytes(schema, data)


def _logical(request: CompileRequest, configuration: str) -> dict[str, Any]:
    context = msgspec.to_builtins(request.context)
    kept = (
        "composition_digest",
        "model",
        "tokenizer",
        "semantic_graph",
        "numeric_graph",
        "protected_graph",
        "roles",
        "privacy_contract",
        "workload",
    )
    return {
        "configuration_digest": configuration,
        **{key: context[key] for key in kept},
        "required_claim_ids": [claim.claim_id for claim in request.privacy_contract.required_claims],
    }


def _program(request: CompileRequest, choices: tuple[Choice, ...], logical_digest: str) -> dict[str, Any]:
    plain = msgspec.to_builtins
    steps = [
        {
            "operation_id": step.id,
            "operator": step.operator,
            "input": plain(input_of(request, index)),
            "output": plain(step.output),
            "input_representation": step.input_representation,
            "output_representation": step.output_representation,
            "method": plain(choice.method),
            "kernel": plain(choice.kernel),
        }
        for index, (step, choice) in enumerate(zip(request.operations, choices, strict=True))
    ]
    return {
        "logical_plan_digest": logical_digest,
        "execution_role": request.context.execution_role,
        "input": plain(request.input),
        "input_representation": request.input_representation,
        "output": plain(request.output),
        "output_representation": request.output_representation,
        "steps": steps,
    }


def _execution(
    request: CompileRequest, choices: tuple[Choice, ...], logical_digest: str, program_digest: str
) -> dict[str, Any]:
    context = msgspec.to_builtins(request.context)
    own = {"role": request.context.execution_role, "digest": program_digest}
    conversions = [
        {"id": step.id, "digest": choice.kernel.artifact_digest}
        for step, choice in zip(request.operations, choices, strict=True)
        if step.operator == "conversion"
    ]
    return {
        "logical_plan_digest": logical_digest,
        "target": context["target"],
        "components": execution_slots(request, choices),
        "conversions": sorted(conversions, key=lambda found: (found["id"], found["digest"])),
        "role_plans": sorted([*context["static_role_plans"], own], key=lambda plan: plan["role"]),
        "material_requests": context["material_requests"],
        "resource_forecast": context["resource_forecast"],
        "evidence_references": _evidence(choices),
    }


def _lock(
    request: CompileRequest,
    choices: tuple[Choice, ...],
    configuration: str,
    logical_digest: str,
    execution_digest: str,
) -> dict[str, Any]:
    context = request.context
    used = {
        (part.id, part.version, part.artifact_digest)
        for choice in choices
        for part in (choice.method, choice.kernel)
    }
    return {
        "configuration_digest": configuration,
        "logical_plan_digest": logical_digest,
        "execution_plan_digest": execution_digest,
        "model_digest": context.model.digest,
        "tokenizer_digest": context.tokenizer.digest,
        "numeric_graph_digest": context.numeric_graph.digest,
        "privacy_contract_digest": context.privacy_contract.digest,
        "workload_digest": context.workload.digest,
        "compiler": msgspec.to_builtins(context.compiler),
        "components": [
            {"id": id, "version": version, "digest": found} for id, version, found in sorted(used)
        ],
        "evidence_references": _evidence(choices),
    }


def _evidence(choices: tuple[Choice, ...]) -> list[dict[str, str]]:
    used: set[Reference] = {reference for choice in choices for reference in choice.evidence}
    ordered = sorted(used, key=lambda reference: (reference.id, reference.digest))
    return [{"id": reference.id, "digest": reference.digest} for reference in ordered]
