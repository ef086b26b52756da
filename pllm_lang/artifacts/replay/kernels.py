"""Replay of an experiment: the kernels that a step runs on, and what is known to be wrong with them or with components.

A record lists known defects: a range of versions, a condition on parameters, features of a machine. One that is not shown to
be elsewhere counts. Those of a component that no feature is bound to belong to the plan (`components.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from pllm_lang.artifacts.replay import terms as t
from pllm_lang.artifacts.replay.refusal import need
from pllm_lang.artifacts.replay.releases import admits
from pllm_lang.artifacts.replay.terms import Names
from pllm_lang.artifacts.replay.walked import Judged, Walked, record
from pllm_lang.catalog.expr import Apply, Expr, ListOf, MapOf, Ref, Text
from pllm_lang.catalog.records import Component, Kernel
from pllm_lang.ir.experiment import Experiment
from pllm_lang.ir.plan import Step

Defect = dict[str, Expr]


class Served(msgspec.Struct, frozen=True):
    """A kernel with the parameters that it gets."""

    kernel: Kernel
    params: dict[str, Expr]


def given_kernels(walked: Walked, step: Step) -> Iterator[Served]:
    """Kernels among the parameters of a step's component, or of components among these."""
    left = [] if step.use is None else [value for _, value in step.use.params]
    while left:
        value = left.pop()
        named = value.named if isinstance(value, Apply) else ()
        key = value.fn if isinstance(value, Apply) else value.name if isinstance(value, Ref) else ""
        found = record(walked, key) if "." in key else None
        if isinstance(found, Kernel):
            yield Served(found, dict(named))
        left += [inner for _, inner in named]


def backend_kernels(walked: Walked, experiment: Experiment) -> Iterator[Served]:
    """Kernels that say they belong to the backend of the pipeline."""
    for use in (use for slot, use in experiment.slots if slot == "kernels"):
        for key in walked.lock.documents.records:
            found = record(walked, key)
            said = found.fields.get("backend") if isinstance(found, Kernel) else None
            items = said.items if isinstance(said, ListOf) else (said,)
            if isinstance(found, Kernel) and use.key in {one.name for one in items if isinstance(one, Ref)}:
                own = {spec.name: spec.default for spec in found.params if spec.default is not None}
                yield Served(found, own | dict(use.params))


# ---- known defects ----
def meets_defects(machine: frozenset[str], judged: Judged, kernels: Iterable[Served]) -> bool:
    """Whether any has to be elsewhere on a machine that has these features: of the kernels, or of the step's component on machines
    like this. ReplayError where one is not shown to be."""
    component, met = judged.said.component, False
    for one in kernels:
        for defect in defects_of(one.kernel.fields):
            names = t.bound(judged.names, [spec.name for spec in one.kernel.params], one.params.items())
            _excluded(one.kernel, defect, names, machine)
            met = True
    for defect in () if component is None else defects_of(component.fields):
        if component is not None and "feature" in defect:
            _excluded(component, defect, judged.names, machine)
            met = True
    return met


def defects_of(fields: dict[str, Expr]) -> Iterator[Defect]:
    listed = fields.get("defects")
    for item in listed.items if isinstance(listed, ListOf) else ():
        if isinstance(item, MapOf):
            yield dict(item.entries)


def _excluded(flawed: Kernel | Component, defect: Defect, names: Names, machine: frozenset[str]) -> None:
    elsewhere = not {*words(defect.get("feature"))} <= machine or is_elsewhere(flawed.version, defect, names)
    need(elsewhere, "certificate.target", f"a known defect of `{flawed.name}` is not shown to be elsewhere")


def is_elsewhere(version: str, defect: Defect, names: Names) -> bool:
    """Whether a defect is surely of other versions, or of other parameters."""
    versions, when = defect.get("versions"), defect.get("when")
    if isinstance(versions, Text) and admits(version, versions.value) is False:
        return True
    return when is not None and t.holds(when, names) is False


def words(expr: Expr | None) -> Iterator[str]:
    """Bare names and texts of a list."""
    for item in expr.items if isinstance(expr, ListOf) else (expr,):
        if isinstance(item, Ref):
            yield item.name.rpartition(".")[2]
        elif isinstance(item, Text):
            yield item.value
