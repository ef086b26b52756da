"""Every field of a lock changed, one at a time: refused, also with every digest worked out again, unless what is left still
implies every obligation. Those that are accepted are listed, each with its reason.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from pllm_lang.artifacts.replay.lock import SHOWN, replay
from pllm_lang.artifacts.replay.refusal import ReplayError
from tests.artifacts.locks import MASKED, ROOT, SHARED, Where, changed, data, of_text, places, sealed, spelled

IMPLIED = {
    "digests/(plan|modules|files)": "binds sources that are not in the lock; `compile --check` works them out again",
    "compiler/(id|version)": "says who compiled it",
    "name (other|empty)": "what a plan is called; the name of an experiment is in its document",
    "(output_errors/|failure)": "what the verifier says of errors, which replay does not follow",
    "documents/certificate/met/\\d+/1/\\d+/7 ": "the name of a rule decides nothing",
    "documents/certificate/met/\\d+/1/\\d+/0 less": "a wider range that still fits",
    "documents/certificate/met/\\d+/1/\\d+/1 more": "a wider range that still fits",
    "documents/certificate/met/\\d+/1/\\d+/[0-9] empty": "less is stated, and the rest is enough",
    "documents/certificate/duties/\\d+/2 other": "`part` tells obligations about the whole plan apart; this one is about a value",
    "documents/ir/formats/\\d+/(0|5|6|7|8) ": "a format's name, unused ring, storage width, scale axis and comment",
    "documents/ir/formats/\\d+/(9/|2 more|3 less)": "a place; a narrower format of what begins the plan",
    "documents/ir/formats/2/": "the format `exact` has no bounds; its fields say nothing",
    "documents/ir/inputs/0/1/0 more": "the other format has the same numbers",
    "documents/ir/weights/0/1/0 less": "the other format has the same numbers",
    "documents/ir/inputs/0/3/2 ": "the holding of a value in the clear",
    "documents/ir/weights/0/(5|6) ": "the checkpoint and stored scale of a weight, which nothing reads",
    "documents/ir/stages/0/1/\\d+/6/2/\\d/0 ": "a role that is not bound is played by the party of its name",
    "documents/ir/stages/0/1/0/6/1/0/1/1 ": "a carrier of another size that the values fit as well; that of the program is its own",
    "documents/ir/stages/0/1/\\d+/9/2 ": "the holding of an unplaced value",
    "documents/ir/stages/0/1/1/3/\\d/1/1 ": "tighter ends of a clamp: what is stated of its result is still true",
    "documents/ir/stages/0/1/1/10 ": "a step in the clear may as well be said to move entries",
    "documents/ir/stages/0/3/0/1/0 removed": "a result that goes to nobody",
    "documents/names/\\d+ ": "the name of a value that no policy speaks of",
    "documents/policy/(doc|tightens|origin/\\d|adversaries/0/3/\\d) ": "comments, places, what the effective policy came from",
    "documents/policy/(fields/independent|forbids)": "asked of hosts and records, which replay takes on trust",
    "documents/policy/learns/client": "the result is made of what the client brings",
    "documents/policy/learns/\\w+/[12] ": "stages and their end tell something only where there are several",
    "documents/policy/security/computational (less|removed)": "less is asked",
    "documents/policy/security/statistical ": "no proof of this plan has a distance",
    "documents/programs/0/folded ": "there is no repeat",
    "documents/programs/0/inputs/0/1/0/1 ": "the ring in which a value in the clear is called by name",
    "documents/programs/0/inputs/\\d/6 ": "a place",
    "documents/programs/0/inputs/2/4 ": "a range of a public value, of which nothing asks",
    "documents/programs/0/uses/\\d+/4/0/1 ": "the name of a value that nothing takes",
    "documents/programs/0/parties/\\d+/2/\\d ": "what a primitive costs",
    "documents/protocols/\\d+/1/name ": "a protocol's name",
    "documents/protocols/\\d+/1/adversary ": "what a record claims beyond what is proved",
    "documents/protocols/\\d+/1/parties/\\d+/2/\\d ": "what a primitive costs",
    "documents/protocols/1/1/body/5": "how one-use material is counted, which replay takes on trust",
    "documents/protocols/\\d+/1/(body|inputs|outputs)/.* (more|less)": "a place, or the bits of a key in its cost",
    "documents/protocols/1/1/body/\\d/4/(1|2)": "the label of a stream, another one",
    "documents/protocols/\\d+/1/(inputs|outputs)/\\d+/[3-7] ": "a place, or freshness and failure that nothing needs",
}
"""Pattern of `path what` to the reason why the change is accepted once the digests are worked out again."""


def spelling(where: Where) -> str:
    return "/".join(map(str, where))


def on_trust(lock: Any, where: Where) -> bool:
    """Obligations that replay only repeats, and the records that only they are about."""
    if where[:3] == ("documents", "certificate", "duties") and len(where) > 3:
        return lock["documents"]["certificate"]["duties"][where[3]][0] not in SHOWN
    return False


def resealed(lock: Any) -> bytes:
    try:
        return sealed(lock)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError):
        return b"{}"  # the change took away what digests are taken of: no lock


def accepted(text: str, part: str, reseal: bool) -> list[str]:
    lock = data(of_text(text))
    found: list[str] = []
    for where in list(places(lock)):
        if not spelling(where).startswith(part) or "about" in where or on_trust(lock, where):
            continue
        for what in changed(lock, where):
            try:
                replay(resealed(lock) if reseal else spelled(lock))
                found.append(f"{spelling(where)} {what}")
            except ReplayError:
                pass
    return found


def test_every_change_of_a_lock_breaks_a_digest() -> None:
    assert accepted(MASKED, "", reseal=False) == []
    assert accepted(SHARED, "documents/certificate", reseal=False) == []


@pytest.mark.parametrize(
    "part",
    ["compiler", "name", "kind", "schema", "components", "input_shapes", "output_shapes", "output_errors", "failure",
     "documents/ir", "documents/names", "documents/policy", "documents/experiment", "documents/programs",
     "documents/protocols", "documents/certificate"],
)  # fmt: skip
def test_with_new_digests_only_what_is_listed_is_accepted(part: str) -> None:
    found = accepted(MASKED, part, reseal=True)
    unlisted = [one for one in found if not any(re.match(pattern, one) for pattern in IMPLIED)]
    assert unlisted == []


def test_the_evidence_of_views_cannot_be_changed() -> None:
    """But for a distance that is stated to be larger than it is, and is still small enough."""
    for text in (MASKED, SHARED):
        found = accepted(text, "documents/certificate/seen", reseal=True)
        assert [one for one in found if not re.fullmatch(".*/3/[0-9]+/5 less", one)] == []
        assert accepted(text, "documents/certificate/parts", reseal=True) == []


@pytest.mark.parametrize("code", sorted(SHOWN))
def test_a_certificate_that_leaves_out_an_obligation(code: str) -> None:
    for text in (MASKED, SHARED):
        lock = data(of_text(text))
        duties = lock["documents"]["certificate"]["duties"]
        kept = [duty for duty in duties if duty[0] != code]
        if len(kept) < len(duties):
            lock["documents"]["certificate"]["duties"] = kept
            with pytest.raises(ReplayError, match="leaves out"):
                replay(sealed(lock))


def test_a_certificate_of_another_plan() -> None:
    first, second = data(of_text(MASKED)), data(of_text(MASKED.replace("[4, 3]", "[5, 3]")))
    first["documents"]["certificate"] = second["documents"]["certificate"]
    with pytest.raises(ReplayError) as refused:
        replay(spelled(first))
    assert refused.value.code == "lock.digest"
    shared = data(of_text(SHARED))
    shared["documents"]["certificate"] = second["documents"]["certificate"]
    with pytest.raises(ReplayError) as refused:
        replay(sealed(shared))
    assert refused.value.code.startswith("certificate.")


LINEAR = ("documents", "records", "std.operators.linear", "operator")
METHOD = ("documents", "records", "std.components.masked_linear", "component")
NUMBER = ["num", "8"]
ENTRY = ["", "", ["", 0, 0]]
BELOW = ["apply", "<", [["apply", "max_abs", [["ref", "x"]], []], NUMBER], []]
POWER = ["apply", "^", [["ref", "x"], NUMBER], []]
UNBOUNDED = ["apply", "<=", [["apply", "error", [["ref", "y"]], []], ["ref", "nothing"]], []]
RECORDS: dict[str, tuple[Where, Any]] = {
    "the meaning of an operator": ((*LINEAR, "means", 0, 0, 2, 1), ["ref", "w"]),
    "another meaning": ((*LINEAR, "means", 0, 0, 1), "outer"),
    "no meaning": ((*LINEAR, "means"), []),
    "a requirement that does not hold": ((*LINEAR, "requires"), [[BELOW, *ENTRY]]),
    "what a component does": ((*METHOD, "implements"), ["std.operators.matmul"]),
    "a component that is no method": ((*METHOD, "kind"), "schedule"),
    "another number of parties": ((*METHOD, "n_parties"), ["num", "2"]),
    "a requirement of a component": ((*METHOD, "requires", 0, 0, 2, 1), NUMBER),
    "an intermediate that does not fit": ((*METHOD, "intermediates"), [[POWER, "p", "", ["", 0, 0]]]),
    "an error that is not bounded": ((*METHOD, "ensures"), [[UNBOUNDED, *ENTRY]]),
    "steps that may fail": ((*METHOD, "failure"), ["num", "1/2"]),
    "a version": ((*METHOD, "version"), "2"),
    "an id": ((*METHOD, "id"), "another/masked-linear"),
    "a program without a text": ((*METHOD, "protocol"), None),
}  # fmt: skip
"""Fields of records that decide: a value with which the plan owes more, or something else."""


@pytest.mark.parametrize("case", RECORDS)
def test_a_record_that_asks_for_more_or_something_else(case: str) -> None:
    where, new = RECORDS[case]
    lock = data(of_text(MASKED))
    holder = lock
    for step in where[:-1]:
        holder = holder[step]
    assert holder[where[-1]] != new
    holder[where[-1]] = new
    with pytest.raises(ReplayError):
        replay(sealed(lock))


def revealing() -> Any:
    """The lock of a plan whose component shows an operand, as the policy allows."""
    text = (ROOT / "tests" / "corpus" / "placement" / "reveals" / "accepted.pllm").read_text(encoding="utf-8")
    return data(of_text(text))


def test_what_is_shown_has_to_be_allowed() -> None:
    assert replay(sealed(revealing())).shown
    unsaid = revealing()
    for key, record in unsaid["documents"]["records"].items():
        if "component" in record and "open_gather" in key:
            record["component"]["reveals"] = []
    kept = revealing()
    for party, words in kept["documents"]["policy"]["learns"].items():
        kept["documents"]["policy"]["learns"][party] = [word for word in words if word != "indices"]
    for lock in (unsaid, kept):
        with pytest.raises(ReplayError, match="does not let it be learnt"):
            replay(sealed(lock))
