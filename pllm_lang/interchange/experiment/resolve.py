"""What an experiment would run as in the SDK: its profile, or why the SDK has none for it.

In: an experiment. Out: the facts that the SDK's `resolve()` gives. Two tables: the compositions that need
preparation, which its native code checks, and those that do not.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from pllm_lang.interchange.canonical import canonical_bytes
from pllm_lang.interchange.errors import DocumentError, ExperimentError
from pllm_lang.interchange.experiment.document import (
    ComponentDoc,
    ExperimentDoc,
    configuration_digest,
    experiment_bytes,
    pipeline_digest,
)
from pllm_lang.interchange.reading import U64_MAX, read_json

CORE_SLOTS = {
    "linear": "pllm/masked-linear",
    "preparation": "pllm/model-aware-corrections",
    "inference": "pllm/inference",
    "kernels": "pllm/cpu",
}
VERIFICATION = {"verification": "pllm/freivalds-verify/v1"}
PROTECTED_NONLINEAR = {
    "nonlinear": "pllm/arithmetic-garbling-silu-q7/v1",
    "nonlinear_schedule": "pllm/bounded-independent-elements/v1",
}
DIRECT_SLOTS = frozenset({"linear", "inference", "kernels"})


class Profile(msgspec.Struct, frozen=True):
    """How a composition runs."""

    privacy_mode: str
    proprietary_protocol: str
    requires_preparation: bool
    client_runtime: str
    privacy_protocol: str | None


PREPARED = Profile("public", "guarded", True, "masked_transformer_v1", None)
DIRECT = {
    "pllm/guarded-linear/v1": Profile(
        "proprietary", "guarded", False, "guarded_blinded_transformer_v1", "guarded_blinded_w4a4"
    ),
    "pllm/blinded-linear/v1": Profile(
        "proprietary", "blinded", False, "blinded_ole_transformer_v1", "blinded_ole_w4a4"
    ),
    "pllm/direct-fhe": Profile(
        "proprietary", "direct", False, "direct_fhe_transformer_v1", "direct_bfv_w4a4"
    ),
}


class ResolvedExperiment(msgspec.Struct, frozen=True):
    """The facts of a resolved experiment."""

    model: str
    profile: Profile
    composition_digest: str
    configuration_digest: str
    verification_component: str | None
    verification_target_failure_bits: int


def resolve_experiment(experiment: ExperimentDoc) -> ResolvedExperiment:
    """Resolve `experiment`; errors: `ExperimentError` with code `experiment.composition` or `.native`."""
    verification = experiment.components.get("verification")
    profile = _direct_profile(experiment.components)
    if profile is None:
        _check_native_form(experiment)
        check_slots(experiment.components, CORE_SLOTS | (VERIFICATION if verification else {}))
        profile = PREPARED
    bits = verification.params["target_failure_bits"] if verification else 0
    return ResolvedExperiment(
        model=experiment.model.model_id or experiment.model.source,
        profile=profile,
        composition_digest=pipeline_digest(experiment),
        configuration_digest=configuration_digest(experiment),
        verification_component=verification.component if verification else None,
        verification_target_failure_bits=bits,
    )


def check_slots(components: Mapping[str, ComponentDoc], wanted: Mapping[str, str]) -> None:
    """Refuse `components` unless they fill exactly the `wanted` slots with the wanted components."""
    for slot, component in wanted.items():
        found = components.get(slot)
        if found is None or found.component != component:
            why = f"must hold {component}, " + (f"not {found.component}" if found else "but is empty")
            raise ExperimentError("experiment.composition", why, f"pipeline.components.{slot}")
    for slot in sorted(set(components) - set(wanted)):
        why = "is a slot that no profile of the SDK knows in this composition"
        raise ExperimentError("experiment.composition", why, f"pipeline.components.{slot}")


def _direct_profile(components: Mapping[str, ComponentDoc]) -> Profile | None:
    if frozenset(components) != DIRECT_SLOTS:
        return None
    others_fit = all(components[slot].component == CORE_SLOTS[slot] for slot in ("inference", "kernels"))
    return DIRECT.get(components["linear"].component) if others_fit else None


def _check_native_form(experiment: ExperimentDoc) -> None:
    """The SDK's native code reads 64-bit integers, and only bytes that it would write itself."""
    for key, amount in msgspec.to_builtins(experiment.budget).items():
        if amount > U64_MAX:
            raise ExperimentError("experiment.native", "does not fit 64 bits", f"budget.{key}")
    data = experiment_bytes(experiment)
    try:
        native = canonical_bytes(read_json(data).value)
    except DocumentError as fault:
        raise ExperimentError("experiment.native", f"{fault.code}: {fault.message}") from None
    if native != data:
        why = "holds a number that the SDK's Python and native code spell differently, so it does not resolve"
        raise ExperimentError("experiment.native", why)
