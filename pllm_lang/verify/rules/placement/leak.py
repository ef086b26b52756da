"""What a coalition sees of the whole plan depends on a secret that it may not learn."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.verify.flow import Flow
from pllm_lang.verify.hosting import ExperimentView
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.proving import obligations, of_experiment
from pllm_lang.verify.view import PlanView

CODE = "placement.leak"


def check_plan(plan: PlanView, flow: Flow) -> Iterator[Obligation]:
    yield from obligations(plan, flow, CODE)


def check_experiment(view: ExperimentView) -> Iterator[Obligation]:
    """An experiment under another policy than its plan asks everything of the plan again, under that policy."""
    yield from of_experiment(view, "placement.")
