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


def test_a_client_that_is_guarded_against_is_proved_and_its_lock_is_beyond_replay() -> None:
    """It gets every piece of the result: that these are fresh, so that they tell no more than their sum, replay does not follow."""
    guarded = USUAL | {"corrupted": "p0, p1, dealer, client, owner"}
    with pytest.raises(ReplayError) as refused:
        replay(of_text(PLAN.format(**guarded)))
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
