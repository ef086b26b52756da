"""A component of the plan whose protocol is not proved by itself, as it is used here: its result, or anything else of it."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.verify.flow import Flow
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.proving import obligations
from pllm_lang.verify.view import PlanView

CODE = "protocol.wrong_result"


def check_plan(plan: PlanView, flow: Flow) -> Iterator[Obligation]:
    """Whatever the proof has to say of single protocols (`protocol.*`)."""
    yield from obligations(plan, flow, "protocol.")
