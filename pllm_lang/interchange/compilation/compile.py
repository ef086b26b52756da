"""`compile_request`: a `pllm.compile_request.v2` as a locked region, or every reason why not.

In: a mapping, canonical bytes or text. Out: the four documents. By default what the SDK's compiler lets
through by mistake is refused too; `strict=False` behaves as that release does.
"""

from __future__ import annotations

from collections.abc import Iterable

from pllm_lang.interchange.compilation.checks import PORTABLE, check_request
from pllm_lang.interchange.compilation.documents import CompiledRegion, execution_slots, write_documents
from pllm_lang.interchange.compilation.reading import RequestSource, check_composition, read_request
from pllm_lang.interchange.compilation.selection import candidates
from pllm_lang.interchange.compilation.silu import check_silu
from pllm_lang.interchange.compilation.strict import check_strictly
from pllm_lang.interchange.errors import CompilationError, Diagnostic


def compile_request(source: RequestSource, *, strict: bool = True) -> CompiledRegion:
    """Compile a request. Errors: `CompilationError` with sorted diagnostics."""
    request, configuration = read_request(source)
    check_composition(configuration, has_silu=any(step.operator == "silu" for step in request.operations))
    _stop_on([*check_request(request), *check_silu(request)])
    found = candidates(request)
    _stop_on([fault for step in found for fault in step.faults])
    if strict:
        _stop_on(check_strictly(request, found))
    choices = tuple(step.passed[0] for step in found)
    if not all(PORTABLE.fullmatch(slot["slot"]) for slot in execution_slots(request, choices)):
        why = "an operation id is too long for the names of its slots"
        _stop_on([Diagnostic("E_INVALID_CONTEXT", "compiled_plan", why)])
    return write_documents(request, choices)


def _stop_on(faults: Iterable[Diagnostic]) -> None:
    found = tuple(sorted(set(faults)))
    if found:
        raise CompilationError(found)
