"""A party learns sizes, stages or their end, and the policy does not let it."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.verify.flow import Flow
from pllm_lang.verify.hosting import ExperimentView
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.proving import obligations, stopping
from pllm_lang.verify.view import PlanView

CODE = "placement.pattern"


def check_plan(plan: PlanView, flow: Flow) -> Iterator[Obligation]:
    yield from obligations(plan, flow, CODE)


def check_experiment(view: ExperimentView) -> Iterator[Obligation]:
    yield from stopping(view)
