"""One-use material that lives longer than one execution, so that the next one uses it again."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.verify.flow import Flow
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.proving import obligations
from pllm_lang.verify.view import PlanView

CODE = "material.used_twice"


def check_plan(plan: PlanView, flow: Flow) -> Iterator[Obligation]:
    yield from obligations(plan, flow, CODE)
