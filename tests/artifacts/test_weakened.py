"""A certificate by a verifier that was made weaker is refused: replay takes nothing of it on trust.

Each rule of a range claims half of what it should, one at a time; each condition of the view rule is left out, one at a time,
for a text that leaks because of it.
"""

from __future__ import annotations

from functools import partial

import msgspec
import pytest

from pllm_lang.artifacts.replay.lock import replay
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.catalog.bounds import Arg
from pllm_lang.catalog.facts import Facts, Interval
from pllm_lang.catalog.primitives.primitive import Params, Primitive
from pllm_lang.catalog.primitives.table import PRIMITIVES
from pllm_lang.exact import interval
from pllm_lang.verify.narrations import views
from pllm_lang.verify.protocol.compose import prove_composed_view
from pllm_lang.verify.protocol.problem import CONDITIONS
from tests.artifacts.locks import FIXED, MASKED, ROOT, SHARED, of_text

of_text_anew = of_text.__wrapped__

STEPS = {
    "+": "add(x, x)",
    "-": "sub(x, z)",
    "neg": "neg(x)",
    "*": "mul(x, z)",
    "^": "square(x)",
    "/": "divide(x, p)",
    "min": "minimum(x, z)",
    "max": "maximum(x, z)",
    "clamp": "clamp(x, low: -1, high: 2)",
    "abs": "quantize(x, to: act8)",
    "sqrt": "sqrt(p)",
    "exp": "exp(x)",
    "tanh": "tanh(x)",
    "polynomial": "polynomial(x, coefficients: [1, 2, 3])",
    "matmul": "matmul(x, z)",
    "outer": "outer(v, v)",
    "sum": "sum(x)",
    "row_sum": "row_sum(x)",
    "row_mean": "row_mean(x)",
    "row_max": "row_max(x)",
    "subtract_row_max": "subtract_row_max(x)",
    "top_values": "top_k(x, k: 2)",
    "top_indices": "top_k(x, k: 2)",
    "causal": "causal_mask(x, fill: -9)",
    "transpose": "transpose(x)",
    "reshape": "reshape(x, shape: [16])",
    "permute": "permute(x, order: [1, 0])",
    "slice": "slice(x, axis: 0, start: 1, stop: 3)",
    "concat": "concat(x, z)",
    "gather": "gather(x, i)",
    "row_broadcast": "add_bias(x, v)",
    "col_broadcast": "scale_rows(x, v)",
    "repeat": "repeat_kv(h, times: 2)",
    "round_to": "cast(x, to: fx64_16)",
    "where": "quantize(x, to: act8)",
}
"""A step for each primitive that has a range rule."""

PLAN = """pllm 1

import std.formats [f32, act8, fx64_16]

plan one {
  input x: f32[4, 4] from client where abs(x) <= 3
  input z: f32[4, 4] from client where min(z) >= -2 and max(z) <= 5
  input p: f32[4, 4] from client where min(p) >= 1 and max(p) <= 4
  input v: f32[4] from client where abs(v) <= 3
  input h: f32[1, 2, 3, 4] from client where abs(h) <= 3
  input i: index[2] from client where min(i) >= 0 and max(i) <= 3
  TARGET = STEP @ client
  output y to client
}
"""


def plan_of(step: str) -> str:
    two = step.startswith(("quantize", "top_k"))
    return PLAN.replace("TARGET", "y, s" if two else "y").replace("STEP", step)


def halved(found: Interval | None) -> Interval | None:
    if found is None or found.low == found.high:
        return found
    quarter = interval.ratio(found.high - found.low, 4)
    return Interval(found.low + quarter, found.high - quarter)


def weaker(primitive: Primitive) -> Primitive:
    def facts(args: tuple[Arg, ...], params: Params) -> Facts:
        assert primitive.facts is not None
        right = primitive.facts(args, params)
        return msgspec.structs.replace(right, range=halved(right.range))

    return msgspec.structs.replace(primitive, facts=facts, execute=None)


@pytest.mark.parametrize("name", STEPS)
def test_a_range_rule_that_claims_too_little(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = plan_of(STEPS[name])
    assert replay(of_text_anew(text)).name == "one"
    monkeypatch.setitem(PRIMITIVES, name, weaker(PRIMITIVES[name]))
    content = of_text_anew(text)
    with pytest.raises(ReplayError) as refused:
        replay(content)
    assert refused.value.code == "certificate.facts"


INTERVALS = {
    "add": "add(x, x)",
    "sub": "sub(x, z)",
    "neg": "neg(x)",
    "mul": "mul(x, z)",
    "div": "divide(x, p)",
    "int_power": "square(x)",
    "minimum": "minimum(x, z)",
    "maximum": "maximum(x, z)",
    "scale": "matmul(x, z)",
    "hull": "causal_mask(x, fill: -9)",
}


@pytest.mark.parametrize("name", INTERVALS)
def test_interval_arithmetic_that_claims_too_little(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = getattr(interval, name)
    monkeypatch.setattr(interval, name, lambda *given: halved(right(*given)))
    content = of_text_anew(plan_of(INTERVALS[name]))
    with pytest.raises(ReplayError) as refused:
        replay(content)
    assert refused.value.code == "certificate.facts"


# ---- views ----
LEAK = """pllm 1

import std.formats [ring64]
import std.policies [client_server]

component leaky = "test/leaky" {
  kind: method
  version: "1"
  implements: neg
  roles: [client, server]
  adversaries: [semi_honest]
  protocol (x: ring64[...s] from client) -> (y: ring64[...s] to client) {
    online {
LINES
      client -> server: u
      client: y = -x
    }
  }
}

plan leak under client_server {
  input x: ring64[2, 2] from client where abs(x) <= 1
  y = neg(x) using leaky
  output y to client
}
"""
LEAKS = {
    "a": ["fresh r: ring64[n] from client", "client: u = x - row_broadcast(r)"],
    "c": ["fresh r: ring64[...s] from client", "client: u = x + r + r"],
    "d": ["fresh r: ring64[...s] from client", "client: u = x * r + r"],
    "e": [
        "fresh k: key shared by [client, server] via message",
        'fresh r: ring64[...s] shared by [client, server] via prf(k, "r")',
        "client: u = x - r",
    ],
    "f": ["fresh r: ring64[...s] per session from client", "client: u = x - r"],
}


def leaking(condition: str) -> str:
    text = LEAK.replace("LINES", "\n".join(f"      {line}" for line in LEAKS[condition]))
    return text.replace("[...s]", "[m, n]")


@pytest.mark.parametrize("condition", LEAKS)
def test_a_view_rule_without_one_of_its_conditions(condition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError):
        of_text_anew(leaking(condition))
    without = partial(prove_composed_view, conditions=CONDITIONS - {condition})
    monkeypatch.setattr(views, "prove_composed_view", without)
    content = of_text_anew(leaking(condition))
    with pytest.raises(ReplayError) as refused:
        replay(content)
    assert refused.value.code == "certificate.view"


@pytest.mark.parametrize("text", [MASKED, SHARED, FIXED])
def test_the_right_ones_are_proved(text: str) -> None:
    assert replay(of_text(text)).shown


def test_pieces_that_lie_with_one_coalition_before_the_first_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "tests/corpus/placement/leak/pieces_of_several_stages.pllm").read_text(encoding="utf-8")
    head, together, _ = (
        part.strip() for part in text.replace("plan alone", "plan together").split("plan together")
    )
    monkeypatch.setattr("pllm_lang.verify.narrations.plan._given_away", lambda *_: None)
    content = of_text_anew(f"{head}\nplan together {together}\n")
    with pytest.raises(ReplayError, match="begin with every piece of `x`"):
        replay(content)
