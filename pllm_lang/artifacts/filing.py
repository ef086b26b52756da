"""Records as a lock holds them."""

from __future__ import annotations

from pllm_lang.artifacts.lock_data import Filed
from pllm_lang.catalog.records import AnyRecord, Component, Holding, Kernel, Operator, Record


def filed(record: AnyRecord) -> Filed | None:
    """A record as a lock holds it, under the word for its kind; None for a format or policy, which are held elsewhere."""
    match record:
        case Operator():
            return Filed(operator=record)
        case Component():
            return Filed(component=record)
        case Holding():
            return Filed(holding=record)
        case Kernel():
            return Filed(kernel=record)
        case Record():
            return Filed(record=record)
        case _:
            return None
