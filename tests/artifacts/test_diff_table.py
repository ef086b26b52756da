"""One pair of plans for each way to be weaker: the words that tell it, and the same the other way round.

Errors, assumptions, results and plans under no policy stand in `test_diff.py`, with the command and its exit status.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from pllm_lang.artifacts.diff import Change, compare
from pllm_lang.artifacts.lock_data import Lock
from pllm_lang.artifacts.replay.reading import read_lock
from tests.artifacts.locks import SHARED, compiled
from tests.artifacts.texts import POLICED, STAGED

LOCAL = POLICED.replace(", local_deployment", "")
PLAIN = """pllm 1

import std.formats [int16]

plan sums {
  input x: int16[4] from client where abs(x) <= 50
  y = add(x, x) @ client
  output y to client
}
"""
"""Under no policy."""

CHECKED = """pllm 1

import std.components [freivalds_verify]
import std.formats [f32]
import std.pipelines [verified_masked_linear_cpu]
import std.policies [single_evaluator]

plan layer under single_evaluator {
  input  h: f32[8, 64] from client where abs(h) <= 12
  weight w: f32[64, 64] public
  sums = linear(h, w)
  y    = encode(sums, to: f32)
  output y to client
}

experiment run {
  plan: layer
  pipeline: verified_masked_linear_cpu(verification: freivalds_verify(target_failure_bits: 20, checks: 3))
  budget: { requests: 2, max_input_tokens: 8, max_new_tokens: 1 }
}
"""
DEFAULT = CHECKED.replace("import std.components [freivalds_verify]\n", "").replace(
    "(verification: freivalds_verify(target_failure_bits: 20, checks: 3))", ""
)

GRIDS = """pllm 1

format narrow = fixed(16, 4)
format wide = fixed(32, 8)

plan moved {
  input x: narrow[4] from client
  y = cast(x, to: wide) @ client
  output y to client
}
"""
OPENED = """pllm 1

import std.formats [fx64_18]
import std.holdings [additive]
import std.protocols [additive_share, additive_reveal]

policy open {
  parties [client, p0, p1]
  adversary semi_honest corrupts 1 of [p0, p1]
  learns client: [lengths]
  learns p0: [results, lengths]
  learns p1: [lengths]
}

plan opened under open {
  input x: fx64_18[4] from client where abs(x) <= 50
  y = share(x) using additive_share
  output y as additive(p0, p1)
}
"""

Case = tuple[str, str, str, str, str, str]
"""A text and a part of it, what that becomes, and the change: `aspect: what`, before, after."""

WEAKER: dict[str, Case] = {
    # privacy
    "a party may learn more": (
        POLICED, "learns inference: [lengths]", "learns inference: [lengths, y]",
        "privacy: what `inference` may learn", "none", "y"),
    "a coalition is dropped": (
        POLICED, "corrupts 1 of [preparation, inference]", "corrupts 1 of [inference]",
        "privacy: proved against semi-honest", "preparation", "none"),
    "a lower computational level": (
        POLICED, "computational: 128", "computational: 100", "privacy: computational security", "128 bits", "100 bits"),
    "a lower statistical level": (
        POLICED, "statistical: 40", "statistical: 30", "privacy: statistical security", "40 bits", "30 bits"),
    "a level that is not asked": (
        POLICED, ", statistical: 40", "", "privacy: statistical security", "40 bits", "none"),
    "a claim is not required": (
        POLICED, '  requires claim "composition-privacy" outcomes [proved_in_model] refinements [implementation]\n', "",
        'privacy: claim "composition-privacy" that is required', "proved_in_model of implementation", "none"),
    "a claim accepts more outcomes": (
        POLICED, "outcomes [proved_in_model]", "outcomes [proved_in_model, tested]",
        'privacy: claim "composition-privacy" that is required', "proved_in_model of implementation",
        "proved_in_model, tested of implementation"),
    "a claim accepts every refinement": (
        POLICED, " refinements [implementation]", "",
        'privacy: claim "composition-privacy" that is required', "proved_in_model of implementation", "proved_in_model"),
    "less is forbidden": (
        POLICED, "forbids [experimental, local_deployment, assumed_ranges]", "forbids [experimental, local_deployment]",
        "privacy: what components may not be", "assumed_ranges", "none"),
    "parties need not be independent": (
        POLICED, "  independent: [[preparation, inference]]\n", "",
        "privacy: who has to be independent", "inference and preparation", "none"),
    "one administrator more": (
        POLICED, "client: user,", "client: helper,", "privacy: who runs the machine of `client`", "user", "helper"),
    "one machine": (
        LOCAL, "kind: remote", "kind: local", "privacy: how the parties are deployed", "remote", "local"),
    "one party more begins with a weight": (
        SHARED, "secret from [client, p0, p1, dealer]", "secret from [client, p0, p1]",
        "privacy: who begins with `w`", "owner", "dealer and owner"),
    "a bound is assumed, under no policy": (
        PLAIN, "add(x, x) @ client", "add(x, x) @ client assume abs(y) <= 100",
        "privacy: what is assumed", "none", "max_abs <= 100"),
    "a component of a lower level": (
        POLICED.replace("level: 128,", "level: 192,"), "level: 192,", "level: 128,",
        "privacy: computational security of `held_linear`", "192 bits", "128 bits"),
    "fewer checks": (
        CHECKED, "checks: 3", "checks: 2", "privacy: how results are checked",
        "freivalds_verify(target_failure_bits: 20, checks: 3)", "freivalds_verify(target_failure_bits: 20, checks: 2)"),
    "no checks": (
        DEFAULT, "verified_masked", "masked", "privacy: how results are checked",
        "freivalds_verify(target_failure_bits: 40, checks: 2)", "none"),
    # bounds
    "a wider result": (
        POLICED, "high: 9)", "high: 10)", "bounds: range of output `z`", "[-9, 9]", "[-9, 10]"),
    "an input has to keep less": (
        POLICED, "from client\n", "from client where abs(x) <= 9\n", "bounds: range that `x` has to keep", "[-127, 127]", "[-9, 9]"),
    "a format of fewer numbers": (
        GRIDS, "fixed(16, 4)", "fixed(12, 4)", "bounds: range that `x` has to keep", "[-2048, 32767/16]", "[-128, 2047/16]"),
    "a format of coarser numbers": (
        GRIDS, "fixed(16, 4)", "fixed(16, 3)", "bounds: grid that `x` is on", "1/16", "1/8"),
    "an input has to keep a norm": (
        POLICED, "from client\n", "from client where norm2(x) <= 9\n", "bounds: norm2 that `x` has to keep", "none", "9"),
    "less is required": (
        STAGED, "    requires max_abs(x) <= 100\n", "", "bounds: what the plan requires", "max_abs(value) <= 100", "none"),
    "a larger budget of failures": (
        POLICED.replace("  versions:", "  failure_budget: 2^-30\n  versions:"), "2^-30", "2^-20",
        "bounds: failure budget of the policy", "2^-30", "2^-20"),
    "no budget of failures": (
        POLICED.replace("  versions:", "  failure_budget: 2^-30\n  versions:"), "  failure_budget: 2^-30\n", "",
        "bounds: failure budget of the policy", "2^-30", "none"),
    # cost
    "more rows": (
        POLICED, "act8[2, 3]", "act8[3, 3]", "cost: online bytes client -> inference", "24", "36"),
    "more requests": (
        POLICED, "requests: 3", "requests: 4", "cost: budget: requests", "3", "4"),
    "a shorter stock": (
        POLICED, "count: 20", "count: 15", "cost: stock `corrections`: left", "20", "15"),
    "no limit": (
        POLICED, "requests: 3, max_input_tokens: 2,", "requests: 3,", "cost: budget: max_input_tokens", "2", "none"),
    # versions
    "an older component": (
        POLICED, 'version: "2.1"', 'version: "2.0"', "versions: component test/held-linear", "2.1", "2.0"),
    "any version is accepted": (
        POLICED, '  versions: { held_linear: ">=2, <3" }\n', "",
        "versions: versions of `held_linear` that are accepted", ">=2, <3", "any"),
}  # fmt: skip

UNCOMPARED: dict[str, Case] = {
    "other versions are accepted": (
        POLICED, 'held_linear: ">=2, <3"', 'held_linear: ">=1"',
        "versions: versions of `held_linear` that are accepted", ">=2, <3", ">=1"),
    "a value in the clear for a piece of it": (
        OPENED, "  y = share(x) using additive_share\n  output y as additive(p0, p1)",
        "  s = share(x) using additive_share\n  y = reveal(s) using additive_reveal(client: p0)\n  output y to p0",
        "privacy: who gets `y`", "a piece at p0 and a piece at p1", "p0"),
}  # fmt: skip
"""What cannot be compared counts as weaker, either way."""

TOLD: dict[str, Case] = {
    "another machine": (
        POLICED, "memory: 1MiB", "memory: 2MiB", "cost: machine of `client`",
        "features [held-v1], isa [avx2], memory 1048576", "features [held-v1], isa [avx2], memory 2097152"),
    "another administrator": (
        POLICED, "client: user,", "client: friend,", "privacy: who runs the machine of `client`", "user", "friend"),
    "another shape": (
        POLICED, "act8[2, 3]", "act8[3, 3]", "bounds: shape of input `x`", "[2, 3]", "[3, 3]"),
    "a component of another id": (
        POLICED, "test/held-linear", "test/other-linear", "versions: component test/held-linear", "2.1", "none"),
}  # fmt: skip
"""What is told and not judged, in either direction."""

SAME = {
    "names of steps": ("  y = linear(x, w)", "  wide = linear(x, w)"),
    "a comment": ("plan held", "# here\nplan held"),
    "layout": ("z = clamp(y, low: -9, high: 9)", "z =   clamp(y,\n    low: -9, high: 9)"),
    "an expression": ("memory: 1MiB", "memory: 1024KiB"),
    "parties in another order": (
        "parties [client, preparation, inference]",
        "parties [inference, client, preparation]",
    ),
    "who may collude in another order": ("1 of [preparation, inference]", "1 of [inference, preparation]"),
    "words in another order": (
        "forbids [experimental, local_deployment, assumed_ranges]",
        "forbids [assumed_ranges, experimental, local_deployment]",
    ),
    "groups in another order": (
        "independent: [[preparation, inference]]",
        "independent: [[inference, preparation]]",
    ),
    "a budget in another order": (
        "requests: 3, max_input_tokens: 2, max_new_tokens: 1",
        "max_new_tokens: 1, max_input_tokens: 2, requests: 3",
    ),
    "hosts in another order": (
        "{ client: box, preparation: box, inference: box }",
        "{ inference: box, client: box, preparation: box }",
    ),
    "what a policy is called": ("strict", "severe"),
}


@cache
def lock_of(text: str, folder: Path) -> Lock:
    path = folder / "run.pllm"
    path.write_text(text, encoding="utf-8")
    return read_lock(compiled(path, "run" if "experiment run" in text else ""))


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("diff")


def told(first: Lock, second: Lock) -> dict[tuple[str, str, str], Change]:
    return {(f"{one.aspect}: {one.what}", one.before, one.after): one for one in compare(first, second)}


@pytest.mark.parametrize("case", WEAKER)
def test_each_way_to_be_weaker(case: str, folder: Path) -> None:
    text, part, new, what, before, after = WEAKER[case]
    assert text.count(part) >= 1
    old, weaker = lock_of(text, folder), lock_of(text.replace(part, new), folder)
    assert told(old, weaker)[what, before, after].weaker
    assert not told(weaker, old)[what, after, before].weaker


@pytest.mark.parametrize("case", UNCOMPARED)
def test_what_cannot_be_compared_is_weaker(case: str, folder: Path) -> None:
    text, part, new, what, before, after = UNCOMPARED[case]
    old, other = lock_of(text, folder), lock_of(text.replace(part, new), folder)
    assert told(old, other)[what, before, after].weaker
    assert told(other, old)[what, after, before].weaker


@pytest.mark.parametrize("case", TOLD)
def test_what_is_told_and_not_judged(case: str, folder: Path) -> None:
    text, part, new, what, before, after = TOLD[case]
    old, other = lock_of(text, folder), lock_of(text.replace(part, new), folder)
    assert not told(old, other)[what, before, after].weaker
    assert not told(other, old)[what, after, before].weaker


def test_a_weight_under_another_name_has_as_few_holders(folder: Path) -> None:
    """A name says nothing: the weight that is gone may be the one that came."""
    renamed = (
        SHARED.replace("weight w:", "weight v:").replace("abs(w)", "abs(v)").replace("share(w)", "share(v)")
    )
    shown = renamed.replace("secret from [client, p0, p1, dealer]", "secret from [client, p0, p1]")
    old, alike, wider = (lock_of(text, folder) for text in (SHARED, renamed, shown))
    assert not told(old, alike)["privacy: who begins with `v`", "none", "owner"].weaker
    assert told(old, wider)["privacy: who begins with `v`", "none", "dealer and owner"].weaker


def test_what_nothing_else_tells_is_told(folder: Path) -> None:
    """Two plans are said to mean the same only if they do."""
    turned = lock_of(PLAIN.replace("add(x, x)", "neg(x)"), folder)
    kept = lock_of(PLAIN.replace("add(x, x)", "minimum(x, x)"), folder)
    assert compare(turned, kept) == (
        Change("versions", "digest of the plan", turned.digests.plan[:12], kept.digests.plan[:12], False),
    )


@pytest.mark.parametrize("case", SAME)
def test_equal_plans_written_otherwise(case: str, folder: Path) -> None:
    part, new = SAME[case]
    assert part in POLICED
    if case == "names of steps":
        text = POLICED.replace(part, new).replace("clamp(y", "clamp(wide")
    else:
        text = POLICED.replace(part, new)
    assert compare(lock_of(POLICED, folder), lock_of(text, folder)) == ()
