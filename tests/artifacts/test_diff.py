"""Plans compared by meaning: each way to be weaker, and what is no change."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from pllm_lang.artifacts.diff import Change, compare
from pllm_lang.artifacts.diff_experiment import experiments
from pllm_lang.artifacts.lock_data import Filed, Lock
from pllm_lang.artifacts.replay.reading import read_lock
from tests.artifacts.locks import MASKED, SHARED, compiled, data, of_text, sealed
from tests.artifacts.test_lock import pllm

OWN = MASKED.replace("import std.policies [single_evaluator]\n", "").replace(
    "plan masked under single_evaluator",
    """policy mine {
  parties [client, preparation, inference]
  adversary semi_honest corrupts 1 of [preparation, inference]
  security: { computational: 128, statistical: 40 }
  learns client: [results]
  learns preparation: [lengths]
  learns inference: [lengths]
  forbids [experimental]
}

plan masked under mine""",
)


def changes(old: str, new: str) -> dict[str, Change]:
    found = compare(read_lock(of_text(old)), read_lock(of_text(new)))
    return {f"{one.aspect}: {one.what}": one for one in found}


CASES = {
    "nobody is corrupted but one": (
        "corrupts 1 of [preparation, inference]", "corrupts 1 of [inference]", "privacy: proved against semi-honest", True),
    "more is learnt": ("learns inference: [lengths]", "learns inference: [lengths, x]", "privacy: what `inference` may learn", True),
    "a lower level": ("statistical: 40", "statistical: 30", "privacy: statistical security", True),
    "less is forbidden": ("forbids [experimental]", "forbids []", "privacy: what components may not be", True),
    "a wider result": ("high: 9)", "high: 10)", "bounds: range of output `z`", True),
    "a narrower result": ("high: 9)", "high: 8)", "bounds: range of output `z`", False),
    "a larger input": ("act8[2, 3]", "act8[4, 3]", "cost: online bytes client -> inference", True),
    "another shape": ("act8[2, 3]", "act8[4, 3]", "bounds: shape of input `x`", False),
    "a narrower promise": (
        "act8[2, 3] from client", "act8[2, 3] from client where abs(x) <= 9", "bounds: range that `x` has to keep", True),
    "more material": ("act8[2, 3]", "act8[4, 3]", "cost: masked_linear.correction, one each row", True),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_change_is_told_and_judged(case: str) -> None:
    old, new, what, weaker = CASES[case]
    assert old in OWN
    found = changes(OWN, OWN.replace(old, new))
    assert found[what].weaker is weaker
    back = changes(OWN.replace(old, new), OWN)
    if weaker:
        assert not back[what].weaker


def test_a_weight_that_one_more_has_is_weaker() -> None:
    more = SHARED.replace("secret from [client, p0, p1, dealer]", "secret from [client, p0, p1]")
    found = changes(SHARED, more)["privacy: who begins with `w`"]
    assert (found.before, found.after, found.weaker) == ("owner", "dealer and owner", True)
    assert not changes(more, SHARED)["privacy: who begins with `w`"].weaker


def test_a_result_to_one_more_is_weaker() -> None:
    lock = data(of_text(OWN))
    lock["documents"]["ir"]["stages"][0][3][0][1] = ["client", "inference"]
    old, new = read_lock(of_text(OWN)), read_lock(sealed(lock))
    (found,) = [one for one in compare(old, new) if one.what == "who gets `z`"]
    assert (found.before, found.after, found.weaker) == ("client", "client and inference", True)
    assert not any(one.weaker for one in compare(new, old))


def test_a_plan_under_no_policy_is_less_private() -> None:
    bare = "\n".join(line for line in OWN.splitlines() if "policy mine" not in line).replace(
        " under mine", ""
    )
    bare = bare[: bare.index("  parties [")] + bare[bare.index("plan masked") :]
    found = changes(OWN, bare)
    assert found["privacy: policy"].weaker
    assert not changes(bare, OWN)["privacy: policy"].weaker


def test_new_assumptions_are_weaker() -> None:
    found = changes(MASKED.replace("using masked_linear(bits: 32)", "@ client"), MASKED)
    assert found["privacy: what is assumed"].after == "the security of prf, 128 bits"
    assert found["privacy: what is assumed"].weaker


def test_errors_and_versions() -> None:
    found = changes(MASKED, SHARED)
    assert "versions: component std/cast-masked" in found
    smaller = changes(
        SHARED,
        SHARED.replace("fixed(128, 18, ring", "fixed(128, 17, ring").replace(
            "fixed(128, 36", "fixed(128, 34"
        ),
    )
    assert smaller["bounds: error of output `h`"].weaker


def test_names_layout_and_order_are_no_change() -> None:
    other = (
        MASKED.replace("y = linear(x, w)", "wide   =   linear(x, w)")
        .replace("clamp(y", "clamp(wide")
        .replace("\n  weight", "\n\n  # here\n  weight")
    )
    assert changes(MASKED, other) == {}


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "a.pllm").write_text(OWN)
    (tmp_path / "b.pllm").write_text(OWN.replace("high: 9)", "high: 10)"))
    (tmp_path / "bad.pllm").write_text(
        OWN.replace("(bits: 32)", "(bits: 16)").replace("[4, 3]", "[4, 900]").replace("[2, 3]", "[2, 900]")
    )
    assert pllm("compile", "a.pllm", "-o", "a.json", cwd=tmp_path).returncode == 0
    same = pllm("diff", "a.json", "a.pllm", cwd=tmp_path)
    assert (same.returncode, same.stdout) == (0, "a.pllm means what a.json means\n")
    weaker = pllm("diff", "a.json", "b.pllm", cwd=tmp_path)
    assert weaker.returncode == 1
    assert "weaker   range of output `z`: [-9, 9] -> [-9, 10]" in weaker.stdout
    assert pllm("diff", "b.pllm", "a.json", cwd=tmp_path).returncode == 0
    told = json.loads(pllm("diff", "a.json", "b.pllm", "--format", "json", cwd=tmp_path).stdout)
    assert told["schema"] == "pllm.lang.diff.v1"
    assert told["weaker"] is True
    for wrong in ("bad.pllm", "none.json", "none.pllm", "a.pllm:other"):
        assert pllm("diff", "a.json", wrong, cwd=tmp_path).returncode == 2


RUN = (
    MASKED
    + """
target small {
  isa: [sse2]
  memory: 1GiB
}

deployment three {
  kind: remote
  hosts: { client: small, preparation: small, inference: small }
  administered_by: { client: user, preparation: helper, inference: cloud }
}

stock corrections {
  of: correction
  count: 20
  provider: preparation
  ring_bits: 32
  fresh: true
}

experiment run under single_evaluator {
  plan: masked
  deployment: three
  stock: [corrections]
  budget: { requests: 3, max_input_tokens: 2, max_new_tokens: 1 }
}
"""
)
RUNS = {
    "more requests": ("requests: 3", "requests: 4", "cost: budget: requests", ("3", "4"), True),
    "fewer requests": ("requests: 3", "requests: 2", "cost: budget: requests", ("3", "2"), False),
    "a limit less": (", max_new_tokens: 1", "", "cost: budget: max_new_tokens", ("1", "none"), True),
    "another machine": (
        "1GiB", "2GiB", "cost: machine of `client`", ("isa [sse2], memory 1073741824", "isa [sse2], memory 2147483648"), False),
    "another administrator": (
        "preparation: helper", "preparation: friend", "privacy: who runs the machine of `preparation`", ("helper", "friend"), False),
    "another stock": ("count: 20", "count: 30", "cost: stock `corrections`: left", ("20", "30"), False),
}  # fmt: skip


def run_of(folder: Path, text: str) -> Lock:
    file = folder / "plan.pllm"
    file.write_text(text, encoding="utf-8")
    return read_lock(compiled(file, "run"))


@pytest.mark.parametrize("case", RUNS)
def test_what_an_experiment_asks_of_a_run_is_compared(case: str, tmp_path: Path) -> None:
    old, new, what, texts, weaker = RUNS[case]
    assert RUN.count(old) == 1
    both = compare(run_of(tmp_path, RUN), run_of(tmp_path, RUN.replace(old, new)))
    (found,) = (one for one in both if f"{one.aspect}: {one.what}" == what)
    assert (found.before, found.after) == texts
    assert found.weaker is weaker


@pytest.mark.parametrize("text", ["-1", "9" * 5000, "1.5", "", "²"])
def test_a_budget_that_is_no_number_is_weaker(text: str, tmp_path: Path) -> None:
    lock = run_of(tmp_path, RUN)
    assert lock.documents.experiment is not None
    forged = msgspec.structs.replace(lock.documents.experiment, budget=(("requests", text),))
    documents = msgspec.structs.replace(lock.documents, experiment=forged, records={"./plan.small": Filed()})
    told = {one[1]: one for one in experiments(lock, msgspec.structs.replace(lock, documents=documents))}
    assert told["budget: requests"][4]
