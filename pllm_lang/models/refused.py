"""Models that are refused, each with its reason: encoders, and decoders whose maths the graph does not
represent."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from pllm_lang.models.errors import LoweringError
from pllm_lang.models.exact_json import Json
from pllm_lang.models.limits import MAX_WORD

ENCODERS = frozenset(
    [
        "albert",
        "bert",
        "big_bird",
        "camembert",
        "deberta",
        "deberta-v2",
        "distilbert",
        "electra",
        "ernie",
        "esm",
        "flaubert",
        "funnel",
        "layoutlm",
        "longformer",
        "modernbert",
        "mpnet",
        "nomic_bert",
        "roberta",
        "roformer",
        "squeezebert",
        "xlm-roberta",
        "xlm-roberta-xl",
    ]
)
ENCODER_DECODERS = frozenset(
    [
        "bart",
        "blenderbot",
        "encoder-decoder",
        "fsmt",
        "led",
        "longt5",
        "m2m_100",
        "marian",
        "mbart",
        "mt5",
        "nllb-moe",
        "pegasus",
        "prophetnet",
        "switch_transformers",
        "t5",
        "t5gemma",
        "umt5",
        "whisper",
    ]
)

UNSUPPORTED = {
    "deepseek_v4": "attention over compressed positions (compress_ratios), hashed layers"
    " (num_hash_layers), grouped output"
    " projections (o_lora_rank) and hyper-connections (hc_mult) are not represented",
    "deepseek_ref": "the key style of DeepSeek's own inference code, with compressed attention and"
    " hyper-connections, is not"
    " represented",
    "kimi_k3": "the text model is kimi_linear, whose delta attention (linear_attn_config), attention"
    " residuals and 'situ'"
    " activation are not represented",
    "kimi_linear": "delta attention (linear_attn_config) is not represented",
    "mamba": "layers without attention (Mamba 1) are not represented",
    "bloom": "Bloom's position biases are not represented",
    "falcon": "Falcon's grouped fused projections are not represented",
}


def refuse(values: Mapping[str, Json], model_type: str, known: tuple[str, ...]) -> LoweringError:
    """Why a model type without an adapter is refused."""
    if model_type in ENCODERS:
        return LoweringError(
            "config.encoder",
            f"model_type {model_type!r} is an encoder: its positions attend in both directions and it"
            " generates no tokens",
            key="model_type",
        )
    if model_type in ENCODER_DECODERS or values.get("is_encoder_decoder") is True:
        return LoweringError(
            "config.encoder",
            f"model_type {model_type!r} is an encoder with a decoder; only decoders alone are lowered",
            key="model_type",
        )
    if model_type in ("mllama", "mllama_text_model"):
        return _cross_attention(values)
    if model_type == "nemotron-nas":
        return _block_configs(values)
    if model_type in UNSUPPORTED:
        return LoweringError(
            "config.unsupported_model", f"{model_type}: {UNSUPPORTED[model_type]}", key="model_type"
        )
    near = get_close_matches(model_type, known, n=1, cutoff=0.8) if len(model_type) <= MAX_WORD else []
    return LoweringError(
        "config.unknown_model",
        f"model_type {model_type!r} has no adapter"
        + (", and its maths is code of its repository (auto_map)" if values.get("auto_map") else ""),
        key="model_type",
        help=f"did you mean {near[0]!r}?" if near else "",
    )


def _cross_attention(values: Mapping[str, Json]) -> LoweringError:
    text = values.get("text_config")
    layers = (text if isinstance(text, dict) else values).get("cross_attention_layers")
    which = ", ".join(str(index) for index in layers) if isinstance(layers, list) else "some"
    return LoweringError(
        "config.unsupported_layer",
        f"layers {which} attend to the image (cross_attention_layers), which a text decoder's graph cannot"
        " represent",
        key="text_config.cross_attention_layers",
    )


def _block_configs(values: Mapping[str, Json]) -> LoweringError:
    blocks = values.get("block_configs")
    skipped = [
        str(index)
        for index, block in enumerate(blocks if isinstance(blocks, list) else [])
        if isinstance(block, dict)
        and isinstance(part := block.get("attention"), dict)
        and part.get("no_op") is True
    ]
    where = f"; layers {', '.join(skipped)} have no attention" if skipped else ""
    return LoweringError(
        "config.unsupported_layer",
        f"every layer has sizes of its own (block_configs), which is not represented{where}",
        key="block_configs",
    )
