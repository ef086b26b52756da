"""Replay, 4 of 6: the bytes of a lock as data, within limits, with every digest worked out again.

Nothing of a lock is believed before its digests hold: the documents are read strictly (no name twice, no number that a reader
might round), and each digest is the SHA-256 of the canonical bytes of its document under a domain of its own.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any, cast

import msgspec

from pllm_lang.artifacts.lock_data import CERTIFICATE, KINDS, LOCK, Lock, Program
from pllm_lang.artifacts.lock_documents import LARGEST, canonical, safe
from pllm_lang.catalog.records import AnyRecord

MAX_LOCK_BYTES = 64_000_000


_DECODER = msgspec.json.Decoder(Lock, strict=False)


class ReplayError(Exception):
    """A lock that proves nothing: a code (`lock.*`: the file, `certificate.*`: the evidence), a sentence, a place."""

    def __init__(self, code: str, message: str, place: str = "") -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.code, self.message, self.place = code, message, place


def read_lock(data: bytes) -> Lock:
    """Raises ReplayError for anything that is not the canonical text of a lock whose digests hold."""
    document = _json(data)
    if not isinstance(document, dict):
        raise ReplayError("lock.form", "a lock is one object")
    fields = cast("dict[str, Any]", document)
    if fields.get("schema") != LOCK:
        raise ReplayError(
            "lock.schema", f"this is `{str(fields.get('schema'))[:60]}`, and replay reads `{LOCK}`"
        )
    try:
        lock = _DECODER.decode(data)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise ReplayError("lock.form", f"a part of the lock has another form: {problem}") from None
    if lock.documents.certificate.schema != CERTIFICATE:
        raise ReplayError("lock.schema", f"its certificate is not `{CERTIFICATE}`")
    parts = _parts(fields["documents"])
    if _assembled(fields, parts) + b"\n" != data:
        raise ReplayError("lock.form", "the text is not in canonical form (RFC 8785, one line)")
    _whole_documents(lock, parts)
    _digests(lock, fields, parts)
    return lock


Parts = dict[str, "bytes | list[bytes] | dict[str, bytes]"]
"""The canonical bytes of each document of a lock; of programs and protocols one by one, of records by key."""


def _parts(documents: dict[str, Any]) -> Parts:
    out: Parts = {}
    for name, part in documents.items():
        if name in ("programs", "protocols"):
            out[name] = [_spelled(one) for one in part]
        else:
            out[name] = (
                {key: _spelled(one) for key, one in part.items()} if name == "records" else _spelled(part)
            )
    return out


def _assembled(fields: dict[str, Any], parts: Parts, *, without: str = "") -> bytes:
    """The lock's own canonical bytes, put together from those of its documents."""
    documents = _object_of(
        {name: part if isinstance(part, bytes) else _joined(part) for name, part in parts.items()}
    )
    others = {name: _spelled(part) for name, part in fields.items() if name not in ("documents", without)}
    return _object_of({**others, "documents": documents})


def _joined(part: list[bytes] | dict[str, bytes]) -> bytes:
    return _object_of(part) if isinstance(part, dict) else b"[" + b",".join(part) + b"]"


def _object_of(parts: dict[str, bytes]) -> bytes:
    names = sorted(parts, key=lambda name: name.encode("utf-16-be"))
    return b"{" + b",".join(_spelled(name) + b":" + parts[name] for name in names) + b"}"


def _whole_documents(lock: Lock, parts: Parts) -> None:
    """Every field is there, also where it says nothing: what a reader would fill in cannot differ from what was digested."""
    for name in ("ir", "policy", "experiment", "certificate", "programs", "protocols"):
        read, stated = msgspec.json.encode(getattr(lock.documents, name), order="sorted"), parts[name]
        spelled = stated if isinstance(stated, bytes) else _joined(stated)
        if read == spelled or _LARGE.sub(_as_text, read) == spelled:
            continue
        if safe(msgspec.json.decode(read)) != json.loads(spelled):
            raise ReplayError("lock.form", f"`{name}` leaves out fields, or has more than a compiler writes")


def record_of(lock: Lock, key: str) -> AnyRecord | None:
    """The record under `key`, None where the lock holds none."""
    for kind, body in lock.documents.records.get(key, {}).items():
        if kind in KINDS:
            try:
                return msgspec.convert(body, KINDS[kind], strict=False)
            except (msgspec.ValidationError, RecursionError) as problem:
                raise ReplayError("lock.form", f"this record has another form: {problem}", key) from None
    return None


_LARGE = re.compile(rb"-?[0-9]{16,}")


def _as_text(found: re.Match[bytes]) -> bytes:
    """A number as a lock writes it: as text where readers might round it."""
    return b'"' + found[0] + b'"' if abs(int(found[0])) > LARGEST else found[0]


# ---- strict JSON ----
def _json(data: bytes) -> Any:
    if len(data) > MAX_LOCK_BYTES:
        raise ReplayError("lock.too_large", f"the file has more than {MAX_LOCK_BYTES:,} bytes")
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
_BEYOND = re.compile("[\U00010000-\U0010ffff]")


def _spelled(value: Any) -> bytes:
    """RFC 8785 of texts and whole numbers: sorted names, no spaces. (Names beyond the first plane sort otherwise there.)"""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return canonical(value) if _BEYOND.search(text) else text.encode()


def digest(what: str, spelled: bytes) -> str:
    return hashlib.sha256(f"pllm.lang.lock.v1/{what}\0".encode() + spelled).hexdigest()


def _digests(lock: Lock, fields: dict[str, Any], parts: Parts) -> None:
    stated, whole = lock.digests, dict[str, str]()
    for name in ("ir", "names", "policy", "experiment", "certificate"):
        part = parts[name]
        assert isinstance(part, bytes)
        whole[name] = digest(name, part)
        _same(name, getattr(stated, name), whole[name])
    bodies, texts = parts["records"], parts["protocols"]
    assert isinstance(bodies, dict)
    records = {key: digest("record", b"[" + _spelled(key) + b"," + one + b"]") for key, one in bodies.items()}
    _same_names("records", stated.records, records)
    _same(
        "protocols",
        list(stated.protocols),
        [digest("protocol", one) for one in texts if isinstance(one, bytes)],
    )
    programs = fields["documents"]["programs"]
    _same_names(
        "programs",
        stated.programs,
        {one.stage: _parties(one, body) for one, body in zip(lock.documents.programs, programs, strict=True)},
    )
    about = {name: whole[name] for name in ("ir", "names", "policy", "experiment")}
    about["records"] = digest("records", _spelled(records))
    _same_names("certificate", lock.documents.certificate.about, about)
    _same(
        "plan_lock_digest",
        lock.plan_lock_digest,
        digest("lock", _assembled(fields, parts, without="plan_lock_digest")),
    )


def _parties(program: Program, body: dict[str, Any]) -> dict[str, str]:
    """What each party runs: the uses in which it has a role."""
    found: dict[str, str] = {}
    for party in program.parties:
        own = [use for use in body["uses"] if any(who == party.name for _, who in use[2])]
        found[party.name] = digest("program", _spelled([program.stage, party.name, own]))
    return found


def _same_names(name: str, stated: dict[str, Any], found: dict[str, Any]) -> None:
    _same(name, sorted(stated), sorted(found))
    for key, value in found.items():
        _same(f"{name} {key}", stated[key], value)


def _same(name: str, stated: object, found: object) -> None:
    if stated != found:
        raise ReplayError(
            "lock.digest", f"the digest of `{name}` is not that of the document in the lock", name
        )


def told(parties: Iterable[str]) -> str:
    return " and ".join(f"`{party}`" for party in sorted(parties)) or "nobody"
