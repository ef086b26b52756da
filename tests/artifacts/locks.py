"""Locks for tests: compiled from a text, changed in one place, and sealed again with every digest worked out by this file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

from pllm_lang.artifacts.lock import compile_report
from pllm_lang.cli.checking import check_files
from pllm_lang.verify.experiments import check_record

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
Where = tuple[str | int, ...]

MASKED = """pllm 1

import std.formats [act8, weight8]
import std.components [masked_linear]
import std.policies [single_evaluator]

plan masked under single_evaluator {
  input x: act8[2, 3] from client
  weight w: weight8[4, 3] public
  y = linear(x, w) using masked_linear(bits: 32)
  z = clamp(y, low: -9, high: 9) @ client
  output z to client
}
"""

SHARED = """pllm 1

import std.protocols [additive_share, beaver_matmul, cast_masked, additive_reveal]

format wide = fixed(128, 36, ring: ring(128))
format narrow = fixed(128, 18, ring: ring(128))

policy two_servers {
  parties [client, owner, p0, p1, dealer]
  adversary semi_honest corrupts 1 of [p0, p1, dealer]
  security: { computational: 128, statistical: 40 }
  learns client: [results]
  learns owner: [lengths]
  learns p0: [lengths]
  learns p1: [lengths]
  learns dealer: [lengths]
  independent: [[p0, p1], [p0, dealer], [p1, dealer]]
}

plan shared under two_servers {
  input  x: narrow[2, 3] from client where abs(x) <= 8
  weight w: narrow[3, 2] secret from [client, p0, p1, dealer] where abs(w) <= 1
  xs = share(x) using additive_share
  ws = share(w) using additive_share(client: owner)
  hs = matmul(xs, ws) using beaver_matmul(product: wide)
  ns = cast(hs, to: narrow) using cast_masked(range: 60)
  h  = reveal(ns) using additive_reveal
  output h to client
}
"""

FIXED = """pllm 1

import std.formats [fx64_18]
import std.holdings [additive]
import std.methods [fixed_linear_exact, fixed_mul_exact]

plan fixed {
  input  h: fx64_18[1, 64] from client as additive(p0, p1) where abs(h) <= 1 and norm2(h) <= 4
  weight w: fx64_18[32, 64] public where abs(w) <= 1 and row_norm2(w) <= 1.4142
  repeat i in 0..<3 carrying [h] {
    h = mul(h, h) using fixed_mul_exact
  }
  y = linear(h, w) using fixed_linear_exact
  output y
}
"""


def compiled(
    path: Path | str, name: str = "", root: Path | None = None, texts: dict[str, str] | None = None
) -> bytes:
    """The bytes of the lock of a plan or experiment that is accepted; `texts` stand in for files."""
    checked = check_files([str(path)], str(root or Path(path).parent), texts)
    report = next(r for r in checked.reports if r.name == name or (not name and len(checked.reports) == 1))
    assert report.accepted, [finding.message for finding in report.findings]
    project, library = checked.opened.project, checked.opened.library
    records = [
        r
        for key in library.keys("experiment")
        if (r := library.get(key)) is not None and r.name == report.name
    ]
    experiment = check_record(project, library, records[0]).experiment if records else None  # type: ignore[arg-type]
    return compile_report(report, project, library, experiment).content


@cache
def of_text(text: str, name: str = "") -> bytes:
    """The lock of a plan or experiment of a text; the name may be left out where there is one."""
    path = ROOT / "tests" / "artifacts" / "plan.pllm"
    return compiled(path, name, texts={str(path): text})


def canonical(value: Any) -> bytes:
    """RFC 8785 of texts, whole numbers and truth values; `test_lock.py` holds it against the `rfc8785` package."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def spelled(lock: Any) -> bytes:
    return canonical(lock) + b"\n"


def digest(what: str, value: Any) -> str:
    return hashlib.sha256(f"pllm.lang.lock.v1/{what}\0".encode() + canonical(value)).hexdigest()


def sealed(lock: Any) -> bytes:
    """The lock with every digest of a document in it worked out anew."""
    documents, digests = lock["documents"], lock["digests"]
    records = {key: digest("record", [key, one]) for key, one in documents["records"].items()}
    about = {what: digest(what, documents[what]) for what in ("ir", "names", "policy", "experiment")}
    documents["certificate"]["about"] = {**about, "records": digest("records", records)}
    digests |= {**about, "certificate": digest("certificate", documents["certificate"]), "records": records}
    digests["protocols"] = [digest("protocol", one) for one in documents["protocols"]]
    digests["programs"] = {one["stage"]: _programs(one) for one in documents["programs"]}
    lock["plan_lock_digest"] = digest("lock", {k: v for k, v in lock.items() if k != "plan_lock_digest"})
    return spelled(lock)


def _programs(program: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    for party in program["parties"]:
        own = [use for use in program["uses"] if party[0] in _players(use)]
        found[party[0]] = digest("program", [program["stage"], party[0], own])
    return found


def _players(use: Any) -> set[str]:
    return {who for _, who in use[3]} if use[0] == "use" else set(use[1])


# ---- one change ----
def places(value: Any, where: Where = ()) -> Iterator[Where]:
    """Every field: leaves, and every item of a list or object as a whole."""
    if where:
        yield where
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*where, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from places(item, (*where, index))


def changed(lock: Any, where: Where) -> Iterator[str]:
    """Gives the lock another value in one place, for each way in turn, and puts the old one back."""
    *path, last = where
    holder = lock
    for step in path:
        holder = holder[step]
    old = holder[last]
    for what, new in _others(old):
        if what == "removed":
            del holder[last]
            yield what
            holder.insert(last, old) if isinstance(holder, list) else holder.update({last: old})
        else:
            holder[last] = new
            yield what
            holder[last] = old


def _others(old: Any) -> Iterator[tuple[str, Any]]:
    yield "removed", None
    match old:
        case bool():
            yield "flipped", not old
        case int():
            yield "more", old + 1
            yield "less", old - 1
        case str() if old.lstrip("-").isdigit():
            yield "more", str(int(old) + 1)
            yield "less", str(int(old) - 1)
        case str():
            yield "other", old + "x"
            if old:
                yield "empty", ""
        case None:
            yield "filled", {}
        case dict():
            yield "added", {**cast("dict[str, Any]", old), "zzz": 1}
        case [*_, last]:
            yield "doubled", [*cast("list[Any]", old), last]
        case _:
            pass


def data(lock: bytes) -> Any:
    return json.loads(lock)
