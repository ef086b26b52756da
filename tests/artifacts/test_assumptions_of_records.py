"""What a component's record takes for granted is listed: in the report, in the lock, and by replay, which refuses a lock without."""

from pathlib import Path

import pytest

from pllm_lang.artifacts.replay.lock import replay
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.cli.checking import check_files
from pllm_lang.cli.told import assumptions
from tests.artifacts.locks import data, of_text, sealed

PLAN = """pllm 1

import std.formats [fx64_18]
import std.methods [gelu_64]

plan activation {
  input x: fx64_18[4] from client where abs(x) <= 40
  y = gelu(x) using gelu_64
  z = gelu(y) using gelu_64
  output z to client
}
"""
TOLD = (
    "of `gelu_64`: the approximation error, claimed over the reals; "
    "the bound leaves as much again for rounding inside"
)


def test_the_report_lists_it_once(tmp_path: Path) -> None:
    path = tmp_path / "p.pllm"
    path.write_text(PLAN)
    (report,) = check_files([str(path)], str(tmp_path)).reports
    assert assumptions(report) == (TOLD,)


def test_replay_lists_it() -> None:
    assert TOLD in replay(of_text(PLAN)).assumed


def test_a_lock_that_leaves_it_out_is_refused() -> None:
    lock = data(of_text(PLAN))
    certificate = lock["documents"]["certificate"]
    assert certificate["assumed"] == [TOLD]
    certificate["assumed"] = []
    listing = [part for duty in certificate["duties"] for part in duty if part == [TOLD]]
    (part,) = listing
    part.clear()
    with pytest.raises(ReplayError) as refused:
        replay(sealed(lock))
    assert refused.value.code == "certificate.assumed"


CLAIMS = """pllm 1

import std.formats [int8]

## The sum of two tensors.
operator sum_of_both {F} (x: F[...s], y: F[...s]) -> (z: F[...s]) {
  means z = x + y
  ensures max_abs(z) <= max_abs(x) + max_abs(y)
}

component sums = "example/sums" {
  kind: method
  version: "1"
  implements: sum_of_both
  ensures norm2(z) <= 100
  ensures error(z) <= 0
}

plan adds {
  input x: int8[4] from client where abs(x) <= 10
  y = sum_of_both(x, x) using sums
  z = add(y, x) @ client
  output z to client
}
"""
CLAIMED = tuple(f"of `{name}`: what its record ensures of its results" for name in ("sums", "sum_of_both"))


def test_bounds_that_only_a_record_states_are_listed(tmp_path: Path) -> None:
    """Those of the library are tested against execution, so only another record's are taken for granted."""
    path = tmp_path / "p.pllm"
    path.write_text(CLAIMS)
    (report,) = check_files([str(path)], str(tmp_path)).reports
    assert assumptions(report) == CLAIMED
    assert set(CLAIMED) <= set(replay(of_text(CLAIMS)).assumed)
