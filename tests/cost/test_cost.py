"""`pllm cost` against figures counted by hand: from the sizes of plans and of a small model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from pllm_lang.artifacts.cost_products import products_of
from pllm_lang.artifacts.cost_report import Amount, Link, Material, Rounds, Work, summed
from pllm_lang.cli.app import app
from pllm_lang.ir import protocol as p
from tests.corpus_harness import CORPUS

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "schemas" / "pllm.lang.cost.v1.json").read_text())
FIRST_LOOK = ROOT / "examples" / "first_look.pllm"

HIDDEN, INNER, LAYERS, HEADS, KV, HEAD, VOCAB = 32, 48, 3, 4, 2, 8, 61
TOKENS, NEW, REQUESTS = 5, 4, 2
CONFIG = {
    "model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": INNER, "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS, "num_key_value_heads": KV, "vocab_size": VOCAB, "max_position_embeddings": 64,
    "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": False,
    "torch_dtype": "float32", "attention_bias": False, "mlp_bias": False, "bos_token_id": 0, "eos_token_id": 1,
}  # fmt: skip
MODEL = f"""pllm 1

import std.pipelines [masked_linear_cpu]
import std.policies [single_evaluator]

experiment small under single_evaluator {{
  model: huggingface("config.json")
  pipeline: masked_linear_cpu
  budget: {{ requests: {REQUESTS}, max_input_tokens: {TOKENS}, max_new_tokens: {NEW} }}
}}
"""
SHAPES = [
    (HIDDEN, HIDDEN), (KV * HEAD, HIDDEN), (KV * HEAD, HIDDEN), (HIDDEN, HIDDEN),
    (INNER, HIDDEN), (INNER, HIDDEN), (HIDDEN, INNER),
]  # fmt: skip
"""[out, in] of the masked layers: q, k, v, o, gate, up, down."""


def cost(target: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["cost", target, "--format", "json"], standalone_mode=False)
    assert result.exception is None, result.exception
    document = json.loads(result.stdout)
    jsonschema.validate(document, SCHEMA)
    return document


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("small")
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "plan.pllm").write_text(MODEL)
    return cost(f"{folder / 'plan.pllm'}:small")


def links(amount: dict[str, Any]) -> dict[tuple[str, str, str], tuple[int, int]]:
    return {(x["phase"], x["sender"], x["receiver"]): (x["messages"], x["bytes"]) for x in amount["links"]}


def test_messages_of_a_model_are_its_masked_layers(small: dict[str, Any]) -> None:
    """Each layer and run sends `u` [rows, in] and gets `v` [rows, out] in words of 4 bytes; `c` [rows, out] and a seed of
    16 bytes before."""
    for stage, rows in zip(small["stages"], (TOKENS, 1), strict=True):
        into, out = (4 * rows * LAYERS * sum(shape[axis] for shape in SHAPES) for axis in (1, 0))
        count = LAYERS * len(SHAPES)
        assert links(stage["cost"]) == {
            ("online", "client", "inference"): (count, into),
            ("online", "inference", "client"): (count, out),
            ("offline", "preparation", "inference"): (count, out),
            ("offline", "client", "preparation"): (count, 16 * count),
        }
        assert stage["cost"]["rounds"] == [
            {"phase": "offline", "rounds": count},
            {"phase": "online", "rounds": 2 * count},
        ]


def test_material_is_a_row_a_position_and_layer(small: dict[str, Any]) -> None:
    per_request = LAYERS * len(SHAPES) * (TOKENS + NEW - 1)
    (need,) = small["per_request"]["material"]
    assert need == {"component": "masked_linear", "bundle": "correction", "unit": "row", "count": per_request}
    assert small["total"]["material"][0]["count"] == REQUESTS * per_request
    assert small["per_token"]["material"][0]["count"] == LAYERS * len(SHAPES)


def work(amount: dict[str, Any]) -> dict[tuple[str, str], int]:
    return {(x["phase"], x["party"]): x["macs"] for x in amount["work"]}


def test_products_of_a_model(small: dict[str, Any]) -> None:
    """Masked layers at inference and preparation; scores, values and the head at the client."""
    weights = LAYERS * sum(out * into for out, into in SHAPES)
    capacity = TOKENS + NEW - 1
    for stage, rows in zip(small["stages"], (TOKENS, 1), strict=True):
        found = work(stage["cost"])
        assert found["online", "inference"] == found["offline", "preparation"] == rows * weights
        attended = [
            (found["online", "client"] - HIDDEN * VOCAB) // (2 * LAYERS * HEADS * HEAD * rows),
            (found["online", "client"] - HIDDEN * VOCAB) % (2 * LAYERS * HEADS * HEAD * rows),
        ]
        assert attended[1] == 0
        assert rows <= attended[0] <= capacity + rows


def test_a_request_is_prefill_and_all_further_tokens(small: dict[str, Any]) -> None:
    prefill, decode = small["stages"]
    assert (prefill["runs"], decode["runs"]) == (1, NEW - 1)
    assert small["per_token"] == decode["cost"]
    for key, (messages, size) in links(small["per_request"]).items():
        first, later = links(prefill["cost"])[key], links(decode["cost"])[key]
        assert (messages, size) == (first[0] + (NEW - 1) * later[0], first[1] + (NEW - 1) * later[1])
        assert links(small["total"])[key] == (REQUESTS * messages, REQUESTS * size)
    for who, macs in work(small["per_request"]).items():
        assert macs == work(prefill["cost"])[who] + (NEW - 1) * work(decode["cost"])[who]


def test_memory_of_a_model(small: dict[str, Any]) -> None:
    """Remote parties hold the masked weights, a byte an entry; the client table, head and norms in 4 bytes, the scale of
    each masked row in 8, and the caches."""
    memory = {one["party"]: one for one in small["memory"]}
    masked = LAYERS * sum(out * into for out, into in SHAPES)
    norms = (2 * LAYERS + 1) * HIDDEN
    assert memory["inference"]["weights"] == memory["preparation"]["weights"] == masked
    scales = LAYERS * sum(out for out, _ in SHAPES)
    assert memory["client"]["weights"] == 4 * (2 * VOCAB * HIDDEN + norms) + 8 * scales
    assert memory["inference"]["states"] == memory["preparation"]["states"] == 0
    assert memory["client"]["states"] % (2 * LAYERS * KV * HEAD * 4) == 0
    assert memory["client"]["states"] >= 2 * LAYERS * KV * HEAD * 4 * (TOKENS + NEW - 2)
    assert all(one["largest_call"] > 0 and one["available"] is None for one in small["memory"])


def test_a_plan_of_one_stage_makes_every_token_by_itself() -> None:
    found = cost(f"{FIRST_LOOK}:ten_tokens")
    (stage,) = found["stages"]
    assert stage["runs"] * found["budget"]["requests"] == 10
    assert links(found["total"])["online", "client", "inference"] == (30, 10 * 4 * (896 + 896 + 4864))
    assert work(stage["cost"])["online", "inference"] == 3 * 896 * 4864


TABLES = """pllm 1

import std.components [binary_table]
import std.formats [q7]
import std.protocols [garbled_silu, masked_reveal]

policy two {
  parties [client, inference]
  adversary semi_honest corrupts 1 of [client, inference]
  security: { computational: 128, statistical: 40 }
  learns client: [results]
  learns inference: [lengths, stages, stop]
}

plan stated under two {
  input x: q7[100] from client
  y = silu(x) using garbled_silu(evaluator: inference)
  output y
}

plan unstated under two {
  input x: q7[100] from client
  input u: q7[100] from client
  y = gated_multiply(x, u) using binary_table
  output y to client
}
"""


@pytest.mark.parametrize(("plan", "size"), [("stated", 257 * 16), ("unstated", 2)])
def test_a_table_costs_what_its_record_states_or_at_least_what_it_gives(
    tmp_path: Path, plan: str, size: int
) -> None:
    """257 labels of 16 bytes for each entry; a record without `cost:` gives words of 2 bytes, and is not free."""
    (tmp_path / "p.pllm").write_text(TABLES)
    (stage,) = cost(f"{tmp_path / 'p.pllm'}:{plan}")["stages"]
    sent = {receiver: of for (_, sender, receiver), of in links(stage["cost"]).items() if "garbled" in sender}
    assert sent == {"inference": (1, 100 * size)}


def test_machines_say_what_is_available() -> None:
    available = {one["party"]: one["available"] for one in cost(f"{FIRST_LOOK}:ten_tokens")["memory"]}
    assert set(available.values()) != {None}


PLANS = sorted((CORPUS / "placement").rglob("*.pllm"))


@pytest.mark.parametrize("path", PLANS, ids=lambda path: str(path.relative_to(CORPUS)))
def test_plans_of_the_corpus_have_a_cost_or_a_reason(path: Path) -> None:
    for form in ("text", "json", "svg"):
        result = CliRunner().invoke(app, ["cost", str(path), "--format", form], standalone_mode=False)
        assert result.exception is None, result.exception
        assert result.return_value in (0, 1, 2)
        if result.return_value:  # a file whose text is broken, or without a plan
            assert result.stderr.strip()
        elif form == "json":
            jsonschema.validate(json.loads(result.stdout), SCHEMA)


# ---- protocols by themselves ----
RING = p.Ring(2**32)


def tensor(*shape: int) -> p.TensorType:
    return p.TensorType(RING, shape)


def protocol(*body: p.Statement) -> p.Protocol:
    inputs = (
        p.Input("a", tensor(2, 3, 4), p.Clear(("x",))),
        p.Input("b", tensor(2, 4, 5), p.Shared("additive", (p.Piece("0", ("x",)), p.Piece("1", ("y",))))),
    )
    return p.Protocol("t", (p.Party("x"), p.Party("y")), inputs, (), body)


A, B = p.Ref("a"), p.Ref("b.0")
PRODUCT = p.MatMul(A, B)
FULL = 2 * 3 * 4 * 5


@pytest.mark.parametrize(
    ("value", "macs"),
    [
        (PRODUCT, FULL),
        (p.Add((PRODUCT, PRODUCT)), 2 * FULL),
        (p.MatMul(PRODUCT, p.Transpose(PRODUCT)), 2 * FULL + 2 * 3 * 5 * 3),
        (p.MatMul(p.Slice(A, 1, 0, 2), B), 2 * 2 * 4 * 5),
        (p.MatMul(p.Slice(A, 1, 0, 3, 2), B), 2 * 2 * 4 * 5),
        (p.MatMul(p.Gather(A, 1, (2,)), B), 2 * 1 * 4 * 5),
        (p.MatMul(p.Reshape(A, (1, 6, 4)), p.Slice(B, 0, 0, 1)), 6 * 4 * 5),
        (p.MatMul(p.Sum(A, 0), p.Sum(B, 0)), 3 * 4 * 5),
        (p.MatMul(p.Concat((A, A), 1), B), 2 * FULL),
        (p.MatMul(p.Broadcast(p.Sum(A, 1), 1, 7), B), 2 * 7 * 4 * 5),
        (p.Scale(3, p.Cast(p.Shift(PRODUCT, 2), p.Integer(40))), FULL),
        (p.Call("f", (PRODUCT,), tensor(2, 3, 5)), FULL),
        (p.MatMul(p.Call("f", (A,), tensor(2, 9, 4)), B), 2 * 9 * 4 * 5),
        (p.Mul(A, A), 0),
        (p.Const(3, tensor(2, 2)), 0),
    ],
    ids=str,
)
def test_products_of_an_expression(value: p.Expr, macs: int) -> None:
    found = products_of(protocol(p.Assign("x", "z", value)))
    assert sum(count for _, _, count in found) == macs


def test_products_of_statements() -> None:
    body = (
        p.Draw("r", tensor(4, 6), ("y",)),
        p.Assign("y", "s", p.MatMul(p.Transpose(p.Ref("r")), p.Ref("r")), phase="offline"),
        p.Repeat(3, (p.Assign("x", "z", PRODUCT),)),
        p.When("x", A, (p.Check("y", PRODUCT),)),
    )
    assert products_of(protocol(*body)) == (
        ("offline", "y", 6 * 4 * 6),
        ("online", "x", 3 * FULL),
        ("online", "y", FULL),
    )


def test_amounts_add_up() -> None:
    one = Amount(
        (Link("online", "a", "b", 1, 8),),
        (Rounds("online", 2),),
        (Material("c", "t", "row", 3),),
        (Work("online", "a", 5),),
    )
    two = Amount((Link("online", "b", "a", 1, 4),))
    assert summed([(one, 3), (two, 1), (one, 1)]) == Amount(
        (Link("online", "a", "b", 4, 32), Link("online", "b", "a", 1, 4)),
        (Rounds("online", 8),),
        (Material("c", "t", "row", 12),),
        (Work("online", "a", 20),),
    )
