"""How the one-use material of a protected tensor is grouped and consumed."""

from __future__ import annotations

from typing import ClassVar

from pllm_lang.sdk.component import Component


class ProtectedScheduler(Component):
    """A schedule named by its id."""

    __slots__ = ()
    category: ClassVar[str] = "protected-scheduler"


class ScalarProtectedTensorSchedule(ProtectedScheduler):
    """One element at a time, each with material of its own."""

    __slots__ = ()
    id: ClassVar[str] = "pllm/scalar/v1"

    def __init__(self) -> None:
        super().__init__(self.id)


class BoundedIndependentElementsProtectedTensorSchedule(ProtectedScheduler):
    """Up to `max_elements` (1 to 128) independent elements."""

    __slots__ = ()
    id: ClassVar[str] = "pllm/bounded-independent-elements/v1"

    def __init__(self, *, max_elements: int = 128) -> None:
        super().__init__(self.id, {"max_elements": max_elements})


class IndependentLanesProtectedTensorSchedule(ProtectedScheduler):
    """A bundle of up to `max_elements` (2 to 4) lanes, burnt as a whole when anything fails."""

    __slots__ = ()
    id: ClassVar[str] = "pllm/independent-lanes/v1"

    def __init__(self, *, max_elements: int = 4) -> None:
        super().__init__(self.id, {"max_elements": max_elements})


class ChunkedIndependentLanesProtectedTensorSchedule(ProtectedScheduler):
    """Chunks of up to `max_elements` (5 to 4,000,000) elements, streamed; there is no default size."""

    __slots__ = ()
    id: ClassVar[str] = "pllm/chunked-independent-lanes/v1"

    def __init__(self, *, max_elements: int) -> None:
        super().__init__(self.id, {"max_elements": max_elements})
