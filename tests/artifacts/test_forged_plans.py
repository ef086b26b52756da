"""Locks forged by hand so that several parts of them agree: the plan, its records and what the parties run are changed together.

Each of these was proved once: of a plan that reads what is not there, or that the parties do not run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from pllm_lang.artifacts.replay.lock import replay
from pllm_lang.artifacts.replay.refusal import ReplayError
from tests.artifacts.locks import EXAMPLES, FIXED, SHARED, compiled, data, of_text, sealed
from tests.artifacts.test_experiments import EXPERIMENT
from tests.artifacts.texts import POLICED

POLICY = SHARED[SHARED.index("policy two_servers") : SHARED.index("plan shared")]
FAMILY = FIXED.replace("weight w:", "weight w[0..<3]:").replace("linear(h, w)", "linear(h, w[2])")
LONG = """pllm 1

import std.formats [act8, weight8]
import std.components [masked_linear]
import std.policies [single_evaluator]

plan long under single_evaluator {
  weight w[0..<130]: weight8[4, 4] public where row_norm1(w) <= 100
  input x: act8[2, 4] from client where abs(x) <= 100
  repeat i in 0..<130 carrying [x] {
    y = linear(x, w[i]) using masked_linear(bits: 32)
    c = clamp(y, low: -100, high: 100) @ client
    x = encode(c, to: act8) @ client
  }
  output x to client
}
"""
SCALED = f"""pllm 1

import std.protocols [additive_share, additive_public_linear, additive_reveal]

format narrow = fixed(64, 18, ring: ring(64))
format coarse = fixed(64, 10, ring: ring(64))
format whole = fixed(64, 0, ring: ring(64))

{POLICY}
plan scaled under two_servers {{
  weight w: whole[2, 2] public where abs(w) <= 16
  input  x: narrow[2, 2] from client where abs(x) <= 1/16
  input  q: coarse[2, 2] from client where abs(q) <= 1/16
  h = share(x) using additive_share
  repeat i in 0..<2 carrying [h] {{
    h = linear(h, w) using additive_public_linear(product: narrow)
  }}
  y = reveal(h) using additive_reveal
  output y to client
  output q to client
}}
"""
ROUNDED = """pllm 1

import std.formats [act8]
import std.policies [single_evaluator]
format tiny = int(3)

plan rounded under single_evaluator {
  input x: act8[2, 3] from client where abs(x) <= 3
  c = encode([[1, 2, 3], [1, 2, 3]], to: act8) @ client
  y = polynomial(x, coefficients: [1, 1, 1]) @ client
  z = encode(y, to: act8) @ client
  t = encode(x, to: tiny) @ client
  output c to client
  output z to client
  output t to client
}
"""
TWO_WEIGHTS = (
    SHARED.replace("  xs = share", "  weight v: narrow[3, 2] secret from [client, p0, p1, dealer] where abs(v) <= 1\n  xs = share")
    .replace("  hs =", "  vs = share(v) using additive_share(client: owner)\n  us = sub(ws, vs) using additive_subtract\n  hs =")
    .replace("matmul(xs, ws)", "matmul(xs, us)")
    .replace("import std.protocols [", "import std.protocols [additive_subtract, ")
)  # fmt: skip
OWN = f"""pllm 1

format wide = fixed(64, 18, ring: ring(64))

holding odd {{
  kind: additive
  n_parties: 2
  threshold: 1
  pieces: {{ a: [0], b: [1] }}
  value: a + b
}}

component own_sub = "own/sub" {{
  kind: method
  version: "1"
  implements: sub
  roles: [p0, p1]
  n_parties: 2
  adversaries: [semi_honest]
  protocol (x: F[...s] as odd(p0, p1), y: F[...s] as odd(p0, p1)) -> (z: F[...s] as odd(p0, p1)) {{
    online {{
      p0: z.a = x.a - y.a
      p1: z.b = x.b - y.b
    }}
  }}
}}

{POLICY.replace("[results]", "[results, lengths]")}
plan own under two_servers {{
  input  x: wide[2, 2] as odd(p0, p1) where abs(x) <= 8
  input  y: wide[2, 2] as odd(p0, p1) where abs(y) <= 8
  d = sub(x, y) using own_sub
  output d as odd(p0, p1)
}}
"""

BITS = f"""pllm 1

import std.holdings [additive, boolean_shares]
import std.protocols [arithmetic_to_boolean]

format byte = fixed(8, 0, ring: ring(8))

{POLICY.replace("[results]", "[results, lengths]")}
plan bits under two_servers {{
  input x: byte[2] from client as additive(p0, p1)
  b = convert(x) using arithmetic_to_boolean
  output b as boolean_shares(p0, p1)
}}
"""

TABLE = """pllm 1

import std.nn [silu]
import std.policies [single_evaluator]
import std.holdings [masked]

format byte = fixed(8, 4, ring: ring(8))

component table = "own/table" {
  kind: method
  version: "1"
  implements: silu
  primitive: garbled_table
  carrier: ring(8)
  roles: [client, inference]
  adversaries: [semi_honest]
  ensures error(y) <= 1/4
  protocol (x: F[...s] from client) -> (y: F[...s] as masked(inference, client)) {
    offline {
      fresh mask: F[...s] shared by [client, garbled_table] via message
      bundle table per entry { mask }
    }
    online {
      client -> garbled_table: x
      garbled_table: y.open = silu(x) - mask
      garbled_table -> inference: y.open
      client: y.mask = mask
    }
  }
}

plan tables under single_evaluator {
  input x: byte[2] from client where abs(x) <= 2
  y = silu(x) using table
  output y as masked(inference, client)
}
"""


def steps(documents: Any) -> Any:
    return documents["ir"]["stages"][0][1]


def uses(documents: Any) -> Any:
    return [use for use in documents["programs"][0]["uses"] if use[0] == "use"]


# ---- what is not there ----
def fewer_members(documents: Any) -> None:
    """Their number decides what a machine has to hold."""
    documents["ir"]["weights"][0][2] = 2


def a_family_as_one_value(documents: Any) -> None:
    steps(documents)[1][2][1] = 1


def a_member_before_the_first(documents: Any) -> None:
    steps(documents)[1][2][1][2] = ["num", "-1"]


def fewer_entries(documents: Any) -> None:
    documents["ir"]["constants"][0][2] = ["1", "2"]


def entries_on_a_grid(documents: Any) -> None:
    documents["ir"]["constants"][0][1][0] = 0
    documents["ir"]["constants"][0][2][0] = "1/3"


def a_format_that_holds_nothing(documents: Any) -> None:
    form = documents["ir"]["formats"][0]
    form[2:4] = form[3], form[2]


def a_coefficient_that_is_no_number(documents: Any) -> None:
    """It was left out of the polynomial."""
    step = next(step for step in steps(documents) if step[1].endswith("polynomial"))
    step[3][0][1] = ["list", [["num", "1"], ["num", "1"], ["apply", "sqrt", [["num", "1000003"]], []]]]


# ---- what is not run ----
def a_first_turn_of_another_format(documents: Any) -> None:
    """The value of 10 fraction bits comes out as one of 18."""
    formats = [form[0] for form in documents["ir"]["formats"]]
    coarse = formats.index("coarse")
    documents["ir"]["inputs"][0][1][0] = steps(documents)[0][5][0][0] = coarse


def one_name_for_two_weights(documents: Any) -> None:
    """The parties subtract one weight from itself."""
    documents["names"] = {key: "w" if name == "v" else name for key, name in documents["names"].items()}
    program = documents["programs"][0]
    program["inputs"] = [given for given in program["inputs"] if given[0] != "v"]
    for use in uses(documents):
        for pair in use[4]:
            pair[1] = "w" if pair[1] == "v" else pair[1]


def operands_the_other_way_round(documents: Any) -> None:
    """Record, text and use agree that the first operand of the difference is its second."""
    own = next(one for key, one in documents["records"].items() if key.endswith("own_sub"))
    own["component"]["protocol"]["inputs"].reverse()
    for key, text in documents["protocols"]:
        if key.endswith("own_sub"):
            text["inputs"].reverse()
    (use,) = uses(documents)
    use[4] = [[use[4][1][0], use[4][0][1]], [use[4][0][0], use[4][1][1]]]


def pieces_that_make_nothing(documents: Any) -> None:
    """Every piece counts 0 times, so that the value is 0 whatever the parties compute."""
    own = next(one for key, one in documents["records"].items() if key.endswith(".odd"))
    own["holding"]["fields"]["value"] = ["apply", "*", [["ref", "a"], ["ref", "b"]], []]
    text = documents["protocols"][0][1]
    for thing in (*text["inputs"], *text["outputs"], *documents["programs"][0]["inputs"]):
        for piece in thing[2][2]:
            piece[2] = 0
    for output in documents["programs"][0]["outputs"]:
        for piece in output[2][2]:
            piece[2] = 0
    text["body"][1][3] = ["add", [["scale", 0, ["ref", "x.b"]], ["scale", 5, ["ref", "y.b"]]]]


def pieces_of_which_nothing_is_said(documents: Any) -> None:
    own = next(one for key, one in documents["records"].items() if key.endswith(".odd"))
    del own["holding"]["fields"]["value"]


def wide(value: Any, old: list[int], new: list[int]) -> Any:
    """The value with another shape wherever it has one."""
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return new if items == old else [wide(one, old, new) for one in items]
    if isinstance(value, dict):
        return {key: wide(one, old, new) for key, one in cast("dict[str, Any]", value).items()}
    return value


def half_of_the_bits(documents: Any) -> None:
    for part in ("protocols", "programs"):
        documents[part] = wide(documents[part], [2, 8], [2, 4])


def bits_of_another_number(documents: Any) -> None:
    for part in ("protocols", "programs"):
        documents[part] = wide(documents[part], [2, 8], [3, 8])


def a_table_of_another_grid(documents: Any) -> None:
    """Entries and results of 4 fraction bits are read as of 3."""
    documents["ir"]["formats"][0][4] = 3


NOT_THERE = "a member is read that the family does not have"
ENTRIES = "the entries of a constant are not all written"
PIECES = "`odd` does not say how its pieces make the value"
FORGED: list[tuple[str, Callable[[Any], None], str]] = [
    (FAMILY, fewer_members, NOT_THERE),
    (LONG, fewer_members, NOT_THERE),
    (FAMILY, a_family_as_one_value, "a family is read as one value"),
    (FAMILY, a_member_before_the_first, NOT_THERE),
    (ROUNDED, fewer_entries, ENTRIES),
    (ROUNDED, entries_on_a_grid, ENTRIES),
    (ROUNDED, a_format_that_holds_nothing, "`act8` holds no number"),
    (ROUNDED, a_coefficient_that_is_no_number, "a result leaves its format"),
    (SCALED, a_first_turn_of_another_format, "a turn hands on another type than it was handed"),
    (TWO_WEIGHTS, one_name_for_two_weights, "two values of the plan begin as `w`"),
    (OWN, operands_the_other_way_round, "takes other operands than `sub`, or in another order"),
    (OWN, pieces_that_make_nothing, PIECES),
    (OWN, pieces_of_which_nothing_is_said, PIECES),
    (TABLE, a_table_of_another_grid, "is not said to be what `silu` means"),
    (BITS, half_of_the_bits, "is not said to be what `convert` means"),
    (BITS, bits_of_another_number, "a result has another shape than the plan says"),
]


@pytest.mark.parametrize(("text", "forge", "said"), FORGED, ids=[forge.__name__ for _, forge, _ in FORGED])
def test_a_lock_that_agrees_with_itself_is_refused(
    text: str, forge: Callable[[Any], None], said: str
) -> None:
    lock = data(of_text(text))
    replay(sealed(lock))
    forge(lock["documents"])
    with pytest.raises(ReplayError, match=said):
        replay(sealed(lock))


def another_schedule(step: Any) -> None:
    step[6][1][0][1][3][0][1][1] = "4096"


def test_a_primitive_computes_what_the_step_says() -> None:
    """Formats and parameters are in the name by which a text calls its operator as a whole."""
    lock = data(compiled(EXAMPLES / "first_look.pllm", "gated_mlp"))
    replay(sealed(lock))
    (step,) = (one for one in steps(lock["documents"]) if one[1].endswith("gated_multiply"))
    another_schedule(step)
    with pytest.raises(ReplayError, match="is not said to be what `gated_multiply` means"):
        replay(sealed(lock))


def test_a_party_without_a_machine_takes_part(tmp_path: Path) -> None:
    """A role that a step leaves open is played by the party of its name, for which no machine was asked."""
    path = tmp_path / "run.pllm"
    path.write_text(POLICED.replace("  n_parties: 3\n", ""), encoding="utf-8")
    lock = data(compiled(path, "run"))
    replay(sealed(lock))
    for step in steps(lock["documents"]):
        if step[6] is not None:
            step[6][2] = [pair for pair in step[6][2] if pair[0] != "preparation"]
    deployment = lock["documents"]["experiment"]["deployment"]
    deployment[2] = [pair for pair in deployment[2] if pair[0] != "preparation"]
    with pytest.raises(ReplayError, match="a step leaves open who takes a role"):
        replay(sealed(lock))


def test_a_slot_is_played_by_the_party_of_the_pipeline(tmp_path: Path) -> None:
    """A machine is asked for what a component needs where its roles are."""
    path = tmp_path / "run.pllm"
    path.write_text(EXPERIMENT, encoding="utf-8")
    for other in ([], [["inference", "preparation"]]):
        lock = data(compiled(path, "run"))
        (use,) = (use for slot, use in lock["documents"]["experiment"]["slots"] if slot == "inference")
        assert use[2] == [["inference", "inference"]]
        use[2] = other
        with pytest.raises(ReplayError, match="its slots are not those of the pipeline that it names"):
            replay(sealed(lock))


@pytest.mark.parametrize("slot", ["verification", "linear"])
def test_a_pipeline_has_all_of_its_slots(slot: str, tmp_path: Path) -> None:
    """Without the check of results, or without the method that it checks, nobody asks how many wrong rows it misses."""
    path = tmp_path / "run.pllm"
    path.write_text(EXPERIMENT, encoding="utf-8")
    lock = data(compiled(path, "run"))
    documents = lock["documents"]
    experiment, certificate = documents["experiment"], documents["certificate"]
    experiment["slots"] = [one for one in experiment["slots"] if one[0] != slot]
    certificate["duties"] = [
        duty for duty in certificate["duties"] if duty[0] != "bounds.undetected" and duty[2] != slot
    ]
    with pytest.raises(ReplayError, match="its slots are not those of the pipeline that it names"):
        replay(sealed(lock))


@pytest.mark.parametrize("key", ["./run.others", ""])
def test_a_kernel_that_is_not_there_has_no_defects(key: str, tmp_path: Path) -> None:
    path = tmp_path / "run.pllm"
    path.write_text(POLICED, encoding="utf-8")
    lock = data(compiled(path, "run"))
    steps(lock["documents"])[0][6][1][2][1][1] = key
    certificate = lock["documents"]["certificate"]
    certificate["duties"] = [duty for duty in certificate["duties"] if duty[0] != "target.defect"]
    with pytest.raises(ReplayError, match="is given a `kernel` that the lock does not hold"):
        replay(sealed(lock))
