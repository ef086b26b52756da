"""The model that the benchmarks measure, of 80 layers, and an experiment over it whose stock has ROWS rows."""

from __future__ import annotations

CONFIG: dict[str, object] = {
    "model_type": "qwen2",
    "hidden_size": 8192,
    "intermediate_size": 29568,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "vocab_size": 152064,
    "max_position_embeddings": 32768,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "rope_theta": 1000000,
    "tie_word_embeddings": False,
}

EXPERIMENT = """pllm 1

import std.policies [single_evaluator]
import std.pipelines [masked_linear_cpu]

stock corrections {
  of: correction
  count: ROWS
  provider: preparation
  ring_bits: 32
  fresh: true
}

target server {
  isa: [sse2, avx, avx2, fma]
  memory: 512GiB
  cores: 16
}

deployment three {
  kind: remote
  hosts: { client: server, preparation: server, inference: server }
  administered_by: { client: user, preparation: helper, inference: operator }
}

experiment whole under single_evaluator {
  model: huggingface("config.json")
  pipeline: masked_linear_cpu
  deployment: three
  stock: [corrections]
  budget: { requests: 1, max_input_tokens: 4096, max_new_tokens: 64 }
}
"""
