"""The coverage report that a call asks for, and its forms."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pllm_lang.artifacts.coverage import coverage_of
from pllm_lang.artifacts.coverage_report import Coverage, document
from pllm_lang.artifacts.coverage_text import as_text
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Record
from pllm_lang.cli.given import head_of
from pllm_lang.cli.naming import checked_file, chosen, split_target
from pllm_lang.ir.lower.experiment import lower_experiment
from pllm_lang.text.finding import Span
from pllm_lang.verify.check import PlanReport

if TYPE_CHECKING:
    from pllm_lang.artifacts.coverage_model import Composition


class NotCoveredError(Exception):
    """A config that is refused, or no such pipeline; the text says which."""


def coverage_of_target(target: str) -> Coverage:
    """Raises NoSuchPlanError."""
    path, name = split_target(target)
    checked = checked_file(path)
    report, library = chosen(checked, path, name), checked.opened.library
    record = _record_of(library, report)
    if record is None:
        return coverage_of(report, checked.sources)
    experiment = lower_experiment(library, record, ()).experiment
    place = record.field_origins.get("model", record.origin)
    home = Span(place.file, place.start, place.end)
    return coverage_of(report, checked.sources, experiment, library, home)


def _record_of(library: Library, report: PlanReport) -> Record | None:
    """The experiment that a report is about; None for a plan."""
    for key in library.keys("experiment"):
        record = library.get(key)
        if isinstance(record, Record) and record.name == report.name:
            return record
    return None


def coverage_of_config(path: str, pipeline: str, max_input_tokens: int, max_new_tokens: int) -> Coverage:
    """Raises NotGivenError for a file that gives nothing, NotCoveredError for what is refused."""
    from pllm_lang.artifacts.coverage_model import model_coverage
    from pllm_lang.catalog.load import shipped_library
    from pllm_lang.models.errors import LoweringError
    from pllm_lang.models.limits import MAX_CONFIG_BYTES
    from pllm_lang.models.lower import lower_model

    data = head_of(path, MAX_CONFIG_BYTES)
    try:
        lowered = lower_model(data, batch=1, max_input_tokens=max_input_tokens, max_new_tokens=max_new_tokens)
    except LoweringError as error:
        raise NotCoveredError(f"error[{error.code}]: {os.path.basename(path)}: {error}") from None
    library = shipped_library()
    return model_coverage(lowered.graph, library, _composition(pipeline, library) if pipeline else None)


def pipelines() -> list[str]:
    """Names of the pipelines of the library."""
    from pllm_lang.catalog.load import shipped_library

    return sorted(_pipelines(shipped_library()))


def _pipelines(library: Library) -> dict[str, str]:
    """Keys by name."""
    return {key.rsplit(".", 1)[-1]: key for key in library.keys("pipeline")}


def _composition(name: str, library: Library) -> Composition:
    """A pipeline of the library with its defaults."""
    from pllm_lang.artifacts.coverage_model import Composition, Slot
    from pllm_lang.ir.lower.pipeline.slots import OUTSIDE, REST, read_slots
    from pllm_lang.ir.plan import ComponentUse
    from pllm_lang.resolve.suggest import did_you_mean

    keys = _pipelines(library)
    if name not in keys:
        hint = did_you_mean(name, keys) or "there are " + ", ".join(sorted(keys))
        raise NotCoveredError(f"the library has no pipeline `{name}`; {hint}")
    problems: list[str] = []
    found = read_slots(
        ComponentUse(keys[name], ()), library, None, lambda _code, message, _help: problems.append(message)
    )
    if found is None or problems:
        raise NotCoveredError("; ".join(problems) or f"`{name}` is no pipeline")
    records = [(slot, library.component(use.key)) for slot, use in found.named]
    slots = [
        Slot(slot, record.id, record) for slot, record in records if record and slot not in (REST, OUTSIDE)
    ]
    rest = None if found.rest is None else library.component(found.rest.key)
    return Composition(tuple(slots), rest)


def rendered(coverage: Coverage, format_: str) -> str:
    if format_ == "json":
        return document(coverage).decode() + "\n"
    if format_ == "html":
        from pllm_lang.artifacts.coverage_html import as_html

        return as_html(coverage)
    return as_text(coverage) + "\n"
