"""From bytes to a typed compile request, refusing everything but the one canonical spelling.

In: a mapping, bytes or text. Out: the request, or one `E_INVALID_DOCUMENT`. A request has exactly one
spelling, so two parties that hold the same digest hold the same text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, TypeAlias, get_args

import msgspec

from pllm_lang.interchange.canonical import canonical_bytes, python_canonical_bytes
from pllm_lang.interchange.compilation.request import SCHEMA, CompileRequest, Outcome, Refinement
from pllm_lang.interchange.decoder.fields import U64
from pllm_lang.interchange.errors import CompilationError, Diagnostic, DocumentError, ExperimentError
from pllm_lang.interchange.experiment.check import HUB_KINDS, KINDS
from pllm_lang.interchange.experiment.document import SCHEMA as EXPERIMENT_SCHEMA
from pllm_lang.interchange.experiment.document import ComponentDoc, ModelDoc, model_spec
from pllm_lang.interchange.experiment.resolve import (
    CORE_SLOTS,
    PROTECTED_NONLINEAR,
    VERIFICATION,
    check_slots,
)
from pllm_lang.interchange.reading import as_object, decode, read_json

RequestSource: TypeAlias = Mapping[str, Any] | bytes | str
DOCUMENT = "compile_document"
PARAMETERS: dict[str, tuple[str, int, int | None]] = {
    "kernels": ("threads", 1, None),
    "verification": ("target_failure_bits", 1, 80),
    "nonlinear_schedule": ("max_elements", 1, 128),
}
"""Slots whose component has one integer parameter, with its bounds; the others have none."""


class Budget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The budget as the native reader takes it."""

    requests: U64
    max_input_tokens: U64
    max_new_tokens: U64


class Deployment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The deployment as the native reader takes it."""

    kind: str
    root: str


class Pipeline(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Model and components."""

    model: ModelDoc
    components: dict[str, ComponentDoc]


class Configuration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The embedded experiment."""

    schema: str
    name: str
    pipeline: Pipeline
    deployment: Deployment
    budget: Budget


def read_request(source: RequestSource) -> tuple[CompileRequest, Configuration]:
    """Read a request; errors: `CompilationError` with one `E_INVALID_DOCUMENT`."""
    try:
        data = _bytes(source)
        value = read_json(data).value
        if (as_object(value) or {}).get("schema_version") != SCHEMA:
            refuse(f"schema_version must be {SCHEMA}")
        request = msgspec.convert(value, CompileRequest)
        configuration = msgspec.convert(request.configuration, Configuration)
    except DocumentError as fault:
        refuse(f"{fault.code}: {fault.message}")
    except msgspec.ValidationError as fault:
        refuse(str(fault))
    if canonical_bytes(_spelled(request, configuration)) != data:
        refuse("is not spelled canonically: sorted keys, no white space, defaults left out, sets in order")
    _check_configuration(configuration)
    return request, configuration


def refuse(why: str) -> NoReturn:
    """Refuse the document as a whole."""
    raise CompilationError((Diagnostic("E_INVALID_DOCUMENT", DOCUMENT, why),))


def check_composition(configuration: Configuration, *, has_silu: bool) -> None:
    """Refuse components other than the three compositions that the compiler knows."""
    components = configuration.pipeline.components
    extra = VERIFICATION if "verification" in components and not has_silu else {}
    try:
        check_slots(components, CORE_SLOTS | (PROTECTED_NONLINEAR if has_silu else extra))
    except ExperimentError as fault:
        refuse(f"{fault.subject} {fault.message}")
    for slot, found in components.items():
        if not _parameters_fit(slot, found.params):
            refuse(f"pipeline.components.{slot} has wrong parameters")


def _bytes(source: RequestSource) -> bytes:
    if isinstance(source, Mapping):
        return python_canonical_bytes(source)
    return decode(source).encode()


def _spelled(request: CompileRequest, configuration: Configuration) -> Any:
    """The value that the compiler itself would write for what it read."""
    value = msgspec.to_builtins(request)
    value["configuration"]["pipeline"]["model"] = model_spec(configuration.pipeline.model)
    for claim in value["privacy_contract"]["required_claims"]:
        _sort_set(claim, "accepted_outcomes", Outcome)
        _sort_set(claim, "accepted_implementation_refinements", Refinement)
    return value


def _sort_set(owner: dict[str, Any], key: str, order: Any) -> None:
    owner[key] = [name for name in get_args(order) if name in owner[key]]


def _check_configuration(found: Configuration) -> None:
    model, budget = found.pipeline.model, msgspec.structs.astuple(found.budget)
    if found.schema != EXPERIMENT_SCHEMA:
        refuse(f"configuration.schema must be {EXPERIMENT_SCHEMA}")
    if not (found.name and found.deployment.root and model.source and all(budget)):
        refuse("the configuration has an empty name, root or source, or a budget of zero")
    if found.deployment.kind != "local":
        refuse("configuration.deployment.kind must be local")
    if model.kind not in KINDS:
        refuse(f"{model.kind!r} is no kind of model source")
    if model.model_id == "":
        refuse("model_id must not be empty")
    if (model.revision is not None or model.local_files_only) and model.kind not in HUB_KINDS:
        refuse(f"a revision does not apply to kind {model.kind!r}")
    if model.kind == "ollama" and not (model.endpoint or "").startswith(("http://", "https://")):
        refuse("an ollama model needs an http(s) endpoint")
    if model.kind != "ollama" and model.endpoint is not None:
        refuse(f"an endpoint does not apply to kind {model.kind!r}")


def _parameters_fit(slot: str, params: Mapping[str, Any]) -> bool:
    if slot not in PARAMETERS:
        return not params
    name, least, most = PARAMETERS[slot]
    value = params.get(name)
    if set(params) != {name} or isinstance(value, bool) or not isinstance(value, int):
        return False
    return value >= least and (most is None or value <= most)
