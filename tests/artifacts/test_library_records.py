"""Records called like the library's have to be the library's: a lock brings its own copies along."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pllm_lang.artifacts.library_records import altered_records, own_records
from pllm_lang.artifacts.replay.lock import replay
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.catalog.load import shipped_library
from tests.artifacts.locks import MASKED, SHARED, data, of_text, sealed
from tests.artifacts.test_lock import pllm

POLICY = "std.policies.single_evaluator"


def altered(lock: bytes) -> tuple[str, ...]:
    return altered_records(replay(lock), shipped_library())


def another_record(documents: Any) -> str:
    documents["records"]["std.operators.clamp"]["operator"]["fields"] = {"other": ["num", "1"]}
    return "std.operators.clamp"


def a_record_that_the_library_has_not(documents: Any) -> str:
    clamp = documents["records"]["std.operators.clamp"]["operator"]
    documents["records"]["std.operators.better"] = {"operator": {**clamp, "name": "better"}}
    return "std.operators.better"


def a_policy_that_lets_more_be_learnt(documents: Any) -> str:
    documents["policy"]["learns"]["inference"].append("x")
    return POLICY


def a_policy_with_fewer_to_corrupt(documents: Any) -> str:
    documents["policy"]["adversaries"] = [["semi_honest", 1, ["preparation"], ["", 0, 0]]]
    certificate = documents["certificate"]
    certificate["parts"] = [one for one in certificate["parts"] if one[1] == ["preparation"]]
    certificate["seen"] = [one for one in certificate["seen"] if one[2] == ["preparation"]]
    certificate["duties"] = [one for one in certificate["duties"] if "inference" not in one[2]]
    return POLICY


FORGED = [
    another_record,
    a_record_that_the_library_has_not,
    a_policy_that_lets_more_be_learnt,
    a_policy_with_fewer_to_corrupt,
]


@pytest.mark.parametrize("forge", FORGED)
def test_what_is_called_like_the_library_and_is_not_is_named(forge: Any, tmp_path: Path) -> None:
    lock = data(of_text(MASKED))
    key = forge(lock["documents"])
    assert altered(sealed(lock)) == (key,)
    (tmp_path / "forged.lock.json").write_bytes(sealed(lock))
    done = pllm("replay", "forged.lock.json", "--format", "json", cwd=tmp_path)
    told = json.loads(done.stdout)
    assert (done.returncode, told["code"]) == (1, "lock.library")
    assert key in told["message"]


def test_a_module_of_the_library_is_as_it_is_here() -> None:
    lock = data(of_text(MASKED))
    lock["digests"]["modules"]["std.formats"] = "0" * 64
    assert altered(sealed(lock)) == ("std.formats",)


def test_a_policy_that_the_lock_does_not_hold() -> None:
    """Every obligation of the policy is gone with it, and the plan still says that it is under it."""
    lock = data(of_text(SHARED))
    documents = lock["documents"]
    documents |= {"policy": None, "programs": [], "protocols": []}
    certificate = documents["certificate"]
    certificate |= {"seen": [], "parts": [], "assumed": []}
    families = ("placement", "protocol")
    certificate["duties"] = [one for one in certificate["duties"] if not one[0].startswith(families)]
    with pytest.raises(ReplayError, match="under a policy that the lock does not hold"):
        replay(sealed(lock))


def test_what_a_plan_brings_along_is_listed(tmp_path: Path) -> None:
    assert altered(of_text(MASKED)) == altered(of_text(SHARED)) == ()
    done = replay(of_text(SHARED))
    assert own_records(done.records, done.policy) == (done.policy,)
    (tmp_path / "shared.lock.json").write_bytes(of_text(SHARED))
    told = pllm("replay", "shared.lock.json", cwd=tmp_path).stdout
    assert f"  brought along   {done.policy}" in told.splitlines()
