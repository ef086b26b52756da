"""Every field of a lock changed, one at a time: refused, also with every digest worked out again, unless what is left still
implies every obligation. Those that are accepted are listed, each with its reason.

Asked is what `pllm replay` asks, at every place of every lock.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from pllm_lang.artifacts.library_records import replay_here
from pllm_lang.artifacts.replay.lock import SHOWN, replay
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.catalog.load import shipped_library
from tests.artifacts.locks import (
    FIXED,
    MASKED,
    ROOT,
    SHARED,
    Where,
    changed,
    data,
    of_text,
    places,
    sealed,
    spelled,
)
from tests.artifacts.test_experiments import EXPERIMENT
from tests.artifacts.texts import POLICED, STAGED

PLANS: dict[str, str] = {
    "masked": MASKED,  # a library method, one stage
    "shared": SHARED,  # shares, a statistical distance
    "fixed": FIXED,  # a repeat, no policy
    "policed": POLICED,  # own component, kernel, assurance record and policy; an experiment
    "verified": EXPERIMENT,  # a pipeline with slots, stocks, hosts, budget
    "staged": STAGED,  # states, families, several stages and repeats, an own policy
}
IMPLIED = {
    # what the lock says of where it comes from
    "digests/(plan|modules/.*) (removed|other|empty)": "binds sources; `compile --check` works them out",
    "compiler/(id|version) (other|empty)": "says who compiled it",
    "name (other|empty)": "what a plan is called; the name of an experiment is in its document",
    "output_errors/[a-z.]+ (more|empty)": "a larger error, or none, is said of an output",
    "failure more": "a larger chance of failure is said than what was added up",
    # the certificate
    "documents/certificate/met/\\d+/1/\\d+/7 (other|empty)": "the name of a rule decides nothing",
    "documents/certificate/met/\\d+/1/\\d+/0 less": "a wider range that still fits",
    "documents/certificate/met/\\d+/1/\\d+/[1-5] more": "a wider range or norm that still fits",
    "documents/certificate/met/\\d+/1/\\d+/[2-6] empty": "less is said to be known, and it is enough",
    "shared: documents/certificate/seen/\\d+/3/\\d+/5 less": "a larger distance is said, within what is asked",
    # formats of the plan
    "documents/ir/formats doubled": "a format that nothing has",
    "documents/ir/formats/\\d+ removed": "a format that nothing has",
    "documents/ir/formats/\\d+/(0|5|6|7) (other|empty|more|less)": "its name, unused ring, storage width and scale axis",
    "documents/ir/formats/\\d+/(2 more|3 less)": "a narrower format that still holds all values",
    "documents/ir/formats/\\d+/2 (other|less)": "a wider format, or one that has no bounds at all, of what the plan begins with",
    "documents/ir/formats/\\d+/3 (other|more)": "a wider format, or one that has no bounds at all, of what the plan begins with",
    "documents/ir/formats/\\d+/4 (more|less)": "the grid of floats, which have none; a finer grid on which nothing relies",
    "documents/ir/(inputs|weights)/\\d+/1/0 (more|less)": "another format that holds the same numbers",
    # what the plan begins with, and its nodes
    "documents/ir/(inputs|weights|states)/0/4 doubled": "a bound that is stated twice",
    "documents/ir/(inputs|weights)/0/4/[01]/2 (more|less)": "another bound with which everything is still shown",
    "documents/ir/weights/0/4/0 removed": "less is promised, and the rest is enough",
    "documents/ir/weights/\\d/(5|6) (other|more|less)": "the checkpoint, where no stock is; the stored scale, a value of its own",
    "documents/ir/(weights|states)/0/2 more": "members of a family that nothing reads",
    "documents/ir/weights/0/3 doubled": "secret from a party, said twice",
    "documents/ir/inputs/0/2 (other|empty)": "under no policy nothing asks who owns an input",
    "documents/ir/inputs/0/3/[12].*": "under no policy nothing asks who has an input",
    "staged: documents/ir/stages/\\d/2/0/4 doubled": "a bound that is stated twice",
    "staged: documents/ir/stages/\\d/2/0/4/0/2 less": "another bound with which everything is still shown",
    "staged: documents/ir/stages/1/1/0/5 doubled": "a state is written twice with the same",
    "staged: documents/ir/stages/0/1/1/1/2/1/1 more": "less is required",
    "(masked|policed|staged): documents/ir/stages/\\d/1/(0/5/)?1/3/(0/1/1 more|1/1/1 less)": "a narrower clamp",
    "documents/ir/stages/\\d+/2/0/2 empty": "the owner of an input that lies at its owner",
    "documents/ir/stages/\\d+/2/0/1/0 less": "another format that holds the same numbers",
    "documents/ir/stages/\\d/3/0/(1 doubled|1/0 removed|2 other)": "a result that goes to nobody, or to one twice",
    "documents/ir/stages/[01]/3/0/0 less": "another value of the same shape and name is put out",
    "documents/ir/stages/0/1/0/1 (more|less)": "the number of a variable that no member is read by",
    "documents/ir/stages/0/1/0/(2 more|3 less)": "fewer turns of a repeat that shows no more in later ones",
    "documents/ir/stages/0/1/0/4/0/2 less": "another value of the turn goes on, of which as much is known",
    "fixed: documents/ir/stages/0/1/(0/5/0|1)/7 other": "under no policy nothing asks where a step runs",
    "documents/ir/stages/0/1/1/2 other": "the reason that a requirement gives in words",
    "documents/ir/stages/0/1/1/2/0 less": "another operand of which as much is known, under no policy",
    "documents/ir/stages/0/1/\\d+/6/1/\\d/1/1 (more|less|empty)": "another parameter that is allowed; the text is proved as it is",
    "documents/ir/stages/0/1/0/6/1/2/1/3/0 removed": "a parameter of a kernel without which no defect applies either",
    "documents/ir/stages/0/1/[27]/10 flipped": "a step in the clear may as well be said to move entries",
    "documents/names/\\d+ (removed|other|empty)": "the name of a value that no policy speaks of",
    # the policy
    "documents/ir/policy (other|empty)": "the experiment names the policy that is in force",
    "documents/policy/tightens (other|empty)": "where the effective policy came from",
    "documents/policy/(adversaries|claims|forbids|learns/\\w+|fields/\\w+/\\d)(/\\d+/[12])? doubled": "said twice",
    "documents/policy/fields/independent.*": "nobody administers anything, or the adversaries ask the same",
    "documents/policy/learns/client (removed)": "the result is made of what the client brings",
    "documents/policy/learns/client/0 (removed|other|empty)": "the result is made of what the client brings",
    "documents/policy/claims/0/[12]/0 removed": "any outcome that shows something is accepted, any refinement",
    "documents/policy/forbids/\\d (removed|other|empty)": "something is not forbidden that the plan does not have either",
    "documents/policy/security/computational (removed|less)": "less is asked",
    "documents/policy/security/statistical (removed|more|less)": "no distance, or one that is small enough for this too",
    "documents/policy/fields/failure_budget/2/[01]/1 (more|less)": "nothing in this plan fails",
    # the experiment
    "documents/experiment/(plan|deployment/1) (other|empty)": "what its plan is called, where files are kept",
    "documents/experiment/policy empty": "the plan is under the same",
    "documents/experiment/deployment/3/0(/[01])? (removed|other|empty)": "who administers the client, whom nobody corrupts",
    "documents/experiment/budget/\\d/1 (more|less)": "a budget that the stocks still serve",
    "documents/experiment/budget/\\d removed": "one is the default; input tokens are not limited then, and not asked",
    "documents/experiment/stocks/0/2 (more|less)": "another count in stock, and enough",
    "documents/experiment/drawn.*": "what other experiments burn is the compiler's word, and there is still enough",
    "documents/experiment/pipeline/.*": "the pipeline is applied: its slots and the steps that it placed are what is proved",
    # what the parties run
    "documents/programs/\\d/folded flipped": "no repeat is long enough to be folded",
    "documents/programs/0/outputs(/0)? (removed|doubled)": "a party gets no more than what its uses give it anyhow",
    "documents/programs/\\d/uses/\\d+/4/0 (other|empty)": "the name of a value that nothing takes",
    "documents/protocols/\\d+/1/body/\\d+/2/0/1 more": "a wider mask, for which its ring has room",
    "documents/protocols/\\d+/1/inputs/0/4 less": "a narrower range, in which the operand still is",
    "documents/protocols/\\d+/1/body/\\d+/5 (more|less)": "the bits of a key in its cost",
    "documents/protocols/\\d+/1/outputs/0/6 (more|less)": "what a text says of failures; those of its record are added up",
    # records that the plan brings along: those of the library are held against it
    "documents/records/std.(pipelines|holdings).* removed": "a record that nothing of this plan reads",
    "documents/records/[^ ]*/(id|under) (other|empty)": "what a record that is no component is called elsewhere",
    "documents/records/[^ ]*/fields/(tool|cores).*": "nothing is asked of it",
    "documents/records/./plan.box/record/fields/(isa|features).*": "an instruction set that no kernel needs here, or one said twice",
    "documents/records/./plan.box/record/fields/memory/1 (more|less)": "another memory, and enough",
    "documents/records/./plan.composition/record/fields/version(/1)? (removed|empty)": "it is about every version",
    "documents/records/./plan.composition/record/fields/of/1 doubled": "said twice",
    "documents/records/[^ ]*/component/adversaries.*": "against those that follow the text it is proved",
    "documents/records/[^ ]*/component/(implements|host_features|security/1|carrier/2|requires.*) doubled": "said twice",
    "documents/records/[^ ]*/fields/defects.*": "the defect is still elsewhere, or no longer listed",
    "documents/records/[^ ]*/fields/properties.*": "a property that the policy does not forbid",
    "documents/records/[^ ]*/component/host_features/0 removed": "less is asked of the machines",
    "documents/records/[^ ]*/component/memory/1 (more|less)": "another memory of a call, for which there is enough",
    "documents/records/[^ ]*/(component|kernel)/params.*": "parameters that are not given, other limits that are kept",
    "documents/records/[^ ]*/component/primitive other": "no primitive takes part, and the result needs none",
    "documents/records/[^ ]*/component/protocol/(inputs|outputs)/\\d/[123].*": "its type is in the text that is proved",
    "documents/records/[^ ]*/component/protocol/(off|on)line/\\d+/[1-5].*": "its terms are in the text that is proved",
    "documents/records/[^ ]*/component/requires/0/0/2/1/2.* (more|less)": "another limit that the result keeps",
    "documents/records/[^ ]*/component/requires/0/[12] (other|empty)": "the name of a requirement and its reason in words",
    "documents/records/[^ ]*/kernel/(id|version|operations|variants).*": "another kernel that runs there, with defects elsewhere",
}
"""Pattern of `path what`, or of `plan: path what`, to the reason why the change is accepted once the digests are worked out again."""


def is_listed(plan: str, one: str) -> bool:
    return any(re.fullmatch(pattern, one) or re.fullmatch(pattern, f"{plan}: {one}") for pattern in IMPLIED)


def spelling(where: Where) -> str:
    return "/".join(map(str, where))


def resealed(lock: Any) -> bytes:
    try:
        return sealed(lock)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError):
        return b"{}"  # the change took away what digests are taken of: no lock


@cache
def lock_of(name: str) -> bytes:
    return of_text(PLANS[name], "run" if "experiment run" in PLANS[name] else "")


Proof = Callable[[bytes], Any]


def by_the_command(content: bytes) -> None:
    replay_here(content, shipped_library())


def is_proved(content: bytes, prove: Proof = replay) -> bool:
    try:
        prove(content)
    except ReplayError:
        return False
    return True


def accepted(lock: Any, part: str, spell: Callable[[Any], bytes], prove: Proof = replay) -> list[str]:
    """Every change below `part` that is accepted."""
    found: list[str] = []
    for where in list(places(lock)):
        name = spelling(where)
        if name.startswith(part) and "about" not in where and not re.match(SEALED, name):
            found += [f"{name} {what}" for what in changed(lock, where) if is_proved(spell(lock), prove)]
    return found


SEALED = "digests/(ir|names|policy|experiment|certificate|records|protocols|programs)|plan_lock_digest"
"""Digests that are worked out again here; `test_every_change_of_a_lock_breaks_a_digest` changes them too."""


def test_every_change_of_a_lock_breaks_a_digest() -> None:
    """Nothing is worked out again."""
    lock = data(of_text(MASKED))
    changes = ((where, what) for where in list(places(lock)) for what in changed(lock, where))
    assert [change for change in changes if is_proved(spelled(lock))] == []
    assert accepted(data(of_text(SHARED)), "documents/certificate", spelled) == []


@pytest.mark.parametrize("name", PLANS)
def test_with_new_digests_only_what_is_listed_is_accepted(name: str) -> None:
    lock = data(lock_of(name))
    by_the_command(sealed(lock))
    found = accepted(lock, "", resealed, by_the_command)
    assert [one for one in found if not is_listed(name, one)] == []


def test_the_evidence_of_views_cannot_be_changed() -> None:
    """But for a distance that is stated to be larger than it is, and is still small enough."""
    for text in (MASKED, SHARED):
        lock = data(of_text(text))
        found = accepted(lock, "documents/certificate/seen", resealed)
        assert [one for one in found if not re.fullmatch(".*/3/[0-9]+/5 less", one)] == []
        assert accepted(lock, "documents/certificate/parts", resealed) == []


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
