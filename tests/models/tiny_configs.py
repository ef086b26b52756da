"""Tiny configs of every family that transformers can run, and changes of one semantic key each."""

from __future__ import annotations

from typing import Any

Config = dict[str, Any]

_BASE: Config = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 61,
    "max_position_embeddings": 64,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 2,
}
_MHA = {key: value for key, value in _BASE.items() if key != "num_key_value_heads"}
_GPT2: Config = {
    "n_embd": 32, "n_head": 4, "n_layer": 2, "vocab_size": 61, "n_positions": 64,
    "bos_token_id": 0, "eos_token_id": 1,
}  # fmt: skip
_EXPERTS: Config = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24}
_LATENT: Config = {
    "num_key_value_heads": 4,
    "q_lora_rank": 12,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 4,
    "v_head_dim": 6,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 20,
    "first_k_dense_replace": 1,
    "n_shared_experts": 1,
    "n_group": 1,
    "topk_group": 1,
}
_DELTA: Config = {
    "num_hidden_layers": 4,
    "head_dim": 16,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 6,
    "linear_value_head_dim": 5,
}


def rope(kind: str, theta: float = 10000.0, **parameters: Any) -> Config:
    return {"rope_parameters": {"rope_type": kind, "rope_theta": theta, **parameters}}


_YARN: Config = {"factor": 4.0, "original_max_position_embeddings": 16, "beta_fast": 32.0, "beta_slow": 1.0}

TINY: dict[str, Config] = {
    "arcee": _BASE,
    "dots1": _BASE
    | {
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "n_shared_experts": 1,
        "moe_intermediate_size": 20,
        "first_k_dense_replace": 1,
        "sliding_window": 5,
        "max_window_layers": 2,
    },
    "ernie4_5": _BASE | {"head_dim": 8},
    "glm": _BASE | {"head_dim": 8},
    "glm4": _BASE | {"head_dim": 8},
    "glm4_moe": _BASE | {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 20},
    "granitemoe": _BASE | {"num_local_experts": 4, "attention_multiplier": 0.3, "residual_multiplier": 0.5},
    "helium": _BASE | {"head_dim": 8},
    "internlm3": _BASE | {"head_dim": 8},
    "olmoe": _BASE | {"num_experts": 4, "num_experts_per_tok": 2},
    "opt": {key: value for key, value in _MHA.items() if key != "intermediate_size"} | {"ffn_dim": 48},
    "seed_oss": _BASE | {"head_dim": 8},
    "bitnet": _BASE,
    "cohere": _BASE | {"logit_scale": 0.5},
    "cohere2": _BASE | {"sliding_window": 5, "num_hidden_layers": 4, "logit_scale": 0.5},
    "deepseek_v2": _BASE | _LATENT | {"q_lora_rank": None},
    "deepseek_v3": _BASE | _LATENT | {"n_group": 4, "topk_group": 2},
    "exaone": _BASE,
    "exaone4": _BASE | {"num_hidden_layers": 4, "sliding_window": 5},
    "gemma": _BASE | {"head_dim": 16},
    "gemma2": _BASE
    | {
        "head_dim": 16,
        "sliding_window": 5,
        "query_pre_attn_scalar": 9,
        "attn_logit_softcapping": 2.0,
        "final_logit_softcapping": 3.0,
    },
    "gemma3_text": _BASE | {"head_dim": 16, "sliding_window": 5, "sliding_window_pattern": 2},
    "gemma4_text": _BASE
    | {
        "head_dim": 16,
        "global_head_dim": 24,
        "num_global_key_value_heads": 1,
        "attention_k_eq_v": True,
        "sliding_window": 5,
        "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
        "hidden_size_per_layer_input": 0,
        "enable_moe_block": True,
        "num_experts": 4,
        "top_k_experts": 2,
        "moe_intermediate_size": 20,
        "rope_parameters": {
            "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        },
    },
    "glm_moe_dsa": _BASE
    | _LATENT
    | {
        "index_topk": 5,
        "index_head_dim": 8,
        "index_n_heads": 16,
        "index_topk_freq": 2,
        "index_skip_topk_offset": 1,
    },
    "gpt2": _GPT2,
    "gpt_bigcode": _GPT2,
    "gpt_neox": _MHA,
    "gpt_oss": _BASE
    | {"num_local_experts": 4, "num_experts_per_tok": 2, "head_dim": 8, "sliding_window": 5}
    | rope("yarn", 150000.0, truncate=False, **_YARN),
    "granite": _BASE
    | {
        "attention_multiplier": 0.3,
        "embedding_multiplier": 2.0,
        "residual_multiplier": 0.5,
        "logits_scaling": 3.0,
    },
    "lfm2": _BASE | {"layer_types": ["conv", "full_attention", "conv"], "block_multiple_of": 8},
    "llama": _BASE,
    "llama4_text": _BASE
    | {
        "head_dim": 8,
        "num_hidden_layers": 4,
        "intermediate_size_mlp": 40,
        "num_local_experts": 4,
        "attention_chunk_size": 5,
        "floor_scale": 4,
        "interleave_moe_layer_step": 2,
        "num_experts_per_tok": 1,
    },
    "mimo_v2_flash": _BASE
    | {
        "head_dim": 12,
        "v_head_dim": 8,
        "num_key_value_heads": 1,
        "sliding_window": 5,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 20,
    },
    "minimax_m2": _BASE | {"head_dim": 16, "num_local_experts": 4, "num_experts_per_tok": 2},
    "ministral3": _BASE
    | {"head_dim": 16}
    | rope(
        "yarn",
        **(_YARN | {"original_max_position_embeddings": 8, "mscale": 1.0, "mscale_all_dim": 1.0}),
        llama_4_scaling_beta=0.1,
    ),
    "ministral": _BASE
    | {
        "head_dim": 8,
        "sliding_window": 5,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
    },
    "mistral": _BASE | {"sliding_window": 5},
    "mixtral": _BASE | {"num_local_experts": 4},
    "mpt": {"d_model": 32, "n_heads": 4, "n_layers": 2, "vocab_size": 61, "max_seq_len": 64},
    "nemotron_h": {key: value for key, value in _BASE.items() if key != "num_hidden_layers"}
    | {
        "layers_block_type": ["linear_attention", "moe", "full_attention", "mlp"],
        "head_dim": 8,
        "mamba_num_heads": 4,
        "mamba_head_dim": 8,
        "ssm_state_size": 6,
        "n_groups": 2,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 20,
        "moe_shared_expert_intermediate_size": 20,
        "moe_latent_size": 16,
        "time_step_limit": [0.001, 1e308],
        "time_step_min": 0.001,
    },
    "olmo": _BASE,
    "olmo2": _BASE,
    "olmo3": _BASE | {"sliding_window": 5},
    "persimmon": _MHA,
    "phi": _BASE,
    "phi3": _BASE,
    "phimoe": _BASE
    | {"num_local_experts": 4, "num_experts_per_tok": 2, "attention_bias": True, "lm_head_bias": True},
    "qwen2": _BASE,
    "qwen2_moe": _BASE | _EXPERTS | {"shared_expert_intermediate_size": 20},
    "qwen3": _BASE | {"head_dim": 16},
    "qwen3_5_moe_text": _BASE | _DELTA | _EXPERTS | {"shared_expert_intermediate_size": 20},
    "qwen3_5_text": _BASE | _DELTA,
    "qwen3_moe": _BASE | _EXPERTS | {"head_dim": 16},
    "qwen3_next": _BASE | _DELTA | _EXPERTS | {"shared_expert_intermediate_size": 20},
    "smollm3": _BASE | {"num_hidden_layers": 4},
    "stablelm": _BASE,
    "starcoder2": _BASE | {"sliding_window": 5},
}

_EPS = {"rms_norm_eps": 0.1}
_UNTIED, _TIED = {"tie_word_embeddings": False}, {"tie_word_embeddings": True}

CHANGES: dict[str, list[Config]] = {
    "arcee": [{"mlp_bias": True}, {"hidden_act": "silu"}],
    "dots1": [
        {"sliding_window": 3},
        {"max_window_layers": 0},
        {"norm_topk_prob": True},
        {"routed_scaling_factor": 2.0},
    ],
    "ernie4_5": [{"use_bias": True}, _UNTIED],
    "glm": [{"attention_bias": False}, rope("default", partial_rotary_factor=1.0)],
    "glm4": [{"attention_bias": False}, _EPS],
    "glm4_moe": [{"use_qk_norm": True}, {"attention_bias": True}, {"n_shared_experts": 2}],
    "granitemoe": [{"num_experts_per_tok": 1}, {"logits_scaling": 2.0}],
    "helium": [{"attention_bias": True}, {"mlp_bias": True}],
    "internlm3": [{"attention_bias": True, "mlp_bias": True}],
    "olmoe": [{"norm_topk_prob": True}, {"num_key_value_heads": 4}],
    "opt": [
        {"enable_bias": False},
        {"layer_norm_elementwise_affine": False},
        {"activation_function": "gelu"},
    ],
    "seed_oss": [{"attention_bias": False}, {"attention_out_bias": True}],
    "llama": [
        {"head_dim": 12},
        {"num_key_value_heads": 1},
        {"hidden_act": "gelu"},
        {"hidden_act": "gelu_new"},
        {"attention_bias": True},
        {"mlp_bias": True},
        _EPS,
        _TIED,
        rope("default", 100.0),
        rope("linear", factor=4.0),
        rope("yarn", **_YARN),
        rope("yarn", **_YARN, attention_factor=0.7),
        rope("yarn", **_YARN, mscale=0.7, mscale_all_dim=0.9),
        rope(
            "llama3",
            factor=4.0,
            low_freq_factor=1.0,
            high_freq_factor=4.0,
            original_max_position_embeddings=16,
        ),
    ],
    "qwen2": [
        {"head_dim": 12},
        {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1},
        {"hidden_act": "relu"},
        {"num_key_value_heads": 4},
        _EPS,
        _TIED,
        rope("linear", factor=2.0),
    ],
    "qwen3": [
        {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 2},
        {"head_dim": 8},
        {"attention_bias": True},
        _EPS,
        _TIED,
        rope("yarn", **_YARN),
    ],
    "mistral": [
        {"sliding_window": None},
        {"sliding_window": 3},
        {"head_dim": 16},
        _EPS,
        _TIED,
        rope("default", 50.0),
    ],
    "gemma2": [
        {"sliding_window": 3},
        {"query_pre_attn_scalar": 40},
        {"attn_logit_softcapping": None},
        {"attn_logit_softcapping": 0.5},
        {"final_logit_softcapping": None},
        {"final_logit_softcapping": 1.0},
        {"hidden_activation": "gelu"},
        {"attention_bias": True},
        {"head_dim": 8},
        {"layer_types": ["full_attention"] * 3},
        _EPS,
        _UNTIED,
        rope("default", 30.0),
    ],
    "gemma3_text": [
        {"sliding_window": 3},
        {"sliding_window_pattern": 3},
        {"query_pre_attn_scalar": 40},
        {"final_logit_softcapping": 1.0},
        {"attention_bias": True},
        _EPS,
        _UNTIED,
        {
            "rope_parameters": {
                "full_attention": {"rope_type": "linear", "factor": 3.0, "rope_theta": 1e6},
                "sliding_attention": {"rope_type": "default", "rope_theta": 50.0},
            }
        },
    ],
    "phi3": [
        {"head_dim": 12},
        {"sliding_window": 5},
        {"num_key_value_heads": 4},
        _EPS,
        _TIED,
        rope("default", partial_rotary_factor=0.5),
        rope(
            "longrope",
            short_factor=[1.0, 1.1, 1.2, 1.3],
            long_factor=[1.0, 2.0, 3.0, 4.0],
            original_max_position_embeddings=8,
        )
        | {"original_max_position_embeddings": 8},
        rope(
            "longrope",
            short_factor=[1.0, 1.5, 2.0, 2.5],
            long_factor=[1.0, 2.0, 3.0, 4.0],
            original_max_position_embeddings=32,
        )
        | {"original_max_position_embeddings": 32},
    ],
    "gpt2": [
        {"activation_function": "relu"},
        {"activation_function": "gelu"},
        {"n_inner": 40},
        {"scale_attn_weights": False},
        {"scale_attn_by_inverse_layer_idx": True},
        {"layer_norm_epsilon": 0.1},
        _UNTIED,
    ],
    "olmo2": [
        {"num_key_value_heads": 4},
        {"attention_bias": True},
        {"hidden_act": "gelu"},
        _EPS,
        _TIED,
        rope("default", 50.0),
    ],
    "qwen2_moe": [
        {"head_dim": 12},
        {"norm_topk_prob": True},
        {"num_experts_per_tok": 3},
        {"decoder_sparse_step": 2},
        {"mlp_only_layers": [0]},
        {"qkv_bias": False},
        {"shared_expert_intermediate_size": 28},
    ],
    "mixtral": [
        {"num_experts_per_tok": 1},
        {"num_local_experts": 6},
        {"sliding_window": 5},
        {"head_dim": 16},
    ],
    "granite": [
        {"head_dim": 12},
        {"attention_multiplier": 0.8},
        {"embedding_multiplier": 5.0},
        {"residual_multiplier": 0.9},
        {"logits_scaling": 1.5},
        {"mlp_bias": True},
    ],
    "gpt_neox": [
        {"use_parallel_residual": False},
        {"attention_bias": False},
        {"hidden_act": "relu"},
        rope("default", partial_rotary_factor=1.0),
    ],
    "stablelm": [
        {"use_qkv_bias": True},
        {"qk_layernorm": True},
        {"use_parallel_residual": True},
        rope("default", partial_rotary_factor=0.5),
    ],
    "cohere": [
        {"head_dim": 12},
        {"logit_scale": 0.25},
        {"use_qk_norm": True},
        {"attention_bias": True},
        {"layer_norm_eps": 0.1},
    ],
    "smollm3": [
        {"head_dim": 12},
        {"no_rope_layers": [1, 0, 1, 0]},
        {"no_rope_layer_interval": 2},
        {"use_sliding_window": True, "sliding_window": 5},
        _UNTIED,
    ],
    "starcoder2": [{"head_dim": 12}, {"sliding_window": None}, {"use_bias": False}, {"norm_epsilon": 0.1}],
    "olmo": [{"clip_qkv": 0.3}, {"attention_bias": True}],
    "olmo3": [{"sliding_window": 3}, {"layer_types": ["full_attention"] * 3}],
    "exaone4": [{"sliding_window": None, "layer_types": ["full_attention"] * 4}, {"sliding_window": 3}],
    "deepseek_v3": [
        {"routed_scaling_factor": 1.0},
        {"norm_topk_prob": False},
        {"topk_group": 1},
        {"q_lora_rank": None},
        {"rope_interleave": False},
        {"first_k_dense_replace": 0},
        rope("yarn", **_YARN, mscale=1.0, mscale_all_dim=1.0),
    ],
    "deepseek_v2": [
        {"topk_method": "group_limited_greedy", "n_group": 4, "topk_group": 1},
        {"routed_scaling_factor": 2.0},
    ],
    "glm_moe_dsa": [{"index_topk": 3}, {"indexer_types": ["full", "full", "full"]}],
    "gpt_oss": [
        {"swiglu_limit": 0.5},
        {"swiglu_alpha": 1.0},
        {"sliding_window": 3},
        {"attention_bias": False},
    ],
    "llama4_text": [
        {"use_qk_norm": False},
        {"attn_temperature_tuning": False},
        {"attn_scale": 0.5},
        {"floor_scale": 2},
        {"attention_chunk_size": 4},
        {"no_rope_layers": [1, 1, 0, 1]},
        {"moe_layers": [0]},
        {"num_experts_per_tok": 2},
    ],
    "qwen3_next": [
        {"norm_topk_prob": False},
        {"linear_conv_kernel_dim": 3},
        {"layer_types": ["full_attention", "linear_attention", "linear_attention", "full_attention"]},
        rope("default", partial_rotary_factor=0.5),
    ],
    "lfm2": [
        {"conv_bias": True},
        {"conv_L_cache": 4},
        {"block_auto_adjust_ff_dim": False},
        {"block_multiple_of": 5},
    ],
    "mimo_v2_flash": [{"attention_value_scale": None}, {"sliding_window": 3}, {"routed_scaling_factor": 2.0}],
    "phimoe": [{"router_jitter_noise": 0.4}, {"lm_head_bias": False}, {"attention_bias": False}],
    "persimmon": [{"qk_layernorm": False}, rope("default", partial_rotary_factor=1.0)],
    "phi": [
        {"head_dim": 12},
        {"qk_layernorm": True},
        {"hidden_act": "gelu"},
        rope("default", partial_rotary_factor=1.0),
    ],
    "nemotron_h": [
        {"moe_latent_size": None},
        {"mlp_bias": True},
        {"use_conv_bias": False},
        {"mlp_hidden_act": "silu"},
    ],
    "gemma4_text": [
        {"attention_k_eq_v": False},
        {"enable_moe_block": False},
        {"final_logit_softcapping": 1.0},
        {"sliding_window": 3},
    ],
    "gpt_bigcode": [{"multi_query": False}, {"activation_function": "relu"}],
}
