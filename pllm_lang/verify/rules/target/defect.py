"""A kernel or component is known to be wrong on this machine, in this version, for these parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term, holds
from pllm_lang.catalog.expr import Expr, Ref, Text
from pllm_lang.catalog.records import Component, Kernel
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.hosting import (
    ExperimentView,
    Host,
    KernelUse,
    defects_of,
    kernels_of,
    runs_kernels,
    slot_kernels,
    steps_at,
    words,
)
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.releases import in_versions
from pllm_lang.verify.terms import term_text

CODE = "target.defect"

Defect: TypeAlias = dict[str, Expr]
Flawed: TypeAlias = Kernel | Component


def check_experiment(view: ExperimentView) -> Iterator[Obligation]:
    """No known defect of a kernel applies on the host that runs it; what cannot be excluded counts.

    Nor one of a component that is bound to a feature of the host; its other defects are `versions.defect`.
    """
    for host in view.hosts:
        for met, step in steps_at(host, view):
            subject = met.step.results[0]
            backend = slot_kernels(view) if runs_kernels(step) else ()
            for use in (*kernels_of(step, view.plan), *backend):
                env = _environment(step.env, use)
                for defect in defects_of(use.kernel.fields):
                    yield _judge(host, use.kernel, defect, env, subject)
            if step.component is not None:
                for defect in defects_of(step.component.fields):
                    if "feature" in defect:
                        yield _judge(host, step.component, defect, step.env, subject)


def _judge(host: Host, record: Flawed, defect: Defect, env: Env, subject: int) -> Obligation:
    features = set(words(defect.get("feature")))
    elsewhere = bool(features) and not features <= host.isa | host.features
    applies = False if elsewhere else _applies(defect, record, env)
    if applies is False:
        return Obligation(CODE, Verdict.PROVED, subject, evidence=(record.id, host.party))
    return _obligation(subject, host, record, defect, certain=applies is True)


def _environment(env: Env, use: KernelUse) -> Env:
    """The step's names, with the kernel's parameters in place of what else is called so."""
    own = {spec.name for spec in use.kernel.params}
    numbers = {name: value for name, value in env.exact.items() if name not in own}
    said = {name: value for name, value in env.words.items() if name not in own}
    for name, value in use.params:
        found = exact_term(value, env)
        if found is not None:
            numbers[name] = found
        elif isinstance(value, Ref | Text):
            said[name] = env.words.get(value.name, value.name) if isinstance(value, Ref) else value.value
    unbound = (env.unbound | own) - numbers.keys() - said.keys()
    return msgspec.structs.replace(env, exact=numbers, words=said, unbound=unbound)


def _applies(defect: Defect, record: Flawed, env: Env) -> bool | None:
    versions = defect.get("versions")
    if isinstance(versions, Text) and not in_versions(record.version, versions.value):
        return False
    when = defect.get("when")
    return True if when is None else holds(when, env)


def _obligation(subject: int, host: Host, record: Flawed, defect: Defect, certain: bool) -> Obligation:
    effect, when = defect.get("effect"), defect.get("when")
    told = effect.value if isinstance(effect, Text) else "results are wrong"
    features = ", ".join(words(defect.get("feature"))) or "any processor"
    case = f" where {term_text(when)}" if when is not None else ""
    return Obligation(
        CODE,
        Verdict.REFUTED if certain else Verdict.UNPROVED,
        subject,
        part="using",
        message=f"`{record.name}` {record.version} on {features}{case}: {told}; `{host.party}` runs on `{host.target.name}`",
        value=record.version,
        limit=term_text(when) if when is not None else "",
        term=record.id,
        clause=record.origin,
        reason="its record lists the defect",
        help="use a version without the defect, other parameters, or a machine without the feature",
    )
