"""One adapter a family. An adapter module states its `MODEL_TYPES` and reads a config into a `Decoder`."""

from __future__ import annotations

from collections.abc import Callable

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder
from pllm_lang.models.families import (
    arcee,
    baichuan,
    bitnet,
    cohere,
    deepseek,
    ernie4_5,
    exaone,
    gemma,
    gemma2,
    gemma3,
    gemma4,
    glm,
    glm4_moe,
    gpt2,
    gpt_neox,
    gpt_oss,
    granite,
    helium,
    internlm,
    internlm3,
    lfm2,
    llama,
    llama4,
    mimo_v2_flash,
    minicpm,
    minimax_m2,
    ministral3,
    mistral,
    mixtral,
    mpt,
    nemotron_h,
    olmo,
    olmo2,
    olmoe,
    opt,
    orion,
    persimmon,
    phi,
    phi3,
    phimoe,
    qwen2,
    qwen3,
    qwen3_next,
    qwen_moe,
    seed_oss,
    smollm3,
    stablelm,
    starcoder2,
)

_MODULES = (
    arcee, baichuan, bitnet, cohere, deepseek, ernie4_5, exaone, gemma, gemma2, gemma3, gemma4, glm,
    glm4_moe, gpt2, gpt_neox, gpt_oss, granite, helium, internlm, internlm3, lfm2, llama, llama4,
    mimo_v2_flash, minicpm, minimax_m2, ministral3, mistral, mixtral, mpt, nemotron_h, olmo, olmo2, olmoe,
    opt, orion, persimmon, phi, phi3, phimoe, qwen2, qwen3, qwen3_next, qwen_moe, seed_oss, smollm3,
    stablelm, starcoder2,
)  # fmt: skip

ADAPTERS: dict[str, tuple[str, Callable[[ConfigReader], Decoder]]] = {
    model_type: (module.__name__.rpartition(".")[2], module.read)
    for module in _MODULES
    for model_type in module.MODEL_TYPES
}
"""`model_type` to the name of its family's file and its reader."""
