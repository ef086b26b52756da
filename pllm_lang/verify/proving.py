"""The proof of a plan under a policy, made when the first rule asks for it and kept for the others.

The prover and what lowers protocols load only here, when there is something to prove: a plan under no policy is
checked without them.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from pllm_lang.catalog.records import Policy
from pllm_lang.ir.experiment import Experiment
from pllm_lang.verify.flow import Flow
from pllm_lang.verify.hosting import ExperimentView
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.view import PlanView

_last: list[tuple[Flow, Policy, Any]] = []
_asked: list[tuple[ExperimentView, tuple[Obligation, ...]]] = []


def proof_of(plan: PlanView, flow: Flow) -> Any:
    """The `narrations.plan.Proof` of the plan that `flow` is the walk of; None where it is under no policy.

    One walk serves a plan under several policies (an experiment may have its own), so a proof is kept for both.
    """
    if plan.policy is None:
        return None
    if not _last or _last[0][0] is not flow or _last[0][1] != plan.policy:
        prove_plan = importlib.import_module("pllm_lang.verify.narrations.plan").prove_plan
        _last[:] = [(flow, plan.policy, prove_plan(plan, plan.policy, flow))]
    return _last[0][2]


def of_experiment(view: ExperimentView, code: str) -> Iterator[Obligation]:
    """What an experiment asks of its stocks, by this code."""
    if not _asked or _asked[0][0] is not view:
        _asked[:] = [(view, tuple(_material(view)))]
    yield from (o for o in _asked[0][1] if o.code == code)


def _material(view: ExperimentView) -> Iterator[Obligation]:
    proof = proof_of(view.plan, view.flow)
    if proof is not None and view.experiment.stocks:
        material = importlib.import_module("pllm_lang.verify.narrations.material").material
        yield from material(view.experiment, proof.composed, view.plan.plan, view.plan.library, view.others)


def drawn_of(experiment: Experiment, plan: PlanView | None, flow: Flow | None, stock: str) -> Any:
    """What an experiment burns of a stock, as the check of another one asks it."""
    proof = None if flow is None or plan is None else proof_of(plan, flow)
    module = importlib.import_module("pllm_lang.verify.narrations.material")
    return module.drawn(experiment, None if proof is None else proof.composed, stock)


def distances(view: ExperimentView) -> Iterator[Obligation]:
    """Statistical distances over an experiment's budget."""
    proof, policy = proof_of(view.plan, view.flow), view.plan.policy
    if proof is not None and view.experiment.budget:
        over = importlib.import_module("pllm_lang.verify.narrations.plan").over_the_budget
        yield from over(proof, view.experiment, policy)


def stopping(view: ExperimentView) -> Iterator[Obligation]:
    """Who learns when the last token was made, over an experiment's budget."""
    proof, policy = proof_of(view.plan, view.flow), view.plan.policy
    if proof is not None and view.experiment.budget:
        asked = importlib.import_module("pllm_lang.verify.narrations.stopping").stopping
        yield from asked(proof.composed, view.plan.plan, view.experiment, policy)


def primitives(plan: PlanView, flow: Flow) -> Iterator[tuple[int, str, str]]:
    """(value, component, primitive) for every primitive that the proof of the plan rests on."""
    proof = proof_of(plan, flow)
    if proof is not None:
        yield from importlib.import_module("pllm_lang.verify.narrations.resting").primitives(proof.composed)


def obligations(plan: PlanView, flow: Flow, code: str) -> Iterator[Obligation]:
    """The obligations of the proof with this code, or of this family where it ends in a dot."""
    proof = proof_of(plan, flow)
    if proof is not None:
        yield from (
            o for o in proof.obligations if o.code == code or (code.endswith(".") and o.code.startswith(code))
        )
