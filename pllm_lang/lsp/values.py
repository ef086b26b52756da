"""What the check knows of the values of a file, found by the place where each is made."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import msgspec

from pllm_lang.catalog.facts import Facts
from pllm_lang.ir.plan import UNKNOWN, Placement, Plan, TensorType
from pllm_lang.ir.show import show_type
from pllm_lang.verify.check import PlanReport
from pllm_lang.verify.cone import value_types
from pllm_lang.verify.facts_text import facts_text
from pllm_lang.verify.numbers import shown_range


class Value(msgspec.Struct, frozen=True):
    """One value of a checked plan. `facts` and `place` are None where the plan was not walked."""

    plan: Plan
    type: TensorType
    facts: Facts | None
    place: Placement | None

    @property
    def type_text(self) -> str:
        return show_type(self.plan, self.type)

    @property
    def range_text(self) -> str:
        """`[-12, 12]`; "" where no range is proved."""
        found = self.facts.range if self.facts is not None else None
        return shown_range(found) if found is not None else ""

    @property
    def facts_text(self) -> str:
        return facts_text(self.facts) if self.facts is not None else ""

    @property
    def holder(self) -> str:
        return "" if self.place is None else holder_text(self.place)


class Values:
    """Values by the file and offset at which their names stand; a block that is used often has many at one place."""

    def __init__(self, reports: Iterable[PlanReport], file: str) -> None:
        self.reports = tuple(reports)
        self.file = file

    @cached_property
    def by_place(self) -> dict[int, list[Value]]:
        found: dict[int, list[Value]] = {}
        seen: set[int] = set()
        for report in self.reports:
            if id(report.source_map) in seen:
                continue  # an experiment repeats the values of its plan
            seen.add(id(report.source_map))
            types, flow = value_types(report.plan), report.flow
            for number, (_, origin) in report.source_map.values.items():
                if origin.file != self.file or number not in types:
                    continue
                facts = flow.facts.get(number) if flow is not None else None
                place = flow.places.get(number) if flow is not None else None
                found.setdefault(origin.start, []).append(Value(report.plan, types[number], facts, place))
        return found

    def at(self, start: int) -> tuple[Value, ...]:
        return tuple(value for value in self.by_place.get(start, ()) if value.type != UNKNOWN)


def holder_text(place: Placement) -> str:
    """Who has a value: `client`, `additive shares of p0, p1`, `everybody`; "" where nothing is said."""
    match place.kind:
        case "public":
            return "everybody"
        case "party":
            return ", ".join(place.parties)
        case "shared":
            return f"{place.holding.rsplit('.', 1)[-1]} shares of {', '.join(place.parties)}"
        case "unplaced":
            return ""
