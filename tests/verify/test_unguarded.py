"""What the report and a replay say of parties that no adversary of the policy corrupts."""

from __future__ import annotations

import pytest

from pllm_lang.artifacts.replay.lock import replay
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.cli.checking import check_files
from tests.artifacts.locks import of_text

PLAN = """pllm 1

import std.protocols [additive_share, beaver_matmul, additive_reveal]

format whole = fixed(128, 18, ring: ring(128))
format twice = fixed(128, 36, ring: ring(128))

policy ours {{
  parties [client, owner, p0, p1, dealer, auditor]
  adversary semi_honest corrupts 1 of [{corrupted}]
  security: {{ computational: 128, statistical: 40 }}
  learns client: [{client}]
  learns owner: [{owner}]
  learns p0: [lengths]
  learns p1: [lengths]
  learns dealer: [lengths]
}}

plan block under ours {{
  input  x: whole[2, 3] from client where abs(x) <= 8
  weight w: whole[3, 2] {weight} where abs(w) <= 1
  xs = share(x) using additive_share
  ws = share(w) using additive_share(client: owner)
  hs = matmul(xs, ws) using beaver_matmul(product: twice)
  h  = reveal(hs) using additive_reveal
  output h to client
}}
"""
USUAL = {
    "corrupted": "p0, p1, dealer",
    "client": "results",
    "owner": "lengths",
    "weight": "secret from [client, p0, p1, dealer]",
}
SAID = "no adversary corrupts {}, so nobody looked at what is seen there of {} inside protocols"


def said(**changed: str) -> list[str]:
    text = PLAN.format(**(USUAL | changed))
    (report,) = check_files(["plan.pllm"], "/nowhere", {"plan.pllm": text}).reports
    assert report.accepted, [finding.message for finding in report.findings]
    return [one.why for one in report.not_asked if one.family == "adversary"]


@pytest.mark.parametrize(
    ("changed", "who", "what"),
    [
        ({}, "`client` or `owner`", "`w`, `x`"),
        ({"corrupted": "p0, p1, dealer, owner"}, "`client`", "`w`"),
        ({"corrupted": "p0, p1, dealer, client"}, "`owner`", "`x`"),
        ({"owner": "lengths, x"}, "`client`", "`w`"),  # the policy lets it learn that
        ({"client": "results, w", "owner": "lengths, x"}, "", ""),
        ({"corrupted": "p0, p1, dealer, client, owner"}, "", ""),
        ({"weight": "secret from [p0, p1, dealer]", "owner": "lengths, x"}, "", ""),
    ],
)  # fmt: skip
def test_whoever_has_secrets_kept_from_it_and_is_in_no_coalition_is_named(
    changed: dict[str, str], who: str, what: str
) -> None:
    """The auditor of the policy plays no role in any protocol, so it sees nothing."""
    assert said(**changed) == ([SAID.format(who, what)] if who else [])


@pytest.mark.parametrize(
    ("changed", "who"),
    [
        ({}, "`client` or `owner`"),
        ({"corrupted": "p0, p1, dealer, owner"}, "`client`"),
        ({"owner": "lengths, x"}, "`client`"),
        ({"client": "results, w", "owner": "lengths, x"}, ""),
    ],
)  # fmt: skip
def test_a_replay_lists_them_as_taken_on_trust(changed: dict[str, str], who: str) -> None:
    trusted = replay(of_text(PLAN.format(**(USUAL | changed)))).trusted
    sentence = (
        f"what {who} sees inside protocols, whom no adversary of the policy corrupts, tells nothing secret"
    )
    assert [one for one in trusted if "inside protocols" in one] == ([sentence] if who else [])


LONG = """pllm 1

import std.formats [ring64]
import std.protocols [additive_share, beaver_multiply, additive_reveal]

policy ours {{
  parties [client, p0, p1, dealer]
  adversary semi_honest corrupts 1 of [client, p0, p1, dealer]
  learns client: [results, lengths]
  learns p0: [lengths]
  learns p1: [lengths]
  learns dealer: [lengths]
}}

plan long under ours {{
  input x: ring64[4] from client where abs(x) <= 1
  input y: ring64[4] from client where abs(y) <= 1
  xs = share(x) using additive_share
  ys = share(y) using additive_share
  z = mul(xs, ys) using beaver_multiply
  repeat i in 0..<{turns} carrying [z] {{
    z = mul(z, ys) using beaver_multiply
  }}
  out = reveal(z) using additive_reveal
  output out to client
}}
"""


def test_a_client_that_is_guarded_against_is_proved_again() -> None:
    """It gets every piece of the result: the stage as one text shows that these tell no more than their sum."""
    guarded = USUAL | {"corrupted": "p0, p1, dealer, client, owner"}
    assert not [one for one in replay(of_text(PLAN.format(**guarded))).trusted if "inside protocols" in one]
    assert replay(of_text(LONG.format(turns=4))).shown


def test_after_folded_turns_its_lock_is_beyond_replay() -> None:
    with pytest.raises(ReplayError) as refused:
        replay(of_text(LONG.format(turns=60)))
    assert refused.value.code == "certificate.beyond"
    assert "unless the pieces of `x` are fresh, which replay does not follow" in str(refused.value)


EXPERIMENT = """
policy wider tightens ours {{
  adversary semi_honest corrupts 1 of [p0, p1, dealer, client, owner]
}}

experiment run under {policy} {{
  plan: block
  budget: {{ requests: 1 }}
}}
"""


@pytest.mark.parametrize(("policy", "n"), [("ours", 1), ("wider", 0)])
def test_an_experiment_is_told_of_the_parties_of_its_own_policy(policy: str, n: int) -> None:
    text = PLAN.format(**USUAL) + EXPERIMENT.format(policy=policy)
    reports = check_files(["plan.pllm"], "/nowhere", {"plan.pllm": text}).reports
    assert [sum(one.family == "adversary" for one in report.not_asked) for report in reports] == [1, n]
