"""Profiles: pipelines whose slots are fixed. In: a model, and components where the defaults do not fit.

`record` is the pipeline of the library that states what the profile is made of and how it runs; a test holds the classes
against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pllm_lang.catalog.records import Record
from pllm_lang.interchange.experiment.document import ComponentDoc
from pllm_lang.interchange.experiment.resolve import CORE_SLOTS, VERIFICATION, check_slots
from pllm_lang.sdk.component import Component
from pllm_lang.sdk.errors import configuration_errors
from pllm_lang.sdk.kernels import Cpu, KernelBackend
from pllm_lang.sdk.library import shipped_library
from pllm_lang.sdk.pipeline import Pipeline, require
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
from pllm_lang.sdk.sources import ModelSource

MASKED, CORRECTIONS, FREIVALDS = MaskedLinear(), ModelAwareCorrections(), FreivaldsVerify()
INFERENCE, ONE_THREAD = Inference(), Cpu()
REMOTE: dict[str, type[Component]] = {"inference": InferenceRole, "kernels": KernelBackend}


class Profile(Pipeline):
    """A pipeline with a record in the library; `slots` maps each slot to the class that it takes."""

    __slots__ = ()
    library_key: ClassVar[str]
    slots: ClassVar[dict[str, type[Component]]]

    def __init__(self, model: ModelSource, **components: Component) -> None:
        for slot, component in components.items():
            require(slot, component, self.slots[slot])
        super().__init__(model, components)

    @property
    def record(self) -> Record:
        """The pipeline in the library."""
        found = shipped_library().get(self.library_key)
        assert isinstance(found, Record), self.library_key
        return found


class MaskedLinearCpu(Profile):
    """Linear layers masked between client, preparation and inference; all else at the client."""

    __slots__ = ()
    library_key: ClassVar[str] = "std.pipelines.masked_linear_cpu"
    slots: ClassVar[dict[str, type[Component]]] = {
        "linear": ProtocolMethod,
        "preparation": PreparationProvider,
        **REMOTE,
    }

    def __init__(
        self,
        model: ModelSource,
        *,
        linear: ProtocolMethod = MASKED,
        preparation: PreparationProvider = CORRECTIONS,
        inference: InferenceRole = INFERENCE,
        kernels: KernelBackend = ONE_THREAD,
    ) -> None:
        super().__init__(model, linear=linear, preparation=preparation, inference=inference, kernels=kernels)


class VerifiedMaskedLinearCpu(Profile):
    """The same with every product checked. Its slots hold exactly the components of the profile."""

    __slots__ = ()
    library_key: ClassVar[str] = "std.pipelines.verified_masked_linear_cpu"
    slots: ClassVar[dict[str, type[Component]]] = {
        **MaskedLinearCpu.slots,
        "verification": VerificationScheme,
    }

    def __init__(
        self,
        model: ModelSource,
        *,
        linear: ProtocolMethod = MASKED,
        preparation: PreparationProvider = CORRECTIONS,
        inference: InferenceRole = INFERENCE,
        kernels: KernelBackend = ONE_THREAD,
        verification: VerificationScheme = FREIVALDS,
    ) -> None:
        super().__init__(
            model,
            linear=linear,
            preparation=preparation,
            inference=inference,
            kernels=kernels,
            verification=verification,
        )
        with configuration_errors():
            found = {slot: ComponentDoc(**used.to_spec()) for slot, used in self.components.items()}
            check_slots(found, CORE_SLOTS | VERIFICATION)


class RemoteLinear(Profile):
    """Linear layers by one method between client and inference, without preparation."""

    __slots__ = ()
    method: ClassVar[ProtocolMethod]

    def __init__(
        self,
        model: ModelSource,
        *,
        linear: ProtocolMethod | None = None,
        inference: InferenceRole = INFERENCE,
        kernels: KernelBackend = ONE_THREAD,
    ) -> None:
        used = self.method if linear is None else linear
        super().__init__(model, linear=used, inference=inference, kernels=kernels)


class ProprietaryGuarded(RemoteLinear):
    """Linear layers of a proprietary model behind limits on rows and requests."""

    __slots__ = ()
    library_key: ClassVar[str] = "std.pipelines.proprietary_guarded"
    slots: ClassVar[dict[str, type[Component]]] = {"linear": GuardedLinear, **REMOTE}
    method: ClassVar[ProtocolMethod] = GuardedLinear()


class ProprietaryBlinded(RemoteLinear):
    """Linear layers of a proprietary model on blinded inputs."""

    __slots__ = ()
    library_key: ClassVar[str] = "std.pipelines.proprietary_blinded"
    slots: ClassVar[dict[str, type[Component]]] = {"linear": BlindedLinear, **REMOTE}
    method: ClassVar[ProtocolMethod] = BlindedLinear()


class DirectFHEProfile(RemoteLinear):
    """Linear layers under homomorphic encryption."""

    __slots__ = ()
    library_key: ClassVar[str] = "std.pipelines.direct_fhe_cpu"
    slots: ClassVar[dict[str, type[Component]]] = {"linear": DirectFHE, **REMOTE}
    method: ClassVar[ProtocolMethod] = DirectFHE()


PROFILES: tuple[type[Profile], ...] = (
    MaskedLinearCpu,
    VerifiedMaskedLinearCpu,
    ProprietaryGuarded,
    ProprietaryBlinded,
    DirectFHEProfile,
)


def pipeline_of(model: ModelSource, components: Mapping[str, Component]) -> Pipeline:
    """The profile whose slots hold components of these ids; where there is none, a plain pipeline."""
    found = {slot: used.component for slot, used in components.items()}
    for profile in PROFILES:
        if found == {slot: used.component for slot, used in profile(model).components.items()}:
            return profile(model, **components)
    return Pipeline(model, components)
