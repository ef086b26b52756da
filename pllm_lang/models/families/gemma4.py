"""Gemma 4 (text, with its mixture of experts): full layers with larger heads whose values are their keys,
proportional rotary positions, normed values, dense block and experts side by side, a learned scale at each
layer's end.

The variants with per-layer embeddings or shared caches are refused by name.
"""

from __future__ import annotations

import msgspec

from pllm_lang.models.config_reader import ConfigReader, missing
from pllm_lang.models.decoder import (
    Attention,
    Block,
    Decoder,
    DenseAndExperts,
    Experts,
    Layer,
    Norm,
    Router,
    Scale,
)
from pllm_lang.models.families.gemma import TANH_GELU, root_of_hidden
from pllm_lang.models.families.gemma2 import NAMES as SANDWICH_NAMES
from pllm_lang.models.families.gemma2 import softcap
from pllm_lang.models.families.reading import (
    FULL,
    SLIDING,
    Basics,
    Defaults,
    decoder,
    gated_mlp,
    plain_attention,
    read_basics,
    read_layer_types,
    read_window,
    require_causal,
    rms,
)
from pllm_lang.models.limits import MAX_EXPERTS
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("gemma4_text",)
GEMMA4 = Defaults(262_144, 2304, 9216, 30, 8, 4, 256, 131_072, TANH_GELU, tied=True)

NAMES = SANDWICH_NAMES | {
    "router": ".router.proj",
    "expert_gate": ".experts.#.gate_proj",
    "expert_up": ".experts.#.up_proj",
    "expert_down": ".experts.#.down_proj",
}


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, GEMMA4, activation=("hidden_activation", "hidden_act"))
    require_causal(config, "vision")
    config.require("hidden_size_per_layer_input", default=256, among=(0,))
    config.require("rope_scaling", default=None, among=(None,))
    config.require("num_kv_shared_layers", default=0, among=(0,))
    config.ignore("vocab_size_per_layer_input", "use_double_wide_mlp")
    kinds = read_layer_types(
        config, basics.layers, (FULL, SLIDING), lambda index: SLIDING if (index + 1) % 6 else FULL
    )
    block = _block(config, basics)
    norm = rms(basics)
    by_kind = {
        kind: Layer(kind, attention, block, norm, norm, norm, norm, learned_scale=True)
        for kind, attention in _attentions(config, basics).items()
    }
    return decoder(
        basics,
        [by_kind[kind] for kind in (*kinds[:-1], FULL)],
        norm,
        names=NAMES,
        embedding_scale=root_of_hidden(basics),
        logit_softcap=softcap(config, "final_logit_softcapping", ""),
    )


def _attentions(config: ConfigReader, basics: Basics) -> dict[str, Attention]:
    if not config.has("rope_parameters"):
        raise missing(config.dotted("rope_parameters"))
    bias = config.flag("attention_bias")
    shared = config.flag("attention_k_eq_v")
    global_dim = config.size("global_head_dim", default=512)
    global_kv = config.size("num_global_key_value_heads", default=basics.kv_heads)
    wide = msgspec.structs.replace(
        basics, head_dim=global_dim, kv_heads=global_kv if shared else basics.kv_heads
    )
    full = read_rotary(config, global_dim, theta="1000000", layer_type=FULL)
    sliding = read_rotary(config, basics.head_dim, layer_type=SLIDING)
    common = {
        "scale": Scale(),
        "qk_norm": rms(basics),
        "value_norm": Norm("rms", basics.epsilon, weight=False),
    }
    return {
        FULL: msgspec.structs.replace(
            plain_attention(wide, full, bias=bias, out_bias=bias), value_from_key=shared, **common
        ),
        SLIDING: msgspec.structs.replace(
            plain_attention(basics, sliding, bias=bias, out_bias=bias, window=read_window(config, 512)),
            **common,
        ),
    }


def _block(config: ConfigReader, basics: Basics) -> Block:
    dense = gated_mlp(basics)
    if not config.flag("enable_moe_block"):
        return dense
    count = config.size("num_experts", most=MAX_EXPERTS)
    router = Router(
        "softmax",
        config.size("top_k_experts", "num_experts_per_tok", most=count),
        normalize=True,
        input_norm=Norm("rms", basics.epsilon, weight=False),
        expert_scale=True,
    )
    experts = Experts(count, config.size("moe_intermediate_size"), basics.activation, router)
    return DenseAndExperts(dense, experts, rms(basics))
