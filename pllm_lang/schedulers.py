"""Schedules of one-use material: see `pllm_lang.sdk.schedulers`."""

from pllm_lang.sdk.schedulers import (
    BoundedIndependentElementsProtectedTensorSchedule,
    ChunkedIndependentLanesProtectedTensorSchedule,
    IndependentLanesProtectedTensorSchedule,
    ProtectedScheduler,
    ScalarProtectedTensorSchedule,
)

__all__ = [
    "BoundedIndependentElementsProtectedTensorSchedule",
    "ChunkedIndependentLanesProtectedTensorSchedule",
    "IndependentLanesProtectedTensorSchedule",
    "ProtectedScheduler",
    "ScalarProtectedTensorSchedule",
]
