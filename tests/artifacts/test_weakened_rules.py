"""Every rule of the verifier made blind, one at a time: what it refused is accepted then, and replay refuses its certificate.

A blind rule says *proved* of whatever it would refuse. For each rule the files of its corpus that expect it are checked with it and
without; plans that are accepted only without it are locked and replayed.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pllm_lang.artifacts.lock import compile_report
from pllm_lang.artifacts.replay.lock import replay
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.catalog.records import Record
from pllm_lang.cli.checking import check_files
from pllm_lang.text.finding import Verdict
from pllm_lang.verify import judge
from pllm_lang.verify.experiments import check_record
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.registry import rule_codes
from tests.artifacts.locks import ROOT
from tests.artifacts.texts import POLICED

CORPUS = ROOT / "tests" / "corpus"
CHECKS = ("check_step", "check_plan", "check_node", "check_experiment", "check_component")
Check = Callable[..., Iterator[Obligation]]

TWICE = """pllm 1

import std.formats [ring64]
import std.policies [client_server]

component tuples = "test/tuples" {
  kind: method
  version: "1"
  implements: neg
  roles: [client, server]
  adversaries: [semi_honest]
  protocol (x: ring64[m] from client) -> (y: ring64[m] to client) {
    offline {
      fresh r: ring64[m] from client
      fresh t: ring64[m] per session from client
      bundle mask per entry { r, t }
    }
    online {
      client: u = x + r
      client -> server: u
      client: y = -x + t - t
    }
  }
}

plan once under client_server {
  input x: ring64[2] from client where abs(x) <= 1
  y = neg(x) using tuples
  output y to client
}
"""
TEXTS = {
    "assurance.forbidden_property": POLICED.replace("[measured]", "[experimental]"),
    "versions.security_level": POLICED.replace("level: 128", "level: 127"),
    "material.used_twice": TWICE,
}
"""Texts that are refused by a rule alone, where its corpus has none."""


def blind(check: Check) -> Check:
    def checks(*args: Any) -> Iterator[Obligation]:
        for found in check(*args):
            yield msgspec.structs.replace(found, verdict=Verdict.PROVED)

    return checks


def accepted(path: Path) -> dict[str, Callable[[], bytes]]:
    """The locks of the plans and experiments of a file that are accepted."""
    checked = check_files([str(path)], str(path.parent))
    project, library = checked.opened.project, checked.opened.library
    records = [r for key in library.keys("experiment") if isinstance(r := library.get(key), Record)]

    def lock(report: Any) -> bytes:
        own = [record for record in records if record.name == report.name]
        experiment = check_record(project, library, own[0]).experiment if own else None
        return compile_report(report, project, library, experiment).content

    return {one.name: (lambda one=one: lock(one)) for one in checked.reports if one.accepted}


@pytest.mark.parametrize("code", list(rule_codes()))
def test_a_blind_rule_is_seen_through(code: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "own.pllm").write_text(TEXTS.get(code, "pllm 1\n"), encoding="utf-8")
    corpus = sorted((CORPUS / code.replace(".", "/")).glob("*.pllm"))
    told = [path for path in corpus if code in path.read_text(encoding="utf-8")]
    files = [*told, tmp_path / "own.pllm"]
    before = {path: set(accepted(path)) for path in files}
    module = importlib.import_module(f"pllm_lang.verify.rules.{code}")
    for name in CHECKS:
        if hasattr(module, name):
            monkeypatch.setattr(module, name, blind(getattr(module, name)))
    judge.step_rules.cache_clear()
    try:
        locks = [
            lock() for path in files for name, lock in accepted(path).items() if name not in before[path]
        ]
    finally:
        monkeypatch.undo()
        judge.step_rules.cache_clear()
    assert locks, "the rule refuses nothing alone"
    for content in locks:
        with pytest.raises(ReplayError):
            replay(content)
