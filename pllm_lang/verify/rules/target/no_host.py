"""A party that takes part in a step and that the deployment gives no machine: nothing is known of what it runs on."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.text.finding import Verdict
from pllm_lang.verify.hosting import ExperimentView, parties_of
from pllm_lang.verify.obligation import Obligation

CODE = "target.no_host"


def check_experiment(view: ExperimentView) -> Iterator[Obligation]:
    """Every party that a step names has a host; a local deployment without hosts runs all of them on one machine."""
    deployment = view.experiment.deployment
    if deployment is None or (deployment.kind == "local" and not deployment.hosts):
        return
    placed = {party for party, _ in deployment.hosts}
    first: dict[str, int] = {}
    for met in view.flow.met:
        if met.judged.view is not None and met.step.results:
            for party in parties_of(met, ()):
                first.setdefault(party, met.step.results[0])
    for party, subject in sorted(first.items()):
        if party in placed:
            yield Obligation(CODE, Verdict.PROVED, subject, evidence=(party,))
        else:
            told = f"`{party}` takes part here, and the deployment gives it no machine"
            yield _missing(subject, told, ", ".join(f"`{host}`" for host in sorted(placed)))
    if not placed and not first:
        yield _missing(-1, "the deployment gives no party a machine")


def _missing(subject: int, message: str, hosts: str = "") -> Obligation:
    return Obligation(
        CODE,
        Verdict.UNPROVED,
        subject,
        message=message,
        help="add the party to `hosts:` of the deployment" + (f", which names {hosts}" if hosts else ""),
    )
