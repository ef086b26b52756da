"""Plans whose locks have much in them: own records, claims, versions, defects, shared stocks; states, stages, families, repeats."""

from __future__ import annotations

POLICED = """pllm 1

import std.formats [act8, weight8]

kernel products = "test/products" {
  version: "1.4"
  operations: [masked_linear]
  variants: [avx2, scalar]
  params { bits: integer in [16, 32] }
  defects: [{ versions: ">=1.2, <1.6", when: bits > 31, feature: ifma, effect: "wrong lanes" }]
}

component held_linear = "test/held-linear" {
  kind: method
  version: "2.1"
  implements: linear
  params { bits: integer in [16, 32], level: integer in 100..256, kernel: component }
  roles: [client, preparation, inference]
  carrier: ring(bits)
  n_parties: 3
  adversaries: [semi_honest]
  properties: [measured]
  host_features: ["held-v1"]
  memory: 4096
  security: { computational: level }
  defects: [{ versions: "<2", effect: "wrong sums" }, { when: bits < 20, effect: "wrong sums" }]
  requires max_abs(y) < 2^(bits - 1) else "the ring holds y as a signed residue"
  protocol (x: ring(bits)[m, k] from client, w: weight8[n, k] public) -> (y: ring(bits)[m, n] to client) {
    offline {
      fresh seed: key per execution shared by [client, preparation] via message
      fresh r: ring(bits)[m, k] shared by [client, preparation] via prf(seed, "r")
      fresh s: ring(bits)[m, n] shared by [client, preparation] via prf(seed, "s")
      preparation: c = matmul(r, transpose(w)) - s
      preparation -> inference: c
      bundle correction per row { r, s, c }
    }
    online {
      client: u = x - r
      client -> inference: u
      inference: v = matmul(u, transpose(w)) + c
      inference -> client: v
      client: y = v + s
    }
  }
}

policy strict {
  parties [client, preparation, inference]
  adversary semi_honest corrupts 1 of [preparation, inference]
  security: { computational: 128, statistical: 40 }
  learns client: [results]
  learns preparation: [lengths]
  learns inference: [lengths]
  independent: [[preparation, inference]]
  requires claim "composition-privacy" outcomes [proved_in_model] refinements [implementation]
  versions: { held_linear: ">=2, <3" }
  forbids [experimental, local_deployment, assumed_ranges]
}

assurance composition {
  claim: "composition-privacy"
  outcome: proved_in_model
  refinement: implementation
  of: [held_linear]
  version: "2.1"
  tool: "by hand"
}

stock corrections {
  of: correction
  count: 20
  provider: preparation
  ring_bits: 32
  fresh: true
}

target box {
  isa: [avx2]
  memory: 1MiB
  features: ["held-v1"]
}

deployment three {
  kind: remote
  hosts: { client: box, preparation: box, inference: box }
  administered_by: { client: user, preparation: helper, inference: cloud }
}

plan held under strict {
  input x: act8[2, 3] from client
  weight w: weight8[4, 3] public
  y = linear(x, w) using held_linear(bits: 32, level: 128, kernel: products(bits: 32))
  z = clamp(y, low: -9, high: 9) @ client
  output z to client
}

experiment run under strict {
  plan: held
  deployment: three
  stock: [corrections]
  budget: { requests: 3, max_input_tokens: 2, max_new_tokens: 1 }
}

experiment another under strict {
  plan: held
  deployment: three
  stock: [corrections]
  budget: { requests: 2, max_input_tokens: 2, max_new_tokens: 1 }
}
"""

STAGED = """pllm 1

import std.formats [act8, weight8]
import std.components [masked_linear]
import std.policies [single_evaluator]

policy staged tightens single_evaluator {
  failure_budget: 2^-20
}

plan decoder under staged {
  weight w[0..<2]: weight8[4, 4] public where row_norm1(w) <= 100
  state kept[0..<2]: act8[2, 4] @ client where abs(kept) <= 100
  stage first {
    input x: act8[2, 4] from client where abs(x) <= 100
    repeat i in 0..<2 carrying [x] {
      y = linear(x, w[i]) using masked_linear(bits: 32)
      c = clamp(y, low: -100, high: 100) @ client
      kept[i] = encode(c, to: act8) @ client
      x = encode(c, to: act8) @ client
    }
    requires max_abs(x) <= 100
    output x to client
  }
  stage next {
    input t: act8[2, 4] from client where abs(t) <= 100
    repeat i in 0..<2 carrying [t] {
      y = linear(t, w[i]) using masked_linear(bits: 32)
      c = clamp(y, low: -100, high: 100) @ client
      b = encode(c, to: act8) @ client
      t = minimum(b, kept[i]) @ client
      kept[i] = b
    }
    output t to client
  }
}
"""
