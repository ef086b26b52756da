"""Fixes: every one that is offered, applied, ends its finding and adds no error; a safe one changes no other finding."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from pllm_lang.cli.answer import Found, found_in, with_tried_fixes
from pllm_lang.cli.call import Call
from pllm_lang.cli.config import Config, Settings
from pllm_lang.text.finding import Finding, Fix, Severity
from tests.corpus_harness import CORPUS, corpus_files

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```pllm\n(.*?)^```", re.MULTILINE | re.DOTALL)
DOCS = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for number, block in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")), 1)
    if "#!" in block
]


def offered(path: Path, text: str | None = None) -> Found:
    buffers = {} if text is None else {str(path): text}
    call = Call(Settings(str(path.parent), Config(), ()), (str(path),), buffers=buffers, named=(str(path),))
    found = found_in(call)
    return Found(found.checked, with_tried_fixes(call, found, found.kept), found.hidden)


def fixed_text(fix: Fix, path: Path, text: str) -> str:
    for edit in sorted(fix.edits, key=lambda edit: -edit.span.start):
        assert edit.span.file == str(path), "a fix stays in the file that was asked for"
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def errors(findings: Iterable[Finding]) -> Counter[str]:
    return Counter(finding.code for finding in findings if finding.severity is Severity.ERROR)


def said(findings: Iterable[Finding]) -> Counter[tuple[object, ...]]:
    return Counter((finding.code, finding.severity, finding.verdict) for finding in findings)


def judge(path: Path, text: str, found: Found) -> Iterator[str]:
    """Apply every fix and check again."""
    before = found.kept
    for finding in before:
        for fix in finding.fixes:
            new = fixed_text(fix, path, text)
            after = offered(path, new).kept
            assert new != text
            counted = errors(after)
            if any(code.startswith("syntax.") for code in errors(before)):
                counted = Counter({code: n for code, n in counted.items() if code.startswith("syntax.")})
            assert not counted - errors(before), f"{fix.title}: an error was added"
            mine = [one for one in before if fix in one.fixes]
            counts = [Counter(one.code for one in found_)[finding.code] for found_ in (after, before)]
            assert counts[0] < counts[1], f"{fix.title}: the finding is not gone"
            if fix.safe:
                others = said(one for one in before if one not in mine)
                assert said(after) == others, f"{fix.title}: another finding changed"
            yield fix.title


@pytest.mark.parametrize("path", corpus_files(), ids=lambda path: str(path.relative_to(CORPUS)))
def test_every_fix_of_the_corpus_holds(path: Path) -> None:
    text = path.read_bytes().decode("utf-8-sig")
    list(judge(path, text, offered(path)))


@pytest.mark.parametrize("text", DOCS)
def test_every_fix_of_the_docs_holds(text: str, tmp_path: Path) -> None:
    path = tmp_path / "block.pllm"
    path.write_text(text, encoding="utf-8")
    list(judge(path, text, offered(path)))


PLAN = """pllm 1

import std.formats [{formats}]
import std.methods [integer_linear]

plan p {{
  input x: int16[2, 4] from client where abs(x) <= 100
  input z: int32[2, 4] from client where abs(z) <= 10
  weight w: int16[4, 4] public where abs(w) <= 100
  {line}
  output y to client
  output z to client
  output x to client
  {rest}
}}
"""


def plan(line: str, formats: str = "int16, int32", rest: str = "") -> str:
    return PLAN.format(
        line=line, formats=formats, rest=rest or "v = linear(x, w) using integer_linear\n  output v to client"
    )


PLANS = """pllm 1

import std.formats [ring64]
import std.holdings [additive, replicated]
import std.protocols [replicated_add{more}]
import std.policies [three_party_honest_majority]

plan total under three_party_honest_majority {{
  input x: ring64[4] as additive(p0, p1) where abs(x) <= 1000
  input y: ring64[4] as replicated(p0, p1, p2) where abs(y) <= 1000
  {lines}
  output z as replicated(p0, p1, p2)
}}
"""
RING = """pllm 1

import std.methods [fixed_linear_exact]

format fx = fixed({bits}, 18, ring: ring({bits}))

plan layer {{
  input  x: fx[1, 4096] from client where abs(x) <= 128
  weight w: fx[4, 4096] public where abs(w) <= 2
  y = linear(x, w) using fixed_linear_exact
  output y to client
}}
"""
TABLE = """pllm 1

import std.formats [q7]
import std.components [binary_table]
import std.schedules [bounded_independent_elements]

plan gated {{
  input g: q7[1, 4] from client
  input u: q7[1, 4] from client
  a = gated_multiply(g, u) using binary_table(schedule: bounded_independent_elements(max_elements: {n}))
  output a to client
}}
"""
KINDS = {
    "insert a conversion of the format": (
        plan("y = add(x, z) @ client"),
        "Insert `x_int32 = cast(x, to: int32) @ client`",
        plan("x_int32 = cast(x, to: int32) @ client\n  y = add(x_int32, z) @ client"),
    ),
    "insert a conversion of the holding": (
        PLANS.format(more="", lines="z = add(x, y) using replicated_add"),
        "Insert `xc = convert(x) using additive_to_replicated`",
        PLANS.format(
            more=", additive_to_replicated",
            lines="xc = convert(x) using additive_to_replicated\n  z = add(xc, y) using replicated_add",
        ),
    ),
    "widen the ring of a component": (
        plan("y = linear(x, w) using integer_linear(bits: 16)"),
        "Widen the ring to 32 bits",
        plan("y = linear(x, w) using integer_linear(bits: 32)"),
    ),
    "widen the ring of a format": (
        RING.format(bits=32),
        "Widen the ring of `fx` to 58 bits",  # 4096 * (128 * 2^18) * (2 * 2^18) = 2^56, and a sign
        RING.format(bits=32).replace("ring(32)", "ring(58)"),
    ),
    "give a wider format": (
        plan("u = scale(z, by: 20) @ client\n  y = cast(u, to: int8) @ client", formats="int16, int32, int8"),
        "Give it as `int16`",
        plan(
            "u = scale(z, by: 20) @ client\n  y = cast(u, to: int16) @ client", formats="int16, int32, int8"
        ),
    ),
    "add an import": (
        plan("y = cast(x, to: int64) @ client"),
        "Import `int64` from `std.formats`",
        plan("y = cast(x, to: int64) @ client", formats="int16, int32, int64"),
    ),
    "add an import of a component": (
        plan("y = neg(x) using local_total"),
        "Import `local_total` from `std.methods`",
        plan("y = neg(x) using local_total").replace("[integer_linear]", "[integer_linear, local_total]"),
    ),
    "rename a typo": (
        plan("y = cast(x, too: int32) @ client"),
        "Rename `too` to `to`",
        plan("y = cast(x, to: int32) @ client"),
    ),
    "choose a component": (
        plan("y = linear(x, w)"),
        "Use `integer_linear`",
        plan("y = linear(x, w) using integer_linear"),
    ),
    "split a bundle": (
        TABLE.format(n=500),
        "Split into bundles of 128",
        TABLE.format(n=128),
    ),
    "remove an unused import": (
        plan("y = neg(x) @ client", formats="int16, act8, int32"),
        "Remove `act8`",
        plan("y = neg(x) @ client"),
    ),
    "remove an unused value": (
        plan("y = neg(x) @ client\n  t = neg(x) @ client"),
        "Remove `t`",
        plan("y = neg(x) @ client"),
    ),
    "give a call a line of its own": (
        plan("y = add(x, neg(x)) @ client"),
        "Insert `y_neg = neg(x) @ client`",
        plan("y_neg = neg(x) @ client\n  y = add(x, y_neg) @ client"),
    ),
    "name an argument": (
        plan("y = linear(x, w) using integer_linear(32)"),
        "Write `bits: 32`",
        plan("y = linear(x, w) using integer_linear(bits: 32)"),
    ),
    "write an operator": (
        plan("y = x + x @ client"),
        "Write `add(x, x)`",
        plan("y = add(x, x) @ client"),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind: str, tmp_path: Path) -> None:
    text, title, wanted = KINDS[kind]
    path = tmp_path / "plan.pllm"
    path.write_text(text, encoding="utf-8")
    found = {fix.title: fix for finding in offered(path).kept for fix in finding.fixes}
    assert title in found, list(found) or [f.message for f in offered(path).kept]
    assert fixed_text(found[title], path, text) == wanted


def test_every_kind_of_fix_is_offered_somewhere_in_the_corpus() -> None:
    titles = " ".join(
        fix.title
        for path in corpus_files()
        if "#!" in path.read_text(encoding="utf-8")
        for finding in offered(path).kept
        for fix in finding.fixes
    )
    for begin in ("Insert", "Widen", "Import", "Rename", "Use", "Split", "Remove"):
        assert begin in titles
