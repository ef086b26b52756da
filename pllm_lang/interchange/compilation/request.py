"""The document `pllm.compile_request.v2` as Structs: every key is declared, none beyond them is taken.

In: nothing. Out: types. A request binds a configuration to one region (a chain of operations), the methods
and kernels that may run it, and the evidence for them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from pllm_lang.interchange.decoder.fields import U64

SCHEMA = "pllm.compile_request.v2"
CONTEXT_SCHEMA = "pllm.locked_context.v2"
CONTRACT_SCHEMA = "pllm.privacy_contract.v1"
ASSURANCE_SCHEMA = "pllm.assurance_result.v1"

Digest: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$", max_length=64)]
U16: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**16 - 1)]
Operator: TypeAlias = Literal["linear", "silu", "conversion", "unsupported"]
Representation: TypeAlias = Literal[
    "public",
    "client_plaintext",
    "masked_ring",
    "arithmetic_label",
    "boolean_label",
    "additive_share",
    "ciphertext",
    "attested_plaintext",
]
Numeric: TypeAlias = Literal[
    "wrap32",
    "signed_fixed16",
    "signed_fixed_q7",
    "signed_fixed_q10",
    "signed_fixed_q20",
    "unsigned_fixed_q30",
    "token_id_u32",
]
Implementation: TypeAlias = Literal[
    "pllm_core_matrix_wrap32", "pllm_garble_silu_quadratic_q7", "explicit_representation_conversion"
]
Outcome: TypeAlias = Literal[
    "proved_in_model", "refuted_in_scope", "not_refuted", "inconclusive", "outside_contract", "unchecked"
]
Origin: TypeAlias = Literal[
    "solver_executed", "adversary_executed", "source_reported", "human_review", "not_run"
]
Refinement: TypeAlias = Literal["not_established", "tested_differential", "proved_for_locked_code"]


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A document object without further keys."""


class Reference(_Strict, frozen=True):
    """Something named and bound by digest."""

    id: str
    digest: Digest


class VersionedReference(_Strict, frozen=True):
    """Something named, versioned and bound by digest."""

    id: str
    version: str
    digest: Digest


class RolePlan(_Strict, frozen=True):
    """The program of a role that this request does not compile."""

    role: str
    digest: Digest


class Context(_Strict, frozen=True):
    """What is locked before compilation."""

    schema_version: str
    composition_digest: Digest
    model: Reference
    tokenizer: Reference
    semantic_graph: Reference
    numeric_graph: Reference
    protected_graph: Reference
    roles: tuple[str, ...]
    privacy_contract: Reference
    workload: Reference
    target: Reference
    material_requests: tuple[Reference, ...]
    resource_forecast: Reference
    compiler: VersionedReference
    execution_role: str
    static_role_plans: tuple[RolePlan, ...]


class Claim(_Strict, frozen=True):
    """A claim that needs evidence, and which evidence is good enough."""

    claim_id: str
    accepted_outcomes: tuple[Outcome, ...]
    accepted_implementation_refinements: tuple[Refinement, ...]


class Contract(_Strict, frozen=True):
    """The privacy contract."""

    schema_version: str
    id: str
    online_parties: U16
    allow_he: bool
    allow_client_weights: bool
    allow_online_preparation: bool
    allow_experimental: bool
    required_claims: tuple[Claim, ...]


class Tensor(_Strict, frozen=True):
    """Shape and number format of a value."""

    shape: tuple[U64, ...]
    numeric: Numeric


class RegionOperation(_Strict, frozen=True):
    """One operation of the chain; it reads what the one before wrote."""

    id: str
    operator: Operator
    output: Tensor
    input_representation: Representation
    output_representation: Representation


class Properties(_Strict, frozen=True):
    """What a method asks of the contract."""

    online_parties: U16
    uses_he: bool
    needs_client_weights: bool
    needs_online_preparation: bool
    experimental: bool


class Method(_Strict, frozen=True):
    """A way to run one operator in one pair of representations."""

    id: str
    version: str
    operator: Operator
    input_representation: Representation
    output_representation: Representation
    properties: Properties
    artifact_digest: Digest


class Kernel(_Strict, frozen=True):
    """Code that runs a method."""

    id: str
    version: str
    method_id: str
    method_version: str
    implementation: Implementation
    input_numeric: Numeric
    output_numeric: Numeric
    artifact_digest: Digest


class AssuranceResult(_Strict, frozen=True):
    """One piece of evidence for one claim."""

    schema_version: str
    id: str
    claim_id: str
    outcome: Outcome
    implementation_refinement: Refinement
    origin: Origin
    scope: str
    tool: str
    tool_version: str
    assumptions: tuple[str, ...]
    evidence_paths: tuple[str, ...]
    code_digest: Digest | None


class CandidateEvidence(_Strict, frozen=True):
    """The evidence of one pair of method and kernel."""

    method_id: str
    method_version: str
    method_artifact_digest: Digest
    kernel_id: str
    kernel_version: str
    kernel_artifact_digest: Digest
    assurance_results: tuple[Reference, ...]


class CompileRequest(_Strict, frozen=True):
    """The whole request; `configuration` is a `pllm.experiment.v2` document."""

    schema_version: str
    configuration: dict[str, Any]
    context: Context
    privacy_contract: Contract
    input: Tensor
    input_representation: Representation
    output: Tensor
    output_representation: Representation
    operations: tuple[RegionOperation, ...]
    methods: tuple[Method, ...]
    kernels: tuple[Kernel, ...]
    assurance_results: tuple[AssuranceResult, ...]
    candidate_evidence: tuple[CandidateEvidence, ...]


def input_of(request: CompileRequest, index: int) -> Tensor:
    """What operation `index` reads."""
    return request.operations[index - 1].output if index else request.input


def identity(found: Method | Kernel) -> str:
    """`id@version` of a method or kernel."""
    return f"{found.id}@{found.version}"
