"""A machine lacks an instruction set or a feature that a kernel or component needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pllm_lang.catalog.records import Component
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.hosting import (
    ExperimentView,
    Host,
    KernelUse,
    kernels_of,
    runs_kernels,
    slot_kernels,
    steps_at,
)
from pllm_lang.verify.obligation import Obligation

CODE = "target.feature"
EVERYWHERE = "scalar"
"""The variant that needs no instruction set of its own."""


def check_experiment(view: ExperimentView) -> Iterator[Obligation]:
    """A kernel has a variant for the machine; what the component asks of its host is there."""
    backend = tuple(slot_kernels(view))
    for host in view.hosts:
        first = -1
        for met, step in steps_at(host, view):
            if step.component is not None:
                yield from _features(host, step.component, met.step.results[0])
            kernels = (*kernels_of(step, view.plan), *(backend if runs_kernels(step) and first < 0 else ()))
            first = met.step.results[0] if runs_kernels(step) and first < 0 else first
            yield from _kernels(host, kernels, met.step.results[0])
        yield from _slots(host, view, first)


def _slots(host: Host, view: ExperimentView, subject: int) -> Iterator[Obligation]:
    """What the other components of the pipeline ask of the machines of their roles."""
    for _, use in view.experiment.slots:
        component = view.plan.library.component(use.key)
        if component is not None and component.kind != "method" and host.party in dict(use.roles).values():
            yield from _features(host, component, subject)


def _features(host: Host, component: Component, subject: int) -> Iterator[Obligation]:
    if not component.host_features:
        return
    missing = [name for name in component.host_features if name not in host.features | host.isa]
    if not missing:
        yield Obligation(CODE, Verdict.PROVED, subject, part=component.name, evidence=(host.party,))
        return
    yield _missing(subject, host, component.name, missing, "and")


def _kernels(host: Host, kernels: Iterable[KernelUse], subject: int) -> Iterator[Obligation]:
    for use in kernels:
        variants = use.kernel.variants
        usable = [name for name in variants if name in host.isa or name == EVERYWHERE]
        if usable:
            yield Obligation(CODE, Verdict.PROVED, subject, evidence=(host.party, usable[0]))
        else:
            yield _missing(subject, host, use.kernel.name, list(variants), "or")


def _missing(subject: int, host: Host, name: str, missing: list[str], joined: str) -> Obligation:
    """`joined` is "and" where all are needed, "or" where one of them would do."""
    told = f" {joined} ".join(missing) or "an instruction set, of which its record names none"
    return Obligation(
        CODE,
        Verdict.REFUTED,
        subject,
        part="using",
        message=f"`{name}` needs {told}, which `{host.target.name}` of `{host.party}` does not have",
        value=", ".join(missing),
        term=host.party,
        help="run the party on a machine that has it, or choose another component",
    )
