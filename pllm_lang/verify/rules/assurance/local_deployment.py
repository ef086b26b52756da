"""A local deployment under a policy that forbids it: all parties are run by one."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.text.finding import Verdict
from pllm_lang.verify.hosting import ExperimentView
from pllm_lang.verify.obligation import Obligation

CODE = "assurance.local_deployment"
FORBIDDEN = "local_deployment"


def check_experiment(view: ExperimentView) -> Iterator[Obligation]:
    """Under `forbids [local_deployment]` the parties run on machines of their own."""
    policy, deployment = view.plan.policy, view.experiment.deployment
    if policy is None or FORBIDDEN not in policy.forbids or deployment is None:
        return
    if deployment.kind != "local":
        yield Obligation(CODE, Verdict.PROVED, -1)
        return
    yield Obligation(
        CODE,
        Verdict.REFUTED,
        -1,
        message="the policy forbids local deployments, and here all parties run on one machine",
        help="deploy the parties on machines of their own, or use a policy for testing",
    )
