"""Integer masks hide their values less well than the policy asks, over all that a coalition sees."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.verify.flow import Flow
from pllm_lang.verify.hosting import ExperimentView
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.proving import distances, obligations
from pllm_lang.verify.view import PlanView

CODE = "placement.distance"


def check_plan(plan: PlanView, flow: Flow) -> Iterator[Obligation]:
    yield from obligations(plan, flow, CODE)


def check_experiment(view: ExperimentView) -> Iterator[Obligation]:
    yield from distances(view)
