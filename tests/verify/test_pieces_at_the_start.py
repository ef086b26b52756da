"""What a verdict takes for granted of pieces that an input begins in, in the report and in a replay."""

from __future__ import annotations

import pytest

from pllm_lang.artifacts.replay.lock import replay
from pllm_lang.cli.checking import check_files
from pllm_lang.cli.told import assumptions
from tests.artifacts.locks import of_text

HEAD = """pllm 1

import std.holdings [additive]
import std.protocols [additive_add]

format whole = fixed(64, 18, ring: ring(64))

policy ours {
  parties [client, p0, p1]
  adversary semi_honest corrupts 1 of [p0, p1]
  security: { computational: 128, statistical: 40 }
  learns client: [results]
  learns p0: [lengths, stages, stop]
  learns p1: [lengths, stages, stop]
}

plan sums under ours {
"""
INPUT = "  input x: whole[2, 3]{} as additive(p0, p1) where abs(x) <= 8\n"
STEP = "    y = add(x, x) using additive_add\n    output y\n"
FRESH = "`client` shares `x` with fresh uniform pieces"
ALONE = "the pieces that `x` begins in tell nothing by themselves"


@pytest.mark.parametrize(
    ("owner", "stages", "assumed"),
    [
        (" from client", 1, FRESH),
        ("", 1, ALONE),
        (" from client", 2, ALONE),
        ("", 2, ALONE),
    ],
)
def test_the_report_and_the_replay_list_it(owner: str, stages: int, assumed: str) -> None:
    steps = (STEP,) if stages == 1 else [f"  stage s{n} {{\n{STEP}  }}\n" for n in range(stages)]
    text = HEAD + INPUT.format(owner) + "".join(steps) + "}\n"
    (report,) = check_files(["plan.pllm"], "/nowhere", {"plan.pllm": text}).reports
    assert report.accepted, [finding.message for finding in report.findings]
    told = (FRESH, ALONE)
    assert [one for one in assumptions(report) if one in told] == [assumed]
    assert [one for one in replay(of_text(text)).assumed if one in told] == [assumed]
