"""`tightens`: what is accepted is never weaker, and what is inherited is complete."""

from itertools import combinations
from pathlib import Path

from hypothesis import event, given, settings
from hypothesis import strategies as st

from pllm_lang.catalog.load import open_project, shipped_library
from pllm_lang.catalog.policies import check_tightening, effective, inherit, loosened
from pllm_lang.catalog.records import AdversaryRule, ClaimRule, Policy

PARTIES = ("a", "b", "c")
STRENGTH = {"semi_honest": 0, "covert": 1, "malicious": 2}

some_parties = st.lists(st.sampled_from(PARTIES), unique=True, min_size=1).map(lambda p: tuple(sorted(p)))
rules = st.builds(AdversaryRule, st.sampled_from(sorted(STRENGTH)), st.integers(0, 3), some_parties)
words = st.lists(st.sampled_from(["results", "lengths", "stages"]), unique=True).map(tuple)
claims = st.builds(ClaimRule, st.sampled_from(["x", "y"]), words, words)


def policies(name: str) -> st.SearchStrategy[Policy]:
    return st.builds(
        Policy,
        name=st.just(name),
        module=st.just("./t"),
        tightens=st.just(""),
        parties=st.sampled_from([(), PARTIES]),
        adversaries=st.lists(rules, max_size=2).map(tuple),
        learns=st.dictionaries(st.sampled_from(PARTIES), words),
        claims=st.lists(claims, max_size=2, unique_by=lambda claim: claim.claim).map(tuple),
        forbids=st.lists(st.sampled_from(["experimental", "online_preparation"]), unique=True).map(tuple),
        security=st.dictionaries(
            st.sampled_from(["computational", "statistical"]), st.sampled_from(["40", "80", "128"])
        ),
    )


def coalitions(policy: Policy) -> set[tuple[frozenset[str], int]]:
    """Every coalition that may be corrupted, with the strength of its behaviour and all weaker ones."""
    return {
        (frozenset(members), strength)
        for rule in policy.adversaries
        for size in range(rule.count + 1)
        for members in combinations(rule.among, min(size, len(rule.among)))
        for strength in range(STRENGTH[rule.kind] + 1)
    }


@given(policies("base"), policies("tight"))
@settings(max_examples=500)
def test_what_is_not_loosened_is_at_least_as_strict(base: Policy, tight: Policy) -> None:
    event("tightens" if not loosened(base, tight) else "loosens")
    if loosened(base, tight):
        return
    whole = inherit(base, tight)
    assert coalitions(base) <= coalitions(whole)
    assert whole.parties == (base.parties or tight.parties)
    for party, learnt in whole.learns.items():
        assert set(learnt) <= set(base.learns.get(party, ()))
    assert set(base.forbids) <= set(whole.forbids)
    for sort, bits in base.security.items():
        assert int(whole.security[sort]) >= int(bits)
    for claim in base.claims:
        (kept,) = [c for c in whole.claims if c.claim == claim.claim]
        assert not claim.outcomes or set(kept.outcomes) <= set(claim.outcomes)
        assert not claim.outcomes or kept.outcomes
        assert not claim.refinements or set(kept.refinements) <= set(claim.refinements)


@given(policies("base"))
def test_a_policy_tightens_itself(base: Policy) -> None:
    assert loosened(base, base) == []


def test_policies_of_the_library_tighten_what_they_say() -> None:
    library = shipped_library()
    found = {key: library.get(key) for key in library.keys("policy")}
    assert (
        check_tightening({key: record for key, record in found.items() if record is not None}, library) == []
    )


def test_a_chain_inherits_everything(tmp_path: Path) -> None:
    text = """pllm 1
policy a {
  parties [p, q]
  adversary semi_honest corrupts 1 of [p, q]
  learns p: [results]
  security: { computational: 128 }
  forbids [experimental]
}
policy b tightens a { security: { statistical: 40 } }
policy c tightens b { forbids [online_preparation]
  learns p: [] }
"""
    (tmp_path / "a.pllm").write_text(text)
    opened = open_project([str(tmp_path / "a.pllm")], str(tmp_path))
    assert opened.findings == ()
    whole = effective("./a.c", opened.library)
    assert whole is not None
    assert whole.parties == ("p", "q")
    assert [rule.kind for rule in whole.adversaries] == ["semi_honest"]
    assert whole.security == {"computational": "128", "statistical": "40"}
    assert whole.forbids == ("experimental", "online_preparation")
    assert whole.learns == {"p": ()}
