"""The components that profiles compose: linear methods, preparation, roles and verification."""

from __future__ import annotations

from typing import ClassVar

from pllm_lang.sdk.component import Component


class ProtocolMethod(Component):
    """A method for linear layers named by its id."""

    __slots__ = ()
    category: ClassVar[str] = "protocol-method"


class PreparationProvider(Component):
    """A preparation named by its id."""

    __slots__ = ()
    category: ClassVar[str] = "preparation-provider"


class InferenceRole(Component):
    """A remote role named by its id."""

    __slots__ = ()
    category: ClassVar[str] = "inference-role"


class VerificationScheme(Component):
    """A check of results named by its id."""

    __slots__ = ()
    category: ClassVar[str] = "verification-scheme"


class MaskedLinear(ProtocolMethod):
    """Linear layers on masked inputs: inference sees `x - r`, preparation the mask, neither both."""

    __slots__ = ()
    id: ClassVar[str] = "pllm/masked-linear"

    def __init__(self) -> None:
        super().__init__(self.id)


class GuardedLinear(ProtocolMethod):
    """Linear layers of a proprietary model, with limits on the rows that an owner may ask for."""

    __slots__ = ()
    id: ClassVar[str] = "pllm/guarded-linear/v1"

    def __init__(
        self,
        *,
        max_rows_per_request: int = 4096,
        max_rows_per_owner_stage: int = 16384,
        max_requests_per_minute: int = 4096,
        output_dither_bound: int = 0,
    ) -> None:
        params = {
            "max_rows_per_request": max_rows_per_request,
            "max_rows_per_owner_stage": max_rows_per_owner_stage,
            "max_requests_per_minute": max_requests_per_minute,
            "output_dither_bound": output_dither_bound,
        }
        super().__init__(self.id, params)


class BlindedLinear(ProtocolMethod):
    """Linear layers of a proprietary model on blinded inputs. Nothing is proved of it."""

    __slots__ = ()
    id: ClassVar[str] = "pllm/blinded-linear/v1"

    def __init__(self) -> None:
        super().__init__(self.id)


class DirectFHE(ProtocolMethod):
    """Linear layers under BFV encryption at the inference party."""

    __slots__ = ()
    id: ClassVar[str] = "pllm/direct-fhe"

    def __init__(self) -> None:
        super().__init__(self.id)


class ModelAwareCorrections(PreparationProvider):
    """Corrections for masked linear layers, made by a party that knows the weights."""

    __slots__ = ()
    id: ClassVar[str] = "pllm/model-aware-corrections"

    def __init__(self) -> None:
        super().__init__(self.id)


class Inference(InferenceRole):
    """The remote role that runs linear stages."""

    __slots__ = ()
    id: ClassVar[str] = "pllm/inference"

    def __init__(self) -> None:
        super().__init__(self.id)


class FreivaldsVerify(VerificationScheme):
    """Checks products by random projections, each used once; wrong ones pass with probability below
    2^-`target_failure_bits` (1 to 80)."""

    __slots__ = ()
    id: ClassVar[str] = "pllm/freivalds-verify/v1"

    def __init__(self, *, target_failure_bits: int = 40) -> None:
        super().__init__(self.id, {"target_failure_bits": target_failure_bits})
