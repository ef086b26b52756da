"""Replay: a lock proved again from its own certificate, by code that shares nothing with the verifier but data types.

Read in this order: `replay_numbers` (intervals), `replay_facts` (a rule a primitive), `replay_terms` (expressions of records),
`replay_read` (bytes and digests), `replay_walk` (ranges and what is owed of them), `replay_views` (the view rule),
`replay_programs` (the plan against what its parties run). In: the bytes of a lock. Out: a `Replayed`, or a `ReplayError` that
says where the proof breaks. What is taken on trust stands in `docs/soundness.md`.
"""

from __future__ import annotations

import msgspec

from pllm_lang.artifacts.lock_data import Lock
from pllm_lang.artifacts.replay_programs import follow
from pllm_lang.artifacts.replay_read import ReplayError, read_lock
from pllm_lang.artifacts.replay_walk import walk

SHOWN = ("bounds.", "coverage.", "placement.", "protocol.")
"""Families of obligations that replay shows again, but for those of ON_TRUST."""
ON_TRUST = ("placement.independence", "placement.adversary", "protocol.wrong_result")
"""Read off the records, or part of the proof of a program: `protocol.wrong_result` is shown for every program of the lock."""
MALFORMED = (ValueError, LookupError, ArithmeticError, TypeError, AttributeError, RecursionError, AssertionError, NotImplementedError)


class Replayed(msgspec.Struct, frozen=True):
    """`shown` counts the obligations that were shown again, by family; `trusted` those that the lock only states."""

    name: str
    plan_lock_digest: str
    shown: dict[str, int]
    trusted: dict[str, int]
    assumed: tuple[str, ...]


def replay(data: bytes) -> Replayed:
    """Raises ReplayError for a lock that is damaged, or whose certificate does not prove its plan."""
    try:
        return _replayed(read_lock(data))
    except MALFORMED as problem:
        text = f"a part of it has a form that no compiler gives ({type(problem).__name__}: {str(problem)[:80]})"
        raise ReplayError("lock.form", text) from None


def _replayed(lock: Lock) -> Replayed:
    walked = walk(lock)
    placed, _ = follow(walked)
    expected = {(code, about, "") for code, about in walked.owed} | placed
    stated: set[tuple[str, int, str]] = set()
    trusted: dict[str, int] = {}
    for duty in lock.documents.certificate.duties:
        if duty.code.startswith(SHOWN) and duty.code not in ON_TRUST:
            about = -1 if duty.code == "bounds.failure" else duty.about
            stated.add((duty.code, about, duty.part if about < 0 and duty.code != "bounds.requirement" else ""))
        else:
            trusted[duty.code] = trusted.get(duty.code, 0) + 1
    expected = {(c, a, "" if c.startswith("bounds.") else part) for c, a, part in expected}
    stated = {(c, a, "" if c.startswith("bounds.") else part) for c, a, part in stated}
    for code, about, part in sorted(expected - stated):
        raise ReplayError("certificate.duties", f"it leaves out `{code}` of value {about} {part}".rstrip())
    for code, about, part in sorted(stated - expected):
        raise ReplayError("certificate.duties", f"it claims `{code}` of value {about} {part}, which the plan does not owe")
    _assumed(lock)
    shown: dict[str, int] = {}
    for code, _, _ in expected:
        shown[code] = shown.get(code, 0) + 1
    certificate = lock.documents.certificate
    return Replayed(lock.name, lock.plan_lock_digest, dict(sorted(shown.items())), dict(sorted(trusted.items())), certificate.assumed)


def _assumed(lock: Lock) -> None:
    """What is taken for granted is listed, all of it."""
    certificate = lock.documents.certificate
    told = sorted({one for duty in certificate.duties for one in duty.assumed})
    if list(certificate.assumed) != told:
        raise ReplayError("certificate.assumed", "its list of assumptions is not that of its obligations")
