"""Experiments: every reference followed, and every missing one told."""

from __future__ import annotations

import os

import pytest

from pllm_lang.catalog.load import open_project
from pllm_lang.catalog.records import Record
from pllm_lang.ir.experiment import Deployment, Experiment
from pllm_lang.ir.lower.experiment import lower_experiment
from pllm_lang.text.finding import Finding, Verdict
from tests.ir.lowering import HEAD, ROOT

PATH = os.path.join(ROOT, "main.pllm")
REST = """
plan p under pol {
  input x: fx[2, 3] from client
  y = add(x, x)
  output y to client
}
target small { isa: [avx2] memory: 16GiB }
target large { isa: [avx2, avx512f] memory: 64GiB }
deployment two_hosts {
  kind: remote
  hosts: { client: small, inference: large }
  administered_by: { client: alice, inference: bob }
}
stock triples { of: beaver(64) count: 1000 provider: preparation ring_bits: 64 session: "s1" fresh: true }
"""


def lowered(fields: str) -> tuple[Experiment, list[tuple[str, str]], tuple[Finding, ...]]:
    text = HEAD + REST + f"experiment e under pol {{\n{fields}\n}}\n"
    opened = open_project([PATH], ROOT, {PATH: text})
    record = opened.library.get("./main.e")
    assert isinstance(record, Record)
    found = lower_experiment(opened.library, record)
    told = [(f.code, text[f.span.start : f.span.end]) for f in found.findings]
    return found.experiment, told, found.findings


def test_a_complete_experiment() -> None:
    experiment, told, _ = lowered(
        "plan: p\n deployment: two_hosts\n stock: [triples]\n budget: { requests: 1, max_new_tokens: 64 }"
    )
    assert told == []
    assert (experiment.plan, experiment.policy) == ("./main.p", "./main.pol")
    assert experiment.deployment == Deployment(
        "remote",
        "",
        (("client", "./main.small"), ("inference", "./main.large")),
        (("client", "alice"), ("inference", "bob")),
    )
    (stock,) = experiment.stocks
    assert (stock.key, stock.count, stock.provider, stock.ring_bits) == (
        "./main.triples",
        "1000",
        "preparation",
        "64",
    )
    assert (stock.session, stock.fresh, stock.weights) == ("s1", True, "")
    assert experiment.budget == (("max_new_tokens", "64"), ("requests", "1"))


def test_deployments_can_be_written_in_place() -> None:
    local, told, _ = lowered('plan: p\n deployment: local(root: "local://a", hosts: { client: small })')
    assert told == []
    assert local.deployment == Deployment("local", "local://a", (("client", "./main.small"),))
    remote, told, _ = lowered("plan: p\n deployment: { client: large }")
    assert told == []
    assert remote.deployment == Deployment("remote", "", (("client", "./main.large"),))


def test_an_experiment_without_a_deployment_asks_nothing_of_targets() -> None:
    experiment, told, _ = lowered("plan: p")
    assert told == []
    assert experiment.deployment is None
    assert experiment.stocks == ()


REFUSED = {
    "nothing to run": ("budget: { requests: 1 }", "experiments.no_subject"),
    "two things to run": ('plan: p\n model: huggingface("c.json")', "experiments.no_subject"),
    "unknown target": ("plan: p\n deployment: { client: smal }", "names.unknown"),
    "unknown party": ("plan: p\n deployment: { clint: small }", "names.unknown"),
    "unknown deployment": ("plan: p\n deployment: two_host", "names.unknown"),
    "a target as a deployment": ("plan: p\n deployment: small", "names.unknown"),
    "unknown stock": ("plan: p\n stock: [tripels]", "names.unknown"),
    "budget in words": ("plan: p\n budget: { requests: many }", "experiments.budget"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_missing(name: str) -> None:
    fields, code = REFUSED[name]
    _, told, _ = lowered(fields)
    assert [found for found, _ in told] == [code]


def test_a_model_is_unproved_and_never_accepted() -> None:
    _, told, findings = lowered('model: huggingface("c.json")')
    assert told == [("models.not_supported", 'model: huggingface("c.json")')]
    assert findings[0].verdict is Verdict.UNPROVED
