"""Replay: the bytes of a lock as data, within limits, with every digest worked out again.

Nothing of a lock is believed before its digests hold: the documents are read strictly (no name twice, no number that a reader
might round), and each digest is the SHA-256 of the canonical bytes of its document under a domain of its own.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, cast

import msgspec

from pllm_lang.artifacts.lock_data import CERTIFICATE, LOCK, Lock, Program, Use
from pllm_lang.artifacts.lock_documents import LARGEST, canonical, safe
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.catalog.records import AnyRecord

MAX_LOCK_BYTES = 64_000_000


def read_lock(data: bytes) -> Lock:
    """Raises ReplayError for anything that is not the canonical text of a lock whose digests hold."""
    if len(data) > MAX_LOCK_BYTES:
        raise ReplayError("lock.too_large", f"the file has more than {MAX_LOCK_BYTES:,} bytes")
    lock = _at_a_glance(data) or _in_detail(data)
    if lock.documents.certificate.schema != CERTIFICATE:
        raise ReplayError("lock.schema", f"its certificate is not `{CERTIFICATE}`")
    _digests(lock, data)
    return lock


class _FractionError(ValueError):
    """A number that is not whole."""


def _fraction(text: str) -> float:
    raise _FractionError(text)


_DECODER = msgspec.json.Decoder(Lock, strict=False, float_hook=_fraction)
_ENCODER = msgspec.json.Encoder(order="sorted")
_DIGITS = bytes(48 if 48 <= byte <= 57 else 32 for byte in range(256))
_BEYOND = re.compile(b"[\xf0-\xf4]")


def _at_a_glance(data: bytes) -> Lock | None:
    """The lock where its text is byte for byte what its data give: then it is canonical, no name stands twice, no field is
    missing or too many, and no number is one that readers round. (Names beyond the first plane sort otherwise there.)"""
    if not data.isascii() and _BEYOND.search(data):
        return None
    try:
        lock = _DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    text = _large_as_text(_ENCODER.encode(lock)) + b"\n"
    return lock if text == data and lock.schema == LOCK else None


def _in_detail(data: bytes) -> Lock:
    """The same question part by part, to say what is wrong, or that nothing is."""
    document = _json(data)
    if not isinstance(document, dict):
        raise ReplayError("lock.form", "a lock is one object")
    schema = cast("dict[str, Any]", document).get("schema")
    if schema != LOCK:
        raise ReplayError("lock.schema", f"this is `{str(schema)[:60]}`, and replay reads `{LOCK}`")
    try:
        lock = _DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise ReplayError("lock.form", f"a part of the lock has another form: {problem}") from None
    if _spelled(cast("dict[str, Any]", document)) + b"\n" != data:
        raise ReplayError("lock.form", "the text is not in canonical form (RFC 8785, one line)")
    if safe(msgspec.json.decode(_ENCODER.encode(lock))) != document:
        raise ReplayError("lock.form", "it leaves out fields, or has more than a compiler writes")
    return lock


def record_of(lock: Lock, key: str) -> AnyRecord | None:
    """The record under `key`, None where the lock holds none."""
    filed = lock.documents.records.get(key)
    if filed is None:
        return None
    kinds = (filed.operator, filed.component, filed.holding, filed.kernel, filed.record)
    found = [one for one in kinds if one is not None]
    if len(found) != 1:
        raise ReplayError("lock.form", "this is not one record, of one kind", key)
    return found[0]


def _large_as_text(text: bytes) -> bytes:
    """Numbers as a lock writes them: as text where readers might round them, which only those of 16 digits and more do."""
    runs, parts, last = text.translate(_DIGITS), list[bytes](), 0
    start = runs.find(b"0" * 16)
    while start >= 0:
        end = runs.find(b" ", start)
        first = start - 1 if text[start - 1] == 45 else start
        if text[first - 1] in b":,[" and (end - start > 17 or int(text[start:end]) > LARGEST):
            parts += (text[last:first], b'"', text[first:end], b'"')
            last = end
        start = runs.find(b"0" * 16, end)
    return b"".join((*parts, text[last:])) if parts else text


# ---- strict JSON ----
def _json(data: bytes) -> Any:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise ReplayError("lock.not_json", f"byte {problem.start} is no UTF-8") from None
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_float=_no_float, parse_int=_whole, parse_constant=_no_float
        )
    except json.JSONDecodeError as problem:
        raise ReplayError(
            "lock.not_json", f"it ends or goes wrong at offset {problem.pos}: {problem.msg}"
        ) from None
    except RecursionError:
        raise ReplayError("lock.nesting", "it nests deeper than anything that a compiler writes") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ReplayError("lock.duplicate_key", f"`{twice[:60]}` stands twice in one object")
    return found


def _whole(text: str) -> int:
    if len(text) > 17 or abs(int(text)) > LARGEST:
        raise ReplayError(
            "lock.number", f"{text[:40]} is a number that JSON readers round; locks write it as text"
        )
    return int(text)


def _no_float(text: str) -> float:
    raise ReplayError("lock.number", f"{text[:40]} is no whole number, and locks hold no others")


# ---- digests ----
class _Use(msgspec.Struct):
    """Where the bytes of a program's uses stand."""

    uses: list[msgspec.Raw]


class _Parts(msgspec.Struct):
    """Where the bytes of each document stand: of a canonical text they are the canonical bytes."""

    ir: msgspec.Raw
    names: msgspec.Raw
    policy: msgspec.Raw
    experiment: msgspec.Raw
    records: dict[str, msgspec.Raw]
    protocols: list[msgspec.Raw]
    programs: list[_Use]
    certificate: msgspec.Raw


class _File(msgspec.Struct):
    documents: _Parts


_PARTS = msgspec.json.Decoder(_File)


def _spelled(value: object) -> bytes:
    """RFC 8785 of texts and whole numbers: sorted names, no spaces. (Names beyond the first plane sort otherwise there.)"""
    text = _ENCODER.encode(value)
    return canonical(value) if not text.isascii() and _BEYOND.search(text) else text


def _array(*parts: bytes | msgspec.Raw) -> bytes:
    return b"[" + b",".join(parts) + b"]"


def digest(what: str, spelled: bytes | msgspec.Raw) -> str:
    return hashlib.sha256(f"pllm.lang.lock.v1/{what}\0".encode() + bytes(spelled)).hexdigest()


def _digests(lock: Lock, data: bytes) -> None:
    parts, stated = _PARTS.decode(data).documents, lock.digests
    about = {what: digest(what, getattr(parts, what)) for what in ("ir", "names", "policy", "experiment")}
    for what, found in {**about, "certificate": digest("certificate", parts.certificate)}.items():
        _same(what, getattr(stated, what), found)
    records = {key: digest("record", _array(_spelled(key), one)) for key, one in parts.records.items()}
    _same_names("records", stated.records, records)
    _same("protocols", list(stated.protocols), [digest("protocol", one) for one in parts.protocols])
    programs = zip(lock.documents.programs, parts.programs, strict=True)
    _same_names("programs", stated.programs, {one.stage: _parties(one, own.uses) for one, own in programs})
    about["records"] = digest("records", _spelled(records))
    _same_names("certificate", lock.documents.certificate.about, about)
    own = b'"plan_lock_digest":%s,' % _spelled(lock.plan_lock_digest)
    tail = b'"schema":%s}\n' % _spelled(lock.schema)
    others = data[: -len(own + tail)] + tail[:-1]  # the last names but one and one of a canonical text
    _same("plan_lock_digest", lock.plan_lock_digest, digest("lock", others))


def _parties(program: Program, uses: list[msgspec.Raw]) -> dict[str, str]:
    """What each party runs: the uses in which it has a role."""
    own: dict[str, list[msgspec.Raw]] = {party.name: [] for party in program.parties}
    for use, text in zip(program.uses, uses, strict=True):
        for who in own.keys() & ({who for _, who in use.roles} if type(use) is Use else {*use.parties}):
            own[who].append(text)
    stage = _spelled(program.stage)
    return {who: digest("program", _array(stage, _spelled(who), _array(*mine))) for who, mine in own.items()}


def _same_names(name: str, stated: dict[str, Any], found: dict[str, Any]) -> None:
    _same(name, sorted(stated), sorted(found))
    for key, value in found.items():
        _same(f"{name} {key}", stated[key], value)


def _same(name: str, stated: object, found: object) -> None:
    if stated != found:
        raise ReplayError(
            "lock.digest", f"the digest of `{name}` is not that of the document in the lock", name
        )
