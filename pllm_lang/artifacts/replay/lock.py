"""Replay: a lock proved again from its own certificate, by code that shares nothing with the verifier but data types.

The files of this package, in the order to read them: `refusal`, `reading` (bytes and digests); `numbers`, `facts`, `moves`,
`terms` (what follows of a tensor); `walked`, `signature`, `givens`, `derive`, `stated`, `wrapping`, `owed`, `members`, `walk`
(ranges, and what is owed of them); `sums`, `run`, `outputs`, `view_rule` (a protocol by itself); `holdings`, `seats`,
`learning`, `called`, `meanings`, `local`, `programs` (the plan against what its parties run); `one_text`, `coalitions`, `assuming`
(what every coalition sees); `releases`, `kernels`, `components`, `assurance`, `texts` (policy and records); `budget`, `material`,
`machines`, `independence`, `slots` (an experiment); `form`, `once` (what decides nothing else).

In: the bytes of a lock. Out: a `Replayed`, or a `ReplayError` that says where the proof breaks. What is taken on trust stands in
`docs/soundness.md`.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator

import msgspec

from pllm_lang.artifacts.lock_data import Lock
from pllm_lang.artifacts.replay.assurance import assured
from pllm_lang.artifacts.replay.components import judged_components
from pllm_lang.artifacts.replay.form import is_well_formed
from pllm_lang.artifacts.replay.holdings import documents_policy
from pllm_lang.artifacts.replay.independence import independent
from pllm_lang.artifacts.replay.machines import fitting
from pllm_lang.artifacts.replay.material import counted
from pllm_lang.artifacts.replay.once import is_there_once
from pllm_lang.artifacts.replay.programs import follow
from pllm_lang.artifacts.replay.reading import read_lock, record_of
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.slots import has_its_slots
from pllm_lang.artifacts.replay.texts import are_narrations
from pllm_lang.artifacts.replay.unguarded import unguarded
from pllm_lang.artifacts.replay.walk import walk
from pllm_lang.artifacts.replay.walked import Walked
from pllm_lang.catalog.records import Component

SHOWN = frozenset(
    [f"bounds.{one}" for one in ("stated_range", "unknown", "overflow", "carrier", "intermediate", "domain")]
    + [f"bounds.{one}" for one in ("contradiction", "state", "requirement", "failure")]
    + [f"coverage.{one}" for one in ("no_component", "wrong_operator", "requirement", "party_count")]
    + [f"placement.{one}" for one in ("knowledge", "learns", "leak", "distance", "assumption")]
    + ["placement.adversary", "placement.independence", "protocol.wrong_result"]
    + [f"target.{one}" for one in ("no_host", "capacity", "feature", "ring", "defect")]
    + [f"material.{one}" for one in ("shortage", "binding", "shared")]
    + [f"assurance.{one}" for one in ("forbidden_property", "local_deployment", "missing")]
    + [f"versions.{one}" for one in ("defect", "not_accepted", "security_level")]
    + ["coverage.tokens", "bounds.undetected"]
)
"""Obligations that a certificate may hold: replay shows all of them again. Other rules only ever refuse."""
MALFORMED = (
    ValueError,
    LookupError,
    ArithmeticError,
    TypeError,
    AttributeError,
    RecursionError,
    AssertionError,
    NotImplementedError,
)


class Replayed(msgspec.Struct, frozen=True):
    """`shown` counts the obligations that were shown again, by code; `trusted` are sentences about what the lock only states.

    `records` and `modules` are the digests of those that the plan names: that they are the library's is not asked here.
    `on_machines`: an experiment with machines."""

    name: str
    plan_lock_digest: str
    shown: dict[str, int]
    trusted: tuple[str, ...]
    assumed: tuple[str, ...]
    policy: str
    policy_digest: str
    records: dict[str, str]
    modules: dict[str, str]
    on_machines: bool


def replay(data: bytes) -> Replayed:
    """Raises ReplayError for a lock that is damaged, or whose certificate does not prove its plan.

    Garbage collection pauses meanwhile: what is made here is small and mostly kept.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _replayed(read_lock(data))
    except MALFORMED as problem:
        text = (
            f"a part of it has a form that no compiler gives ({type(problem).__name__}: {str(problem)[:80]})"
        )
        raise ReplayError("lock.form", text) from None
    finally:
        if collecting:
            gc.enable()


def _replayed(lock: Lock) -> Replayed:
    _head(lock)
    if lock.documents.policy is not None and "error_budget" in lock.documents.policy.fields:
        raise ReplayError("certificate.beyond", "the policy limits errors, which replay does not follow")
    walked = walk(lock)
    placed, runs = follow(walked)
    expected = {(code, about, _PARTS.get(code, "")) for code, about in walked.owed} | placed
    expected |= judged_components(walked) | counted(walked, runs) | fitting(walked) | independent(walked)
    walked.told |= {one for one in placed if one[0] == "placement.assumption"}
    expected |= assured(walked)
    duties = lock.documents.certificate.duties
    stated = {(duty.code, about, duty.part) for duty in duties for about in duty.about}
    for code, about, part in sorted(expected ^ stated):
        missing = (code, about, part) in expected
        what = "leaves out" if missing else "claims, and the plan does not owe,"
        raise ReplayError("certificate.duties", f"it {what} `{code}` of value {about} {part}".rstrip())
    _assumed(lock, walked.told)
    has_its_slots(walked)
    are_narrations(walked)
    is_well_formed(walked)
    is_there_once(lock)
    _outputs(lock, walked)
    shown: dict[str, int] = {}
    for code, _, _ in sorted(expected):
        shown[code] = shown.get(code, 0) + 1
    assumed = lock.documents.certificate.assumed
    experiment, digests = lock.documents.experiment, lock.digests
    return Replayed(
        lock.name,
        lock.plan_lock_digest,
        shown,
        tuple(_word_of(lock)),
        assumed,
        documents_policy(lock),
        digests.policy,
        digests.records,
        digests.modules,
        experiment is not None and experiment.deployment is not None,
    )


_PARTS = {"bounds.requirement": "requires"}


def _word_of(lock: Lock) -> Iterator[str]:
    """What no lock can show of itself."""
    yield "the modules and files of which it holds digests say what it says"
    if any(lock.output_errors.values()):
        yield "outputs are no further from their real-valued meaning than it says"
    alone = " or ".join(f"`{party}`" for party in unguarded(lock))
    if alone:
        yield f"what {alone} sees inside protocols, whom no adversary of the policy corrupts, tells nothing secret"
    experiment = lock.documents.experiment
    for stock in () if experiment is None else experiment.stocks:
        name = stock.key.rpartition(".")[2]
        drawn = () if experiment is None else experiment.drawn
        others = "".join(f", but `{one.experiment}`, {one.count}" for one in drawn if one.stock == stock.key)
        yield f"no other experiment burns any of `{name}`{others}"


def _head(lock: Lock) -> None:
    """What a lock says of itself is what its documents say."""
    plan, documents = lock.documents.ir, lock.documents
    kind = "plan" if documents.experiment is None else "experiment"
    if lock.kind != kind or (documents.experiment is not None and lock.name != documents.experiment.name):
        raise ReplayError("lock.head", f"it is the lock of the {kind} in it, and says otherwise")
    found = {key: record_of(lock, key) for key in documents.records}
    components = {key: (one.id, one.version) for key, one in found.items() if isinstance(one, Component)}
    if components != lock.components:
        raise ReplayError("lock.head", "its list of components is not that of its records")

    def named(prefix: str, value: int) -> str:
        return (f"{prefix}." if prefix else "") + documents.names.get(str(value), f"v{value}")

    inputs = {named("", one.value): one.type.shape for one in plan.inputs}
    inputs |= {named(stage.name, one.value): one.type.shape for stage in plan.stages for one in stage.inputs}
    outputs = {named(stage.name, one.value) for stage in plan.stages for one in stage.outputs}
    if inputs != lock.input_shapes or outputs != set(lock.output_shapes):
        raise ReplayError("lock.head", "its inputs and outputs are not those of the plan")


def _outputs(lock: Lock, walked: Walked) -> None:
    for stage in lock.documents.ir.stages:
        for one in stage.outputs:
            name = (f"{stage.name}." if stage.name else "") + lock.documents.names.get(
                str(one.value), f"v{one.value}"
            )
            if (
                one.value not in walked.values
                or lock.output_shapes[name] != walked.values[one.value].type.shape
            ):
                raise ReplayError("lock.head", f"`{name}` has another shape than it says")


def _assumed(lock: Lock, owed: set[tuple[str, int, str]]) -> None:
    """What is taken for granted is listed, all of it: what obligations of bounds and protocols rest on is worked out here."""
    certificate = lock.documents.certificate
    own = {
        (duty.code, about, one) for duty in certificate.duties for one in duty.assumed for about in duty.about
    }
    for code, about, text in sorted(owed ^ own):
        what = "does not say" if (code, about, text) in owed else "says, and nothing rests on it,"
        raise ReplayError("certificate.assumed", f"`{code}` of value {about} {what} that it assumes: {text}")
    told = sorted({one for duty in certificate.duties for one in duty.assumed})
    if list(certificate.assumed) != told:
        raise ReplayError("certificate.assumed", "its list of assumptions is not that of its obligations")
