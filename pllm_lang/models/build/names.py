"""Where a checkpoint keeps each weight: the module path of every role. `*` stands for the layer, `#` for the
expert.

The defaults are those of Llama and of most families after it; an adapter gives what differs. Paths that start
with `.` lie in a layer.
"""

from __future__ import annotations

from collections.abc import Mapping

ROOT = "model."
LAYER = "model.layers.*"

DEFAULT_NAMES: dict[str, str] = {
    "layer": LAYER,
    "embedding": "model.embed_tokens",
    "positions": "model.embed_positions",
    "final_norm": "model.norm",
    "head": "lm_head",
    "mixer_before": ".input_layernorm",
    "mixer_after": ".post_self_attn_layernorm",
    "block_before": ".post_attention_layernorm",
    "block_after": ".post_mlp_layernorm",
    "layer_scale": ".layer_scalar",
    "q": ".self_attn.q_proj",
    "k": ".self_attn.k_proj",
    "v": ".self_attn.v_proj",
    "qkv": ".self_attn.qkv_proj",
    "o": ".self_attn.o_proj",
    "q_norm": ".self_attn.q_norm",
    "k_norm": ".self_attn.k_norm",
    "output_norm": ".self_attn.attn_sub_norm",
    "sink": ".self_attn.sinks",
    "q_a": ".self_attn.q_a_proj",
    "q_a_norm": ".self_attn.q_a_layernorm",
    "q_b": ".self_attn.q_b_proj",
    "kv_a": ".self_attn.kv_a_proj_with_mqa",
    "kv_a_norm": ".self_attn.kv_a_layernorm",
    "kv_b": ".self_attn.kv_b_proj",
    "index_q": ".self_attn.indexer.wq_b",
    "index_k": ".self_attn.indexer.wk",
    "index_k_norm": ".self_attn.indexer.k_norm",
    "index_weights": ".self_attn.indexer.weights_proj",
    "linear": ".linear_attn",
    "mamba": ".mixer",
    "convolution": ".conv",
    "gate": ".mlp.gate_proj",
    "up": ".mlp.up_proj",
    "down": ".mlp.down_proj",
    "gate_up": ".mlp.gate_up_proj",
    "inner_norm": ".mlp.ffn_sub_norm",
    "router": ".mlp.gate",
    "correction": ".mlp.gate.e_score_correction_bias",
    "expert_scale": ".router.per_expert_scale",
    "router_scale": ".router.scale",
    "dense_after": ".post_feedforward_layernorm_1",
    "experts_before": ".pre_feedforward_layernorm_2",
    "experts_after": ".post_feedforward_layernorm_2",
    "expert_gate": ".mlp.experts.#.gate_proj",
    "expert_up": ".mlp.experts.#.up_proj",
    "expert_down": ".mlp.experts.#.down_proj",
    "latent_in": ".mixer.fc1_latent_proj",
    "latent_out": ".mixer.fc2_latent_proj",
    "shared_gate": ".mlp.shared_expert.gate_proj",
    "shared_up": ".mlp.shared_expert.up_proj",
    "shared_down": ".mlp.shared_expert.down_proj",
    "shared_mix": ".mlp.shared_expert_gate",
}


def path(names: Mapping[str, str], role: str) -> str:
    """The module path of a role. `layer` in `names` is the layers' prefix; `root` stands for a leading `model.`, and
    `inside` before every path, where the decoder is part of a larger model."""
    found = names.get(role) or DEFAULT_NAMES[role]
    full = names.get("layer", LAYER) + found if found.startswith(".") else found
    if "root" in names and full.startswith(ROOT):
        full = names["root"] + full.removeprefix(ROOT)
    return names.get("inside", "") + full
