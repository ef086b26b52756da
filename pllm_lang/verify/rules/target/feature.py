"""A machine lacks an instruction set or a feature that a kernel or component needs."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.text.finding import Verdict
from pllm_lang.verify.hosting import ExperimentView, Host, kernels_of, steps_at
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.view import StepView

CODE = "target.feature"
EVERYWHERE = "scalar"
"""The variant that needs no instruction set of its own."""


def check_experiment(view: ExperimentView) -> Iterator[Obligation]:
    """A kernel has a variant for the machine; what the component asks of its host is there."""
    for host in view.hosts:
        for met, step in steps_at(host, view):
            yield from _features(host, step, met.step.results[0])
            yield from _kernels(host, step, view, met.step.results[0])


def _features(host: Host, step: StepView, subject: int) -> Iterator[Obligation]:
    if step.component is None or not step.component.host_features:
        return
    missing = [name for name in step.component.host_features if name not in host.features | host.isa]
    if not missing:
        yield Obligation(CODE, Verdict.PROVED, subject, evidence=(host.party,))
        return
    yield _missing(subject, host, step.component.name, missing)


def _kernels(host: Host, step: StepView, view: ExperimentView, subject: int) -> Iterator[Obligation]:
    for use in kernels_of(step, view.plan):
        variants = use.kernel.variants
        usable = [name for name in variants if name in host.isa or name == EVERYWHERE]
        if usable:
            yield Obligation(CODE, Verdict.PROVED, subject, evidence=(host.party, usable[0]))
        else:
            yield _missing(subject, host, use.kernel.name, list(variants))


def _missing(subject: int, host: Host, name: str, missing: list[str]) -> Obligation:
    told = " or ".join(missing) if len(missing) > 1 else missing[0]
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
