"""`compile_plan`: the lock of a file's plan as an object that cannot be made or changed otherwise."""

from __future__ import annotations

import copy
import pickle

import pytest

import pllm_lang
from pllm_lang import LockedPlan, PlanRefused, compile_plan
from pllm_lang.artifacts.replay.lock import replay
from tests.artifacts.locks import EXAMPLES, compiled


def test_a_plan_and_an_experiment() -> None:
    plan = compile_plan(EXAMPLES / "first_look.pllm", "ten_tokens")
    assert plan.plan_lock == compiled(EXAMPLES / "first_look.pllm", "ten_tokens")
    assert plan.input_shape == (1, 896)
    assert plan.output_shapes == {"y": (1, 896), "sz": (1,)}
    assert replay(plan.plan_lock).plan_lock_digest == plan.plan_lock_digest
    assert plan.digests["certificate"] != plan.digests["ir"]
    assert set(plan.role_programs[""]) >= {"client", "preparation", "inference"}
    assert len(plan.role_programs[""]["inference"]) == 4
    with pytest.raises(ValueError, match="2 outputs"):
        _ = plan.output_shape


def test_what_is_refused() -> None:
    with pytest.raises(PlanRefused) as refused:
        compile_plan(EXAMPLES / "refused" / "first_look_short_stock.pllm", "ten_tokens")
    assert "material.shortage" in {finding.code for finding in refused.value.findings}
    for name in ("", "other"):
        with pytest.raises(PlanRefused, match="it holds: gated_mlp, ten_tokens"):
            compile_plan(EXAMPLES / "first_look.pllm", name)
    with pytest.raises(PlanRefused, match="has errors"):
        compile_plan(EXAMPLES / "none.pllm")


def test_it_cannot_be_made_changed_or_copied_apart() -> None:
    plan = compile_plan(EXAMPLES / "llama_block.pllm")
    with pytest.raises(TypeError, match="compile_plan"):
        LockedPlan()
    with pytest.raises(TypeError):
        type("Mine", (LockedPlan,), {})
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(plan)
    with pytest.raises(AttributeError):
        plan.plan_lock = b""  # type: ignore[misc]
    documents = plan.documents
    documents["ir"].clear()
    assert plan.documents["ir"]
    assert copy.deepcopy(plan) is plan
    assert plan == compile_plan(EXAMPLES / "llama_block.pllm")
    assert hash(plan) == hash(compile_plan(EXAMPLES / "llama_block.pllm"))


def test_the_names_are_public() -> None:
    assert {"LockedPlan", "PlanRefused", "compile_plan"} <= set(pllm_lang.__all__)
