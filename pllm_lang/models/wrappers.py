"""Multimodal configs: the text decoder stands in a section of its own, and only that section is lowered."""

from __future__ import annotations

from collections.abc import Mapping

from pllm_lang.models.config_reader import ConfigReader, missing, wrong_type
from pllm_lang.models.errors import LoweringError, Note
from pllm_lang.models.exact_json import Json

SECTIONS = ("text_config", "language_config", "llm_config")

DEFAULT_TEXT_TYPES = {
    "gemma3": "gemma3_text",
    "gemma4": "gemma4_text",
    "llama4": "llama4_text",
    "llava": "llama",
    "llava_next": "llama",
    "mistral3": "mistral",
    "qwen2_vl": "qwen2_vl_text",
    "qwen2_5_vl": "qwen2_5_vl_text",
    "qwen3_vl": "qwen3_vl_text",
    "qwen3_vl_moe": "qwen3_vl_moe_text",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "lfm2_vl": "lfm2",
    "kimi_k25": "kimi_k2",
    "deepseek_vl_v2": "deepseek_v2",
}
"""Wrappers whose text decoder is lowered, and the text model's type where the section does not say it."""

FLAT = ("qwen2_vl", "qwen2_5_vl")
"""Wrappers that were also published without a section."""

_INSIDE = {"inside": "language_model."}
_ROOT = {"root": "model.language_model."}
WEIGHT_NAMES: dict[str, dict[str, str]] = {
    "deepseek_vl_v2": {"inside": "language."},
    "gemma3": _INSIDE,
    "gemma4": _ROOT,
    "kimi_k25": _INSIDE,
    "lfm2_vl": _ROOT,
    "llama4": _INSIDE,
    "llava": _INSIDE,
    "llava_next": _INSIDE,
    "mistral3": _INSIDE,
    "qwen3_5": _ROOT,
    "qwen3_5_moe": _ROOT,
    "qwen3_vl": _ROOT,
    "qwen3_vl_moe": _ROOT,
}
"""Where a wrapper's checkpoint keeps the text decoder's weights (see `build.names.path`)."""

_SHARED = ("tie_word_embeddings", "vocab_size", "quantization_config", "dtype", "torch_dtype", "eos_token_id")


def text_config(values: Mapping[str, Json], notes: list[Note]) -> ConfigReader:
    """A reader of the text decoder's keys, with what the wrapper says for it and the section does not."""
    model_type = values.get("model_type")
    section = next((key for key in SECTIONS if values.get(key) is not None), None)
    if model_type not in DEFAULT_TEXT_TYPES or (section is None and model_type in FLAT):
        return ConfigReader(values, notes)
    if section is None:
        raise missing(SECTIONS[0])
    inner = values[section]
    if not isinstance(inner, dict):
        raise wrong_type(section, "an object", inner)
    merged = dict(inner)
    if merged.get("model_type") is None:
        merged["model_type"] = DEFAULT_TEXT_TYPES[str(model_type)]
    for key in _SHARED:
        _share(values, merged, key, section)
    notes.append(
        Note(
            "config.text_only",
            section,
            f"{model_type}: only the text decoder in {section} is lowered, for text positions",
            "note",
        )
    )
    return ConfigReader(merged, notes, section)


def _share(outer: Mapping[str, Json], inner: dict[str, Json], key: str, section: str) -> None:
    value = outer.get(key)
    if value is None:
        return
    stated = inner.get(key)
    if stated is None:
        inner[key] = value
    elif stated != value and key in ("tie_word_embeddings", "vocab_size"):
        raise LoweringError(
            "config.conflict", f"{key} is {value}, but {section}.{key} is {stated}", key=f"{section}.{key}"
        )
