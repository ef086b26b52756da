"""One slip costs one message: measured on a plan and a component with one token dropped, doubled or exchanged."""

import random

from pllm_lang.syntax.lexer import lex
from pllm_lang.syntax.parse import parse, tools
from pllm_lang.text.source import make_source

TEXT = """pllm 1

import std.formats [f32, act8, weight8, q7]

const LAYERS = 24

## Who is who.
policy single_evaluator {
  parties [client, preparation, inference]
  adversary semi_honest corrupts 1 of [preparation, inference]
  security: { computational: 128, statistical: 40 }
  learns client: [results]
  requires claim "composition-privacy" outcomes [proved_in_model]
  forbids [experimental, online_preparation]
}

component masked = "example/masked" {
  kind: method
  implements: linear
  params {
    bits: integer in [16, 24, 32, 64]
    kernels: component = cpu(threads: 1)
  }
  requires max_abs(y) < 2^(bits - 1) else "the ring holds y as a signed residue"
  protocol (x: ring(bits)[m, k] from client, w: weight8[n, k] public) -> (y: ring(bits)[m, n] to client) {
    offline {
      fresh seed: key per execution shared by [client, preparation] via message
      preparation: c = matmul(r, transpose(w)) - s
      preparation -> inference: c
    }
    online {
      client: u = x - r
      client -> inference: u
    }
  }
}

plan gated_mlp under single_evaluator {
  input h: f32[1, 896] from client where abs(h) <= 12
  weight w[0..<LAYERS]: weight8[4864, 896] public

  repeat layer in 0..<LAYERS carrying [h] {
    x, sx = quantize(h, to: act8, per: row) @ client
    gate = linear(x, w[layer]) using masked(bits: 32)
    h = rescale(gate, by: outer(sx, w.scale), to: q7, saturate: true) @ client
  }
  output h to client
}
"""
ROUNDS = 600


def slips(chance: random.Random) -> str:
    """The text with one token dropped, doubled or replaced by another of its tokens."""
    tokens = lex(tools()[0], TEXT).tokens[:-1]
    _, end, token = chance.choice(tokens)
    other = chance.choice(["", f"{token} {token}", chance.choice(tokens)[2]])
    return f"{TEXT[: end - len(token)]} {other} {TEXT[end:]}"


def test_one_slip_costs_one_message() -> None:
    chance = random.Random(20260)
    counts = [len(parse(make_source("t", slips(chance))).findings) for _ in range(ROUNDS)]
    assert sum(count > 1 for count in counts) <= ROUNDS // 30
    assert max(counts) <= 4
    assert sum(count == 1 for count in counts) > ROUNDS // 2
