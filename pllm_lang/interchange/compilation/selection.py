"""Which method and kernel run each operation, and why the others do not.

In: a request without other faults. Out: for each operation the pair and its evidence, or diagnostics. Among
the pairs that pass, the first by (method id, method version, kernel id, kernel version) as text wins, which
puts version 10 before version 2; the SDK does it so, and digests depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pllm_lang.interchange.compilation.request import (
    AssuranceResult,
    Claim,
    CompileRequest,
    Contract,
    Kernel,
    Method,
    Reference,
    RegionOperation,
    Tensor,
    identity,
    input_of,
)
from pllm_lang.interchange.compilation.silu import is_installed
from pllm_lang.interchange.errors import Diagnostic

IMPLEMENTATIONS = {
    "linear": "pllm_core_matrix_wrap32",
    "silu": "pllm_garble_silu_quadratic_q7",
    "conversion": "explicit_representation_conversion",
}


class Choice(msgspec.Struct, frozen=True):
    """The pair that runs one operation, with the evidence for it."""

    method: Method
    kernel: Kernel
    evidence: tuple[Reference, ...]


class Candidates(msgspec.Struct, frozen=True):
    """The pairs that can run one operation, best first; or, if there are none, why."""

    passed: tuple[Choice, ...]
    faults: tuple[Diagnostic, ...]


def candidates(request: CompileRequest) -> tuple[Candidates, ...]:
    """The candidates of each operation of `request`."""
    return tuple(
        _candidates(request, step, input_of(request, n)) for n, step in enumerate(request.operations)
    )


def _candidates(request: CompileRequest, step: RegionOperation, source: Tensor) -> Candidates:
    methods = [method for method in request.methods if method.operator == step.operator]
    if not methods:
        fault = Diagnostic("E_NOT_IMPLEMENTED", step.id, "no declared method runs this operator")
        return Candidates((), (fault,))
    passed: list[Choice] = []
    faults: list[Diagnostic] = []
    for method in methods:
        refused = list(_contract_faults(method, request.privacy_contract))
        kernels = [kernel for kernel in request.kernels if _kernel_fits(kernel, method, source, step)]
        if not refused and not kernels:
            refused = [
                Diagnostic("E_NOT_IMPLEMENTED", identity(method), "no declared kernel fits this method here")
            ]
        faults += refused
        for kernel in () if refused else kernels:
            evidence = _evidence(request, method, kernel)
            refused = list(_pair_faults(request, step, method, kernel, evidence))
            faults += refused
            if not refused:
                passed.append(Choice(method, kernel, evidence))
    wanted = (step.input_representation, step.output_representation)
    fitting = [choice for choice in passed if _representations(choice.method) == wanted]
    if passed and not fitting:
        why = f"no method takes {wanted[0]} to {wanted[1]}; add a conversion"
        faults.append(Diagnostic("E_REPRESENTATION", step.id, why))
    return Candidates(tuple(sorted(fitting, key=_order)), () if fitting else tuple(faults))


def _representations(method: Method) -> tuple[str, str]:
    return (method.input_representation, method.output_representation)


def _pair_faults(
    request: CompileRequest,
    step: RegionOperation,
    method: Method,
    kernel: Kernel,
    evidence: tuple[Reference, ...],
) -> Iterator[Diagnostic]:
    if step.operator == "silu" and not is_installed(method, kernel):
        yield Diagnostic("E_INVALID_CONTRACT", method.id, "is not described as the SDK has it installed")
    else:
        yield from _evidence_faults(request, method, kernel, evidence)


def _order(choice: Choice) -> tuple[str, str, str, str]:
    return (choice.method.id, choice.method.version, choice.kernel.id, choice.kernel.version)


def _contract_faults(method: Method, contract: Contract) -> Iterator[Diagnostic]:
    asks, subject = method.properties, identity(method)
    if asks.online_parties != contract.online_parties:
        why = f"runs with {asks.online_parties} online parties, the contract has {contract.online_parties}"
        yield Diagnostic("E_PARTY_MISMATCH", subject, why)
    for code, asked, allowed, what in (
        ("E_HE_FORBIDDEN", asks.uses_he, contract.allow_he, "homomorphic encryption"),
        (
            "E_CLIENT_WEIGHTS",
            asks.needs_client_weights,
            contract.allow_client_weights,
            "weights at the client",
        ),
        (
            "E_ONLINE_PREPARATION",
            asks.needs_online_preparation,
            contract.allow_online_preparation,
            "preparation while online",
        ),
        ("E_EXPERIMENTAL", asks.experimental, contract.allow_experimental, "an experimental method"),
    ):
        if asked and not allowed:
            yield Diagnostic(code, subject, f"needs {what}, which the contract forbids")


def _kernel_fits(kernel: Kernel, method: Method, source: Tensor, step: RegionOperation) -> bool:
    return (
        (kernel.method_id, kernel.method_version) == (method.id, method.version)
        and (kernel.input_numeric, kernel.output_numeric) == (source.numeric, step.output.numeric)
        and kernel.implementation == IMPLEMENTATIONS[step.operator]
    )


def _evidence(request: CompileRequest, method: Method, kernel: Kernel) -> tuple[Reference, ...]:
    pair = (method.id, method.version, kernel.id, kernel.version)
    for binding in request.candidate_evidence:
        if (binding.method_id, binding.method_version, binding.kernel_id, binding.kernel_version) == pair:
            return binding.assurance_results
    return ()


def _evidence_faults(
    request: CompileRequest, method: Method, kernel: Kernel, evidence: tuple[Reference, ...]
) -> Iterator[Diagnostic]:
    subject = f"{identity(method)}/{identity(kernel)}"
    claims = {claim.claim_id: claim for claim in request.privacy_contract.required_claims}
    results = {result.id: result for result in request.assurance_results}
    given = [results[reference.id] for reference in evidence]
    for missing in sorted(set(claims) - {result.claim_id for result in given}):
        yield Diagnostic("E_MISSING_CLAIM", subject, f"no evidence for the required claim {missing}")
    for result in given:
        claim = claims.get(result.claim_id)
        if claim is None:
            why = f"evidence {result.id} is for {result.claim_id}, which the contract does not require"
            yield Diagnostic("E_UNACCEPTED_OUTCOME", subject, why)
        else:
            yield from _accepted(subject, claim, result, (method.artifact_digest, kernel.artifact_digest))


def _accepted(
    subject: str, claim: Claim, result: AssuranceResult, artifacts: tuple[str, str]
) -> Iterator[Diagnostic]:
    refinement = result.implementation_refinement
    if result.outcome not in claim.accepted_outcomes:
        why = f"{claim.claim_id}: evidence {result.id} has the outcome {result.outcome}"
        yield Diagnostic("E_UNACCEPTED_OUTCOME", subject, why)
    if refinement not in claim.accepted_implementation_refinements:
        why = f"{claim.claim_id}: evidence {result.id} has the refinement {refinement}"
        yield Diagnostic("E_UNACCEPTED_REFINEMENT", subject, why)
    elif refinement == "proved_for_locked_code" and result.code_digest not in artifacts:
        why = f"{claim.claim_id}: evidence {result.id} is about other code"
        yield Diagnostic("E_UNACCEPTED_REFINEMENT", subject, why)
