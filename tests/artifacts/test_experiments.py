"""Experiments: what their budget burns and what their machines have is worked out again from the lock, not believed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pllm_lang.artifacts.replay.lock import replay
from pllm_lang.artifacts.replay.refusal import ReplayError
from tests.artifacts.locks import ROOT, compiled, data, of_text, sealed

EXPERIMENT = """pllm 1

import std.components [freivalds_verify]
import std.formats [f32]
import std.pipelines [verified_masked_linear_cpu]
import std.policies [single_evaluator]

stock corrections {
  of: correction
  count: 32
  provider: preparation
  ring_bits: 32
  fresh: true
}

target box {
  isa: [sse2, avx, avx2, fma]
  memory: 100KiB
  cores: 2
  features: ["prepared-public-linear-v1"]
  ring_bits: 32
}

deployment three {
  kind: remote
  hosts: { client: box, preparation: box, inference: box }
  administered_by: { client: user, preparation: helper, inference: operator }
}

plan mlp under single_evaluator {
  input  h:      f32[8, 64] from client where abs(h) <= 12
  weight w_up:   f32[128, 64] public
  weight w_down: f32[64, 128] public
  up_sums   = linear(h, w_up)
  up        = encode(up_sums, to: f32)
  a         = silu(up)
  down_sums = linear(a, w_down)
  down      = encode(down_sums, to: f32)
  y         = add(h, down)
  output y to client
}

experiment run under single_evaluator {
  plan: mlp
  deployment: three
  stock: [corrections]
  pipeline: verified_masked_linear_cpu(verification: freivalds_verify(checks: 2))
  budget: { requests: 2, max_input_tokens: 8, max_new_tokens: 1 }
}
"""


@pytest.fixture(name="lock")
def _lock() -> Any:
    return data(of_text(EXPERIMENT, "run"))


def test_what_is_shown_and_what_is_trusted(lock: Any) -> None:
    found = replay(sealed(lock))
    asked = {"material.shortage", "material.binding", "target.capacity", "target.feature", "target.no_host"}
    assert asked | {"target.ring", "coverage.tokens", "bounds.undetected"} <= found.shown.keys()
    assert found.trusted == (
        "the modules and files of which it holds digests say what it says",
        "no other experiment burns any of `corrections`",
    )


Forge = Callable[[Any], None]


def experiment(lock: Any) -> Any:
    return lock["documents"]["experiment"]


def record(lock: Any, key: str) -> Any:
    (found,) = lock["documents"]["records"][key].values()
    return found


def budget(what: str, value: str) -> Forge:
    def forge(lock: Any) -> None:
        pairs = experiment(lock)["budget"]
        (pair,) = (pair for pair in pairs if pair[0] == what)
        pair[1] = value

    return forge


def stock(place: int, value: Any) -> Forge:
    return lambda lock: experiment(lock)["stocks"][0].__setitem__(place, value)


def target(field: str, value: Any) -> Forge:
    return lambda lock: record(lock, "./plan.box")["fields"].__setitem__(field, value)


def hosts(lock: Any) -> None:
    deployment = experiment(lock)["deployment"]
    deployment[2] = [pair for pair in deployment[2] if pair[0] != "inference"]


def no_bundle(lock: Any) -> None:
    for text in lock["documents"]["protocols"]:
        text[1]["body"] = [line for line in text[1]["body"] if line[0] != "bundle"]


def cheaper_unit(lock: Any) -> None:
    for text in lock["documents"]["protocols"]:
        for line in text[1]["body"]:
            line[:] = [*line[:2], "call", *line[3:]] if line[0] == "bundle" else line


def same_stock_twice(lock: Any) -> None:
    experiment(lock)["stocks"] *= 2


def fewer_checks(lock: Any) -> None:
    for slot, use in experiment(lock)["slots"]:
        if slot == "verification":
            use[1] = [[name, ["num", "1"]] if name == "checks" else [name, one] for name, one in use[1]]


def smaller_field(lock: Any) -> None:
    """The failure stays as it was stated, but products of 32 bits are checked modulo 65,521: an entry off by that passes."""
    verify = record(lock, "std.components.freivalds_verify")
    verify["carrier"] = ["apply", "ring", [], [["modulus", ["num", "65521"]]]]


def no_assumption(lock: Any) -> None:
    certificate = lock["documents"]["certificate"]
    for duty in certificate["duties"]:
        duty[3] = [one for one in duty[3] if "was made from the weights" not in one]
    certificate["assumed"] = [one for one in certificate["assumed"] if "was made from the weights" not in one]


def kernel(lock: Any) -> None:
    """The kernels of the backend run on machines of another kind."""
    for found in lock["documents"]["records"].values():
        if "kernel" in found:
            found["kernel"]["variants"] = ["neon"]


def feature(lock: Any) -> None:
    record(lock, "std.components.masked_linear")["host_features"] = ["enclave"]


def feature_of_a_slot(lock: Any) -> None:
    record(lock, "std.components.inference")["host_features"] = ["enclave"]


def memory_of_a_call(lock: Any) -> None:
    record(lock, "std.components.masked_linear")["memory"] = ["num", "1000000"]


def left_out(lock: Any) -> None:
    """A component of the pipeline is not in the lock, so that nothing is known of what it asks."""
    del lock["documents"]["records"]["std.components.inference"]
    del lock["components"]["std.components.inference"]


SHORT, TARGET, BOUND = "certificate.material", "certificate.target", "certificate.bound"
FORGED: dict[str, tuple[Forge, str]] = {
    "one row less in the stock": (stock(2, "31"), SHORT),
    "a count that is none": (stock(2, "-1"), "lock.form"),
    "one stock twice": (same_stock_twice, SHORT),
    "material of another kind": (stock(1, ["ref", "triple"]), SHORT),
    "material of another ring": (stock(4, "64"), SHORT),
    "material of a ring that is not said": (stock(4, ""), SHORT),
    "from somebody else": (stock(3, "inference"), SHORT),
    "of other weights": (stock(5, "sha256:0"), SHORT),
    "of another session": (stock(6, "monday"), SHORT),
    "used before": (stock(7, False), SHORT),
    "no bundle in the text": (no_bundle, SHORT),
    "a bundle for each call": (cheaper_unit, SHORT),
    "one request more": (budget("requests", "3"), SHORT),
    "more answers": (budget("max_new_tokens", "2"), SHORT),
    "a budget below zero": (budget("requests", "-2"), "lock.form"),
    "more input tokens": (budget("max_input_tokens", "9"), BOUND),
    "fewer checks of results": (fewer_checks, BOUND),
    "checks that do not tell entries apart": (smaller_field, BOUND),
    "an assumption that is not listed": (no_assumption, "certificate.assumed"),
    "less memory": (target("memory", ["num", "20000"]), TARGET),
    "no memory": (target("memory", ["ref", "much"]), TARGET),
    "another ring of the runtime": (target("ring_bits", ["num", "64"]), TARGET),
    "a party without a machine": (hosts, TARGET),
    "kernels for another machine": (kernel, TARGET),
    "a feature that nobody has": (feature, TARGET),
    "a feature that a role needs": (feature_of_a_slot, TARGET),
    "a component that needs more memory": (memory_of_a_call, TARGET),
    "a record that is left out": (left_out, "certificate.plan"),
}  # fmt: skip
"""A change of the lock that makes it ask too much of its stocks or machines, and the code of the refusal."""


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_experiment_is_refused(case: str, lock: Any) -> None:
    forge, code = FORGED[case]
    forge(lock)
    with pytest.raises(ReplayError) as refused:
        replay(sealed(lock))
    assert refused.value.code == code, refused.value


@pytest.mark.parametrize(
    "code",
    ["material.shortage", "material.binding", "target.capacity", "target.feature", "target.no_host", "target.ring",
     "coverage.tokens", "bounds.undetected"],
)  # fmt: skip
def test_an_obligation_of_the_experiment_that_is_left_out(code: str, lock: Any) -> None:
    duties = lock["documents"]["certificate"]["duties"]
    kept = [duty for duty in duties if duty[0] != code]
    assert len(kept) < len(duties)
    lock["documents"]["certificate"]["duties"] = kept
    told = {one for duty in kept for one in duty[3]}
    lock["documents"]["certificate"]["assumed"] = sorted(told)
    with pytest.raises(ReplayError):
        replay(sealed(lock))


def test_states_are_in_memory_too() -> None:
    corpus = ROOT / "tests" / "corpus" / "target" / "capacity"
    lock = data(compiled(corpus / "states_fit.pllm", "run"))
    assert replay(sealed(lock)).shown["target.capacity"] == 1
    record(lock, "./states_fit.machine")["fields"]["memory"] = ["num", "614400"]
    with pytest.raises(ReplayError, match="needs 720896 bytes, and `machine` has 614400"):
        replay(sealed(lock))


def test_a_value_takes_the_room_of_its_format() -> None:
    """A storage width of one bit was believed."""
    lock = data(compiled(ROOT / "tests" / "corpus" / "target" / "capacity" / "states_fit.pllm", "run"))
    record(lock, "./states_fit.machine")["fields"]["memory"] = ["num", "614400"]
    for form in lock["documents"]["ir"]["formats"]:
        assert form[2]
        assert form[3]
        form[6] = 1
    with pytest.raises(ReplayError, match="needs 720896 bytes"):
        replay(sealed(lock))


def test_a_budget_says_how_often_later_stages_run() -> None:
    corpus = ROOT / "tests" / "corpus" / "coverage" / "tokens"
    lock = data(compiled(corpus / "later_stage_said.pllm", "said"))
    replay(sealed(lock))
    experiment(lock)["budget"] = [pair for pair in experiment(lock)["budget"] if pair[0] == "requests"]
    with pytest.raises(ReplayError, match="how often the later stages run"):
        replay(sealed(lock))
