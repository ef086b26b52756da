"""What `pllm.decoder_plan.v1` drops or gets wrong: the keys for which a plan would not say what the model
does.

In: a configuration that the format accepts. Out: for each key the reason why the plan is not faithful to
it. The SDK exports these without a word, so two different models get one digest; we refuse unless the user
asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from pllm_lang.interchange.decoder.gemma4_config import IGNORED as GEMMA_IGNORED
from pllm_lang.interchange.decoder.gemma4_config import OUTER_MUST_BE as GEMMA_OUTER
from pllm_lang.interchange.decoder.gemma4_config import TextConfig as Gemma4Text
from pllm_lang.interchange.decoder.phi_config import LongRope, PhiConfig
from pllm_lang.interchange.decoder.plan import Workload
from pllm_lang.interchange.decoder.qwen3_5_config import OuterConfig as Qwen35Outer
from pllm_lang.interchange.decoder.qwen3_5_config import TextConfig as Qwen35Text
from pllm_lang.interchange.decoder.qwen_config import Qwen2Config, Qwen3Config
from pllm_lang.interchange.reading import MAX_SAFE_INTEGER, JsonText, as_list, as_object
from pllm_lang.models.irrelevant_keys import IRRELEVANT_KEYS


class Condition(msgspec.Struct, frozen=True):
    """A key outside of the format that does no harm when `harmless(value, config)`; else `why` it does."""

    harmless: Callable[[Any, Mapping[str, Any]], bool]
    why: str


CAUSAL_HEADS = {
    "qwen2": ["Qwen2ForCausalLM"],
    "qwen3": ["Qwen3ForCausalLM"],
    "phi3": ["Phi3ForCausalLM"],
}


def _plain_rotation(value: Any, config: Mapping[str, Any]) -> bool:
    rotation = as_object(value)
    if rotation is None:
        return False
    kinds = {rotation.get("rope_type", "default"), rotation.get("type", "default")}
    base = rotation.get("rope_theta", config.get("rope_theta"))
    is_known = set(rotation) <= {"rope_type", "type", "rope_theta"}
    return is_known and kinds == {"default"} and base == config.get("rope_theta")


def _no_window(config: Mapping[str, Any]) -> bool:
    """Qwen2 slides only in layers from `max_window_layers` (28 if absent) on, and only when told to."""
    from_layer = config.get("max_window_layers", 28)
    below = isinstance(from_layer, int) and from_layer >= config["num_hidden_layers"]
    return not config.get("use_sliding_window", False) or config.get("sliding_window", 4096) is None or below


def _is_false(value: Any, _: Mapping[str, Any]) -> bool:
    return value is False


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _head_dim(value: Any, config: Mapping[str, Any]) -> bool:
    return value == config["hidden_size"] // config["num_attention_heads"]


WINDOW = "the format has no sliding window"
OTHER_MODEL = "the format has neither an encoder nor cross attention"
CONDITIONAL: dict[str, Condition] = {
    "add_cross_attention": Condition(_is_false, OTHER_MODEL),
    "is_encoder_decoder": Condition(_is_false, OTHER_MODEL),
    "architectures": Condition(
        lambda value, config: value == CAUSAL_HEADS.get(config["model_type"]),
        "the format has a next-token head only",
    ),
    "attention_bias": Condition(
        lambda value, config: config["model_type"] == "qwen2" and isinstance(value, bool),
        "the biases of this family are fixed",
    ),
    "head_dim": Condition(_head_dim, "the format takes head_dim to be hidden_size / num_attention_heads"),
    "layer_types": Condition(
        lambda value, config: value == ["full_attention"] * config["num_hidden_layers"],
        "every layer attends fully",
    ),
    "max_window_layers": Condition(lambda value, config: _is_whole(value) and _no_window(config), WINDOW),
    "partial_rotary_factor": Condition(
        lambda value, _: not isinstance(value, bool) and value == 1, "every dimension is rotated"
    ),
    "rope_parameters": Condition(_plain_rotation, "the format has no scaled rotation"),
    "rope_scaling": Condition(_plain_rotation, "the format has no scaled rotation"),
    "sliding_window": Condition(lambda _, config: _no_window(config), WINDOW),
    "use_mrope": Condition(_is_false, "the format has no multimodal rotation"),
    "use_sliding_window": Condition(
        lambda value, config: isinstance(value, bool) and _no_window(config), WINDOW
    ),
}

WRITTEN_AS_INTEGER = "rope_theta"
FLOORED = "original_max_position_embeddings"
FAMILY_FAULTS: dict[str, dict[str, str]] = {
    "phi3": {
        "model_type": "the prefill cache of this format does not fit its decode cache, and the attention"
        " output is labelled with the layout that it had before the heads were merged"
    },
    "qwen3_5": {
        "text_config.attn_output_gate": "the format splits query and gate in two halves, the model by head"
    },
    "gemma4": {"text_config.model_type": "the format adds one to every norm weight, the model does not"},
}

KNOWN: dict[str, dict[str, frozenset[str]]] = {
    "qwen2": {"": frozenset(Qwen2Config.__struct_fields__)},
    "qwen3": {"": frozenset(Qwen3Config.__struct_fields__)},
    "phi3": {
        "": frozenset(PhiConfig.__struct_fields__),
        "rope_scaling": frozenset(LongRope.__struct_fields__),
    },
    "qwen3_5": {
        "": frozenset(Qwen35Outer.__struct_fields__),
        "text_config": frozenset(Qwen35Text.__struct_fields__),
    },
    "gemma4": {
        "": frozenset({"model_type", "text_config", *GEMMA_OUTER}),
        "text_config": frozenset(Gemma4Text.__struct_fields__) | GEMMA_IGNORED,
    },
}
"""The keys that the adapters of the SDK read, for each object of the configuration."""


def dropped_keys(family: str, read: JsonText, work: Workload) -> dict[str, str]:
    """Keys of an accepted configuration, or of the workload, that the plan is not faithful to, and why."""
    config: dict[str, Any] = read.value
    twice = (*read.top_duplicates, *read.inner_duplicates)
    found = dict.fromkeys(twice, "occurs twice, the last one counts")
    for path, known in KNOWN[family].items():
        values = config[path] if path else config
        for key in sorted(set(values) - known):
            why = _why_dropped(key, values[key], config)
            if why:
                found[f"{path}.{key}" if path else key] = why
    unsafe = (*_unsafe_numbers(config), *_unsafe_numbers(msgspec.to_builtins(work)))
    found |= dict.fromkeys(unsafe, f"other readers lose integers beyond {MAX_SAFE_INTEGER}")
    if family == "phi3" and config["max_position_embeddings"] % config[FLOORED]:
        found[FLOORED] = "the format rounds the scaling factor down to a whole number"
    return found | FAMILY_FAULTS.get(family, {})


def _unsafe_numbers(value: Any, path: str = "") -> Iterator[str]:
    """Paths of numbers that become integers too large for readers that hold these in doubles."""
    entries, items = as_object(value), as_list(value)
    for key, inner in (entries or {}).items():
        yield from _unsafe_numbers(inner, f"{path}.{key}" if path else key)
    for inner in items or ():
        yield from _unsafe_numbers(inner, path)
    is_written_as_integer = isinstance(value, int) or path.endswith(WRITTEN_AS_INTEGER)
    if is_written_as_integer and isinstance(value, int | float) and abs(value) > MAX_SAFE_INTEGER:
        yield path


def _why_dropped(key: str, value: Any, config: Mapping[str, Any]) -> str:
    condition = CONDITIONAL.get(key)
    if value is None or (condition is None and key in IRRELEVANT_KEYS):
        return ""
    if condition is None:
        return "the format does not say this key, and we do not know that it is harmless"
    return "" if condition.harmless(value, config) else condition.why
