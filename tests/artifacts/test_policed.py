"""What a policy asks of components, claims, administrators and shared stocks is worked out again from the records in the lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from pllm_lang.artifacts.replay.lock import replay
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.releases import admits
from tests.artifacts.locks import data, of_text, sealed
from tests.artifacts.texts import POLICED

Forge = Callable[[Any], None]


@pytest.fixture(name="lock")
def _lock() -> Any:
    return data(of_text(POLICED, "run"))


def record(lock: Any, name: str) -> Any:
    """The fields of the one record of this name."""
    found = [filed for key, filed in lock["documents"]["records"].items() if key.endswith(f".{name}")]
    assert len(found) == 1, name
    return next(iter(found[0].values()))


SHOWN_HERE = {
    "assurance.forbidden_property": 2,
    "assurance.local_deployment": 1,
    "assurance.missing": 1,
    "material.binding": 1,
    "material.shared": 1,
    "placement.independence": 1,
    "protocol.wrong_result": 1,
    "target.defect": 1,
    "versions.defect": 1,
    "versions.not_accepted": 1,
    "versions.security_level": 1,
}


def test_what_is_shown(lock: Any) -> None:
    found = replay(sealed(lock))
    assert {code: found.shown.get(code) for code in SHOWN_HERE} == SHOWN_HERE
    assert "no other experiment burns any of `corrections`, but `another`, 4" in found.trusted


@pytest.mark.parametrize("code", SHOWN_HERE)
def test_an_obligation_that_is_left_out(code: str, lock: Any) -> None:
    certificate = lock["documents"]["certificate"]
    certificate["duties"] = [one for one in certificate["duties"] if one[0] != code]
    certificate["assumed"] = sorted({told for one in certificate["duties"] for told in one[3]})
    with pytest.raises(ReplayError):
        replay(sealed(lock))


# ---- records and policies that ask for more ----
def field(name: str, what: str, value: Any) -> Forge:
    """A field of its own of a component, or one among its declared ones."""

    def forge(lock: Any) -> None:
        found = record(lock, name)
        holder = found if what in found else found["fields"]
        assert holder.get(what) != value
        holder[what] = value

    return forge


def policy(what: str, value: Any) -> Forge:
    """The same of the policy."""

    def forge(lock: Any) -> None:
        found = lock["documents"]["policy"]
        holder = found if what in found else found["fields"]
        assert holder.get(what) != value
        holder[what] = value

    return forge


def words(*names: str) -> Any:
    return ["list", [["ref", name] for name in names]]


def level(kind: str, value: str) -> Any:
    return ["map", [["computational", [kind, value]]]]


def version(lock: Any, text: str) -> None:
    record(lock, "held_linear")["version"] = text
    for key in lock["components"]:
        if key.endswith(".held_linear"):
            lock["components"][key][1] = text


def newer(lock: Any) -> None:
    version(lock, "3.0")


def of_no_known_form(lock: Any) -> None:
    version(lock, "2.1.post1")


def faulty(lock: Any) -> None:
    """A defect of every version."""
    record(lock, "held_linear")["fields"]["defects"] = ["list", [["map", [["effect", ["text", "wrong"]]]]]]


def faulty_kernel(lock: Any) -> None:
    """The machine has the feature that the kernel is wrong with."""
    record(lock, "box")["fields"]["isa"] = ["list", [["ref", "avx2"], ["ref", "ifma"]]]


def no_feature_said(lock: Any) -> None:
    (listed,) = record(lock, "products")["fields"]["defects"][1]
    listed[1] = [pair for pair in listed[1] if pair[0] != "feature"]


def experiment(lock: Any) -> Any:
    return lock["documents"]["experiment"]


def one_administrator(lock: Any) -> None:
    experiment(lock)["deployment"][3] = [["client", "user"], ["preparation", "cloud"], ["inference", "cloud"]]


def nobody_said(lock: Any) -> None:
    experiment(lock)["deployment"][3] = [["client", "user"], ["preparation", "helper"]]


def said_twice(lock: Any) -> None:
    experiment(lock)["deployment"][3].append(["inference", "helper"])


def two_who_are_never_looked_at_together(lock: Any) -> None:
    found = lock["documents"]["policy"]
    found["fields"]["independent"] = ["list", []]
    found["adversaries"] = [
        ["semi_honest", 1, ["preparation"], ["", 0, 0]],
        ["semi_honest", 1, ["inference"], ["", 0, 0]],
    ]
    one_administrator(lock)


def local(lock: Any) -> None:
    experiment(lock)["deployment"][0] = "local"


def more_elsewhere(lock: Any) -> None:
    experiment(lock)["drawn"][0][2] = "15"


def another_component_elsewhere(lock: Any) -> None:
    experiment(lock)["drawn"][0][3] = ["./plan.other"]


def nobody_elsewhere(lock: Any) -> None:
    """Then the certificate claims what is not owed."""
    experiment(lock)["drawn"] = []


def no_claim_record(lock: Any) -> None:
    records = lock["documents"]["records"]
    del records[next(key for key in records if key.endswith(".composition"))]


def a_contrary_record(lock: Any) -> None:
    records = lock["documents"]["records"]
    key = next(key for key in records if key.endswith(".composition"))
    other = {"record": {**records[key]["record"], "name": "attack"}}
    other["record"]["fields"] = {**other["record"]["fields"], "outcome": ["ref", "refuted"]}
    records[key.replace("composition", "attack")] = other


def another_claim_record(lock: Any) -> None:
    """What the proof rests on is told by name."""
    records = lock["documents"]["records"]
    key = next(key for key in records if key.endswith(".composition"))
    records[key.replace("composition", "other")] = {"record": {**records.pop(key)["record"], "name": "other"}}


def primitives_forbidden(lock: Any) -> None:
    lock["documents"]["policy"]["forbids"].append("unproved_primitives")


def an_assumed_range(lock: Any) -> None:
    """Somebody takes a range for granted, and the policy forbids it."""
    lock["documents"]["ir"]["stages"][0][1][1][8] = [["max_abs", "<=", "9", 0]]


def malicious(lock: Any) -> None:
    lock["documents"]["policy"]["adversaries"][0][0] = "malicious"


POLICY, BOUND = "certificate.policy", "certificate.bound"
FORGED: dict[str, tuple[Forge, str, str]] = {
    "a property that is forbidden": (field("held_linear", "properties", words("experimental")), POLICY, "is experimental"),
    "its property is forbidden": (policy("forbids", ["measured", "local_deployment"]), POLICY, "is measured"),
    "a newer version": (newer, POLICY, "3.0 is not shown to be >=2, <3"),
    "a version of another form": (of_no_known_form, POLICY, "2.1.post1"),
    "other versions are accepted": (policy("versions", ["map", [["held_linear", ["text", "<2"]]]]), POLICY, "not shown to be <2"),
    "a higher level is asked": (policy("security", {"computational": "129"}), "certificate.assumed", "the policy asks 129"),
    "a lower level": (field("held_linear", "security", level("num", "80")), POLICY, "less computational"),
    "a level that is not known": (field("held_linear", "security", level("ref", "much")), POLICY, "less computational"),
    "a known defect": (faulty, POLICY, "has a known defect"),
    "a known defect of a kernel": (faulty_kernel, "certificate.target", "known defect of `products`"),
    "a defect on all machines": (no_feature_said, "certificate.target", "known defect of `products`"),
    "one administrator": (one_administrator, POLICY, "one administers several"),
    "an administrator that is not said": (nobody_said, POLICY, "nothing says who administers"),
    "a party with two administrators": (said_twice, POLICY, "nothing says who administers"),
    "two who are never looked at together": (two_who_are_never_looked_at_together, POLICY, "one administers several"),
    "a local deployment": (local, POLICY, "all parties run on one machine"),
    "others burn more": (more_elsewhere, "certificate.material", "other experiments burn 15"),
    "others burn it for another component": (another_component_elsewhere, "certificate.material", "serves two components"),
    "others are not said": (nobody_elsewhere, "certificate.duties", "material.shared"),
    "no record of the claim": (no_claim_record, POLICY, "no record in the lock shows it"),
    "a record of the contrary": (a_contrary_record, POLICY, "no record in the lock shows it"),
    "a record of another name": (another_claim_record, "certificate.assumed", "nothing rests on it"),
    "a record of another version": (field("composition", "version", ["text", "2.0"]), POLICY, "no record in the lock"),
    "a record of another component": (field("composition", "of", words("./plan.other")), POLICY, "no record in the lock"),
    "a record of another claim": (field("composition", "claim", ["text", "correctness"]), POLICY, "no record in the lock"),
    "a record of another outcome": (field("composition", "outcome", ["ref", "open"]), POLICY, "no record in the lock"),
    "a record about less": (field("composition", "refinement", ["ref", "specification"]), POLICY, "no record in the lock"),
    "primitives are forbidden": (primitives_forbidden, POLICY, "rests on a primitive"),
    "an assumed range": (an_assumed_range, POLICY, "forbids to take for granted"),
    "parties that do not follow the text": (malicious, POLICY, "no claim of security against malicious parties"),
}  # fmt: skip
"""A change of the lock with which the policy is not met, the code of the refusal and a part of its text."""


@pytest.mark.parametrize("case", FORGED)
def test_what_a_policy_does_not_let_pass(case: str, lock: Any) -> None:
    forge, code, said = FORGED[case]
    forge(lock)
    with pytest.raises(ReplayError) as refused:
        replay(sealed(lock))
    assert (refused.value.code, said in str(refused.value)) == (code, True), refused.value


# ---- versions ----
numbers = st.lists(st.integers(0, 3), min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))
releases = st.builds(str.__add__, numbers, st.sampled_from(["", "", "a1", "rc2", ".post1", ".dev0", "+x"]))
clauses = st.builds(str.__add__, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), numbers | releases)


@given(releases, st.lists(clauses, min_size=1, max_size=3).map(", ".join))
def test_versions_are_compared_as_packaging_does(version: str, wanted: str) -> None:
    found = admits(version, wanted)
    if found is not None:
        assert found == SpecifierSet(wanted).contains(Version(version), prereleases=True)


@pytest.mark.parametrize(
    "version", ["", "1.x", "1.2.post1", "1!2", "1.0+local", "9" * 10, "\N{ARABIC-INDIC DIGIT ONE}"]
)
def test_what_is_not_compared_is_not_known(version: str) -> None:
    assert admits(version, ">=0") is None
    assert admits("1.0", f">={version}") is None


def test_final_releases_are_always_compared() -> None:
    assert (
        admits("1.10", ">1.9, <2"),
        admits("2.0", "==2"),
        admits("2.0rc1", "<2"),
        admits("1", ">=1.0.1"),
    ) == (
        True,
        True,
        False,
        False,
    )
