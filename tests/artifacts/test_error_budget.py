"""Replay does not follow errors: a lock under a policy that limits them is refused as beyond it, with the obligation or without."""

import pytest

from pllm_lang.artifacts.replay.lock import replay
from pllm_lang.artifacts.replay.refusal import ReplayError
from tests.artifacts.locks import data, of_text, sealed

PLAN = """pllm 1

import std.formats [fx64_16]

policy close {
  parties [client, server]
  adversary semi_honest corrupts 1 of [server]
  learns client: [results]
  error_budget: 2^-16
}

plan product under close {
  input x: fx64_16[8] from client where abs(x) <= 4
  z = mul(x, x) @ client
  output z to client
}
"""


@pytest.mark.parametrize("left_out", [False, True])
def test_a_limit_of_errors_is_beyond_replay(left_out: bool) -> None:
    lock = data(of_text(PLAN))
    certificate = lock["documents"]["certificate"]
    assert any(duty[0] == "bounds.error" for duty in certificate["duties"])
    if left_out:
        certificate["duties"] = [duty for duty in certificate["duties"] if duty[0] != "bounds.error"]
    with pytest.raises(ReplayError) as refused:
        replay(sealed(lock))
    assert refused.value.code == "certificate.beyond"
