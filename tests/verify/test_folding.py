"""Equal turns of a repeat are proved by one: never more than what the unrolled plan proves, and of the same size."""

from __future__ import annotations

from pathlib import Path

import pytest

from pllm_lang.catalog.load import open_project
from pllm_lang.catalog.policies import effective
from pllm_lang.catalog.records import Policy
from pllm_lang.ir.experiment import Experiment
from pllm_lang.ir.lower.plan import lower_plan
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.check import check_plan, plan_view
from pllm_lang.verify.flow import Flow
from pllm_lang.verify.narrations import plan as proving
from pllm_lang.verify.narrations.material import needs
from pllm_lang.verify.narrations.plan import Proof
from pllm_lang.verify.view import PlanView
from tests.verify import random_turns

HEAD = """pllm 1
import std.formats [int8, ring64, ring32]
import std.components [masked_linear]
import std.policies [single_evaluator]
import std.protocols [additive_share, beaver_multiply, additive_reveal]
"""

LAYERS = """
plan layers under single_evaluator {
  input x: int8[2, 4] from client where abs(x) <= 1
  weight w[0..<TURNS]: int8[4, 4] public
  repeat i in 0..<TURNS carrying [x] {
    y = linear(x, w[i]) using masked_linear(bits: 32)
    x = rescale(y, by: y, to: int8, saturate: true) @ client
  }
  output x to client
}
"""

SHARES = """
policy two {
  parties [client, p0, p1, dealer]
  adversary semi_honest corrupts 1 of [p0, p1, dealer]
  learns client: [results]
  learns p0: [lengths]
  learns p1: [lengths]
  learns dealer: [lengths]
}

plan products under two {
  input x: ring64[4] from client where abs(x) <= 1
  input y: ring64[4] from client where abs(y) <= 1
  xs = share(x) using additive_share
  ys = share(y) using additive_share
  repeat i in 0..<TURNS carrying [xs] {
    xs = mul(xs, ys) using beaver_multiply
  }
  z = reveal(xs) using additive_reveal
  output z to client
}
"""

SWAPPED = """
plan swapped under single_evaluator {
  input a: int8[2] from client where abs(a) <= 1
  input b: int8[2] from inference where abs(b) <= 1
  repeat i in 0..<TURNS carrying [a, b] {
    c = reshape(a, shape: [2])
    a = reshape(b, shape: [2])
    b = reshape(c, shape: [2])
  }
  output a to client
}
"""

FIRST_TURN_ONLY = """
plan once under single_evaluator {
  input x: int8[2] from client where abs(x) <= 1
  weight w: int8[2] public
  repeat i in 0..<TURNS carrying [w] {
    w = add(x, w) @ client
  }
  output w to client
}
"""

PLANS = {"layers": LAYERS, "shares": SHARES, "swapped": SWAPPED, "public at first": FIRST_TURN_ONLY}


def proofs(text: str, turns: int, head: str = HEAD) -> tuple[Proof, Proof]:
    """The plan's proof with folded turns, and with all of them."""
    path = str(Path("plan.pllm").resolve())
    opened = open_project([path], str(Path.cwd()), {path: head + text.replace("TURNS", str(turns))})
    module = opened.project.modules[opened.project.main[0]]
    decl = next(decl for decl in module.file.decls if isinstance(decl, syn.Plan))
    lowered = lower_plan(opened.project, opened.library, module.name, decl)
    assert lowered.complete, lowered.findings
    report = check_plan(lowered.plan, lowered.source_map, opened.library)
    assert report.flow is not None
    view = plan_view(lowered.plan, lowered.source_map, opened.library, lowered.plan.policy)
    policy = effective(lowered.plan.policy, opened.library)
    assert policy is not None
    folded, whole = (
        proving._prove(view, policy, report.flow, folding=folding)  # pyright: ignore[reportPrivateUsage]
        for folding in (True, False)
    )
    return folded, whole


def proved(proof: Proof) -> bool:
    return all(o.verdict is Verdict.PROVED for o in proof.obligations)


def holds(proof: Proof) -> bool:
    return proving._holds(proof)  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("turns", [3, 4, 7, 40])
@pytest.mark.parametrize("name", sorted(PLANS))
def test_what_one_turn_proves_all_turns_prove(name: str, turns: int) -> None:
    folded, whole = proofs(PLANS[name], turns)
    assert proved(whole) or not holds(folded)


@pytest.mark.parametrize("turns", [3, 7, 40])
@pytest.mark.parametrize("name", ["layers", "shares", "public at first"])
def test_equal_turns_are_proved_by_one_and_burn_as_much(name: str, turns: int) -> None:
    folded, whole = proofs(PLANS[name], turns)
    assert holds(folded)
    assert sum(m.times for m in folded.composed[0].made) == len(whole.composed[0].made)
    budget = Experiment("e", "", budget=(("requests", "3"),))
    assert [(n.bundle, n.count) for n in needs(budget, folded.composed)] == [
        (n.bundle, n.count) for n in needs(budget, whole.composed)
    ]


def test_turns_that_begin_otherwise_prove_nothing() -> None:
    folded, _ = proofs(SWAPPED, 8)
    assert folded.composed[0].folds
    assert not holds(folded)


DELAYED = """
plan delayed under four {
  input m: ring64[2] from p0 where abs(m) <= 1
  input n: ring64[2] from p0 where abs(n) <= 1
  input a: ring64[2] from client where abs(a) <= 1
  input b: ring64[2] from client where abs(b) <= 1
  x = share(a) using additive_share
  y = share(b) using additive_share
  repeat i in 0..<TURNS carrying [x, y, m, n] {
    _z = add(x, m) using padded_add
    k = same(m)
    m = same(n)
    n = same(k)
    x = same(y)
    y = same(y)
  }
  output m to p0
}
"""


def test_a_mask_handed_on_and_used_in_every_turn_is_none() -> None:
    """The second turn alone uses `y` once; the third uses it again."""
    folded, whole = proofs(DELAYED, 6, random_turns.HEAD)
    assert folded.composed[0].again
    assert not holds(folded)
    assert not proved(whole)


@pytest.mark.parametrize("seed", [*range(20), 64, 155, 172, 193, 238, 270])
def test_random_turns_prove_no_more_than_all_of_them(seed: int) -> None:
    """The last six were accepted once, for values that are handed on as they are, or a turn later."""
    folded, whole = proofs(random_turns.random_plan(seed), 6, random_turns.HEAD)
    assert proved(whole) or not holds(folded)


def test_some_random_turns_are_proved_by_one() -> None:
    proofs_by_one = [
        holds(proofs(random_turns.random_plan(seed), 6, random_turns.HEAD)[0]) for seed in range(20)
    ]
    assert True in proofs_by_one
    assert False in proofs_by_one


GROWING = """
policy two {
  parties [client, p0, p1]
  adversary semi_honest corrupts 1 of [p0, p1]
  learns client: [results]
  learns p0: [lengths]
  learns p1: [lengths]
}

operator scaled {F, G} (x: F[...s], y: G[...s]) -> (z: exact[...s]) {
  means z = x * y
}

component scale_shares = "example/scale-shares" {
  kind: method
  version: "1"
  implements: scaled
  carrier: ring(64)
  roles: [p0, p1]
  adversaries: [semi_honest]
  protocol (
    x: ring(64)[...s] as additive(p0, p1),
    y: fixed(16, 2, ring: ring(64))[...s] public,
  ) -> (z: ring(64)[...s] as additive(p0, p1)) {
    online {
      p0: z.p0 = x.p0 * y
      p1: z.p1 = x.p1 * y
    }
  }
}

format quarters = fixed(16, 2, ring: ring(64))

plan growing under two {
  input x: ring64[4] from client where abs(x) <= 1
  weight w: quarters[4] public where abs(w) <= 0
  xs = share(x) using additive_share
  a = scaled(xs, w) using scale_shares
  repeat i in 0..<TURNS carrying [a] {
    a = scaled(a, w) using scale_shares
  }
  output a as additive(p0, p1)
}
"""


def test_turns_that_leave_more_fraction_bits_are_not_alike() -> None:
    """Each turn adds two; what one of them is shown to compute says nothing of the next."""
    folded, _ = proofs(GROWING, 8, HEAD + "import std.holdings [additive]\n")
    assert folded.composed[0].unlike
    assert not holds(folded)


def test_a_long_plan_without_repeats_is_proved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused ones too: where nothing folds, a second proof would say what the first said."""
    asked: list[bool] = []
    prove = proving._prove  # pyright: ignore[reportPrivateUsage]

    def noted(view: PlanView, policy: Policy, flow: Flow, *, folding: bool) -> Proof:
        asked.append(folding)
        return prove(view, policy, flow, folding=folding)

    monkeypatch.setattr(proving, "_prove", noted)
    steps = "".join(
        f"  x{i + 1} = reshape(x{i}, shape: [2]) @ client\n" for i in range(proving.FOLDED_FROM + 1)
    )
    last = f"  y = reshape(x{proving.FOLDED_FROM + 1}, shape: [2]) @ inference\n  output y to inference\n"
    text = f"{HEAD}plan long under single_evaluator {{\n  input x0: int8[2] from client\n{steps}{last}}}\n"
    path = str(Path("plan.pllm").resolve())
    opened = open_project([path], str(Path.cwd()), {path: text})
    module = opened.project.modules[opened.project.main[0]]
    decl = next(decl for decl in module.file.decls if isinstance(decl, syn.Plan))
    lowered = lower_plan(opened.project, opened.library, module.name, decl)
    report = check_plan(lowered.plan, lowered.source_map, opened.library)
    assert not report.accepted
    assert asked == [False]
