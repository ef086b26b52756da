"""From the document of a component to its class. In: `{"component", "params"}`. Out: a view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pllm_lang.sdk.component import Component
from pllm_lang.sdk.kernels import Cpu
from pllm_lang.sdk.nonlinear import (
    ArithmeticGarblingSiluQ7,
    BinaryTableGatedMultiplyQ7,
    R03CrtGatedMultiplyQ7,
)
from pllm_lang.sdk.passes import KvCacheEviction
from pllm_lang.sdk.protocols import (
    BlindedLinear,
    DirectFHE,
    FreivaldsVerify,
    GuardedLinear,
    Inference,
    MaskedLinear,
    ModelAwareCorrections,
)
from pllm_lang.sdk.schedulers import (
    BoundedIndependentElementsProtectedTensorSchedule,
    ChunkedIndependentLanesProtectedTensorSchedule,
    IndependentLanesProtectedTensorSchedule,
    ScalarProtectedTensorSchedule,
)

VIEWS: dict[str, type[Component]] = {
    view.id: view
    for view in (
        ArithmeticGarblingSiluQ7,
        BinaryTableGatedMultiplyQ7,
        BlindedLinear,
        BoundedIndependentElementsProtectedTensorSchedule,
        ChunkedIndependentLanesProtectedTensorSchedule,
        Cpu,
        DirectFHE,
        FreivaldsVerify,
        GuardedLinear,
        IndependentLanesProtectedTensorSchedule,
        Inference,
        KvCacheEviction,
        MaskedLinear,
        ModelAwareCorrections,
        R03CrtGatedMultiplyQ7,
        ScalarProtectedTensorSchedule,
    )
}


def component_from_spec(spec: Mapping[str, Any]) -> Component:
    """The view of a component; of one without a class here, a plain `Component`."""
    view = VIEWS.get(spec["component"])
    return Component(spec["component"], spec["params"]) if view is None else view.from_params(spec["params"])
