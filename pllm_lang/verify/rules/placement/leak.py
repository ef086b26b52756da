"""What a coalition sees of the whole plan depends on a secret that it may not learn."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.verify.flow import Flow
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.proving import obligations
from pllm_lang.verify.view import PlanView

CODE = "placement.leak"


def check_plan(plan: PlanView, flow: Flow) -> Iterator[Obligation]:
    yield from obligations(plan, flow, CODE)
