"""A kernel is known to be wrong on this machine, in this version, for these parameters."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term, holds
from pllm_lang.catalog.expr import Expr, Text
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.hosting import ExperimentView, Host, KernelUse, defects_of, kernels_of, steps_at, words
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.releases import in_versions
from pllm_lang.verify.terms import term_text
from pllm_lang.verify.view import StepView

CODE = "target.defect"


def check_experiment(view: ExperimentView) -> Iterator[Obligation]:
    """No known defect of a kernel applies on the host that runs it; what cannot be excluded counts."""
    for host in view.hosts:
        for met, step in steps_at(host, view):
            for use in kernels_of(step, view.plan):
                yield from _judge(host, step, use, met.step.results[0])


def _judge(host: Host, step: StepView, use: KernelUse, subject: int) -> Iterator[Obligation]:
    env = _environment(step.env, use)
    for defect in defects_of(use.kernel.fields):
        features = set(words(defect.get("feature")))
        elsewhere = bool(features) and not features <= host.isa
        when = defect.get("when")
        applies = None if elsewhere else _applies(defect, use, env)
        if elsewhere or applies is False:
            yield Obligation(CODE, Verdict.PROVED, subject, evidence=(use.kernel.id, host.party))
        else:
            yield _obligation(subject, host, use, defect, when, certain=applies is True)


def _environment(env: Env, use: KernelUse) -> Env:
    numbers = {name: exact_term(value, env) for name, value in use.params}
    known = {name: value for name, value in numbers.items() if value is not None}
    return msgspec.structs.replace(env, exact=env.exact | known)


def _applies(defect: dict[str, Expr], use: KernelUse, env: Env) -> bool | None:
    versions = defect.get("versions")
    if isinstance(versions, Text) and not in_versions(use.kernel.version, versions.value):
        return False
    when = defect.get("when")
    return True if when is None else holds(when, env)


def _obligation(
    subject: int, host: Host, use: KernelUse, defect: dict[str, Expr], when: Expr | None, certain: bool
) -> Obligation:
    effect = defect.get("effect")
    told = effect.value if isinstance(effect, Text) else "results are wrong"
    features = ", ".join(words(defect.get("feature"))) or "any processor"
    case = f" where {term_text(when)}" if when is not None else ""
    return Obligation(
        CODE,
        Verdict.REFUTED if certain else Verdict.UNPROVED,
        subject,
        part="using",
        message=f"`{use.kernel.name}` {use.kernel.version} on {features}{case}: {told}; `{host.party}` runs on `{host.target.name}`",
        value=use.kernel.version,
        limit=term_text(when) if when is not None else "",
        term=use.kernel.id,
        clause=use.kernel.origin,
        reason="this kernel's record lists the defect",
        help="use a version without the defect, other parameters, or a machine without the feature",
    )
