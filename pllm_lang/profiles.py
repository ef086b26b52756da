"""Profiles and the components of their slots: see `pllm_lang.sdk.profiles` and `pllm_lang.sdk.protocols`."""

from pllm_lang.sdk.profiles import (
    DirectFHEProfile,
    MaskedLinearCpu,
    Profile,
    ProprietaryBlinded,
    ProprietaryGuarded,
    VerifiedMaskedLinearCpu,
)
from pllm_lang.sdk.protocols import (
    BlindedLinear,
    DirectFHE,
    FreivaldsVerify,
    GuardedLinear,
    Inference,
    InferenceRole,
    MaskedLinear,
    ModelAwareCorrections,
    PreparationProvider,
    ProtocolMethod,
    VerificationScheme,
)

__all__ = [
    "BlindedLinear",
    "DirectFHE",
    "DirectFHEProfile",
    "FreivaldsVerify",
    "GuardedLinear",
    "Inference",
    "InferenceRole",
    "MaskedLinear",
    "MaskedLinearCpu",
    "ModelAwareCorrections",
    "PreparationProvider",
    "Profile",
    "ProprietaryBlinded",
    "ProprietaryGuarded",
    "ProtocolMethod",
    "VerificationScheme",
    "VerifiedMaskedLinearCpu",
]
