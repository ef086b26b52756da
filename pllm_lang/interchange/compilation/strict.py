"""What the SDK's compiler lets through by mistake, and we refuse unless asked not to.

In: a request that the SDK's compiler would accept. Out: diagnostics with its codes. The rules are tables:
where values may be open, which conversions keep a secret, how large numbers may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import prod

from pllm_lang.interchange.compilation.reading import DOCUMENT
from pllm_lang.interchange.compilation.request import CompileRequest, RegionOperation, Tensor, input_of
from pllm_lang.interchange.compilation.selection import Candidates, Choice
from pllm_lang.interchange.errors import Diagnostic, InterchangeError
from pllm_lang.interchange.experiment.check import experiment_from_spec
from pllm_lang.interchange.reading import MAX_SAFE_INTEGER

MAX_THREADS = 32
RING_REPRESENTATIONS = frozenset({"masked_ring", "additive_share"})
"""What an integer matrix product modulo 2**32 computes on without opening it."""
OPEN_AT_CLIENT = frozenset({"client_plaintext", "public"})
SOUND_CONVERSIONS = frozenset(
    {
        ("masked_ring", "additive_share"),
        ("additive_share", "masked_ring"),
        ("public", "masked_ring"),
        ("public", "additive_share"),
    }
)
"""Conversions that every party can do alone: a masked value and its mask are two additive shares."""

_DIGITS = re.compile(r"(\d+)")


def check_strictly(request: CompileRequest, found: Sequence[Candidates]) -> Iterator[Diagnostic]:
    """Yield what is wrong with a request that passed all checks of the SDK's compiler."""
    yield from _configuration(request)
    yield from _materials(request)
    for index, (step, candidates) in enumerate(zip(request.operations, found, strict=True)):
        yield from _sizes(step, (input_of(request, index), step.output))
        yield from _placement(request, step)
        yield from _versions(candidates.passed)


def _configuration(request: CompileRequest) -> Iterator[Diagnostic]:
    try:
        experiment = experiment_from_spec(request.configuration)
    except InterchangeError as fault:
        yield Diagnostic("E_INVALID_DOCUMENT", DOCUMENT, f"configuration: {fault}")
        return
    threads = experiment.components["kernels"].params["threads"]
    if threads > MAX_THREADS:
        why = f"{threads} threads, of which a role process starts at most {MAX_THREADS}"
        yield Diagnostic("E_INVALID_CONTEXT", "configuration.pipeline.components.kernels", why)
    budget = experiment.budget
    if max(budget.requests, budget.max_input_tokens, budget.max_new_tokens) > MAX_SAFE_INTEGER:
        yield Diagnostic(
            "E_INVALID_DOCUMENT", DOCUMENT, f"the budget has an integer beyond {MAX_SAFE_INTEGER}"
        )


def _materials(request: CompileRequest) -> Iterator[Diagnostic]:
    names = [material.id for material in request.context.material_requests]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Diagnostic("E_DUPLICATE_ID", name, "one-use material is requested twice, with two digests")


def _sizes(step: RegionOperation, tensors: tuple[Tensor, ...]) -> Iterator[Diagnostic]:
    for tensor in tensors:
        if not all(tensor.shape) or prod(tensor.shape) > MAX_SAFE_INTEGER:
            why = f"{list(tensor.shape)} must have between 1 and {MAX_SAFE_INTEGER} elements"
            yield Diagnostic("E_INVALID_TENSOR", step.id, why)


def _placement(request: CompileRequest, step: RegionOperation) -> Iterator[Diagnostic]:
    role = request.context.execution_role
    ends = (step.input_representation, step.output_representation)
    if step.operator == "linear":
        allowed = RING_REPRESENTATIONS | OPEN_AT_CLIENT if role == "client" else RING_REPRESENTATIONS
        choices = " or ".join(sorted(allowed))
        for name in sorted(set(ends) - allowed):
            why = f"a wrap32 product at {role} cannot run on {name}; it runs on {choices}"
            yield Diagnostic("E_REPRESENTATION", step.id, why)
    elif step.operator == "conversion" and ends[0] != ends[1] and ends not in SOUND_CONVERSIONS:
        why = f"{ends[0]} to {ends[1]} needs a protocol between parties, which a kernel alone is not"
        yield Diagnostic("E_REPRESENTATION", step.id, why)


def _versions(passed: tuple[Choice, ...]) -> Iterator[Diagnostic]:
    """The choice compares versions as text; refuse where that is not their order."""
    chosen = passed[0]
    methods = {choice.method.version for choice in passed if choice.method.id == chosen.method.id}
    same_method = [choice for choice in passed if choice.method == chosen.method]
    kernels = {choice.kernel.version for choice in same_method if choice.kernel.id == chosen.kernel.id}
    for part, versions in ((chosen.method, methods), (chosen.kernel, kernels)):
        first = min(versions, key=_natural)
        if first != part.version:
            why = f"version {part.version} would win over {first}, because versions are compared as text"
            yield Diagnostic("E_INVALID_VERSION", part.id, why)


def _natural(version: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in _DIGITS.split(version)]
