"""`decoder_plan`: a model configuration and a workload as a `pllm.decoder_plan.v1` document.

In: a mapping, or JSON bytes or text, and three sizes. Out: the plan with the SDK's canonical bytes and
digest, or `ConfigRefused` when the format has no such model, or `NotFaithful` when it would say something
else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from pllm_lang.interchange.decoder.faithful import KNOWN, dropped_keys
from pllm_lang.interchange.decoder.fields import Lowered
from pllm_lang.interchange.decoder.gemma4_config import accept_gemma4
from pllm_lang.interchange.decoder.phi_config import accept_phi
from pllm_lang.interchange.decoder.plan import DecoderDocument, DecoderPlan, Workload, phases, seal
from pllm_lang.interchange.decoder.qwen3_5_config import accept_qwen3_5
from pllm_lang.interchange.decoder.qwen_config import accept_qwen2, accept_qwen3
from pllm_lang.interchange.errors import ConfigRefused, DocumentError, NotFaithful
from pllm_lang.interchange.reading import U64_MAX, JsonText, as_object, read_json

ConfigSource: TypeAlias = Mapping[str, Any] | bytes | str

FAMILIES: dict[str, Callable[[Mapping[str, Any], Workload], Lowered]] = {
    "qwen2": accept_qwen2,
    "qwen3": accept_qwen3,
    "phi3": accept_phi,
    "qwen3_5": accept_qwen3_5,
    "gemma4": accept_gemma4,
}
STRICT_ABOUT_DUPLICATES = frozenset({"qwen2", "qwen3"})
"""Families whose adapter reads the text itself and so refuses a key it knows when it occurs twice."""


def decoder_plan(
    config: ConfigSource, batch: int, max_input_tokens: int, max_new_tokens: int, *, lossy: bool = False
) -> DecoderPlan:
    """Lower `config` for `batch` sequences of up to `max_input_tokens`, answered by up to `max_new_tokens`.

    `lossy` exports also what the format cannot say. Errors: `ConfigRefused`, `NotFaithful`.
    """
    work = Workload(
        batch=_size("batch", batch),
        max_input_tokens=_size("max_input_tokens", max_input_tokens),
        max_new_tokens=_size("max_new_tokens", max_new_tokens),
    )
    read = read_config(config)
    family = read.value["model_type"]
    lowered = FAMILIES[family](read.value, work)
    if not lossy and (dropped := dropped_keys(family, read, work)):
        raise NotFaithful(dropped)
    prefill, decode = (lowered.build(phase) for phase in phases(work))
    return seal(DecoderDocument(lowered.family, lowered.adapter, lowered.config_digest, prefill, decode))


def read_config(config: ConfigSource) -> JsonText:
    """Read a configuration whose model_type has an adapter. Errors: `ConfigRefused`."""
    try:
        read = read_json(_text(config))
    except DocumentError as fault:
        raise ConfigRefused("document", f"{fault.code}: {fault.message}") from None
    family = (as_object(read.value) or {}).get("model_type")
    if not isinstance(family, str):
        raise ConfigRefused("configuration", "model_type must be a string", ("model_type",))
    if family not in FAMILIES:
        raise ConfigRefused("unsupported", f"the format has no adapter for {family!r}", ("model_type",))
    known = _twice(family, read)
    if known:
        raise ConfigRefused("document", "occurs twice", known)
    return read


def _text(config: object) -> str | bytes:
    if isinstance(config, str | bytes):
        return config
    found = as_object(config)
    if found is None:
        raise ConfigRefused("argument", "a configuration is a mapping, bytes or text")
    try:
        return json.dumps(dict(found), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as fault:
        raise ConfigRefused("argument", f"the config is no JSON value: {fault}") from None


def _twice(family: str, read: JsonText) -> tuple[str, ...]:
    if family not in STRICT_ABOUT_DUPLICATES:
        return ()
    return tuple(name for name in read.top_duplicates if name in KNOWN[family][""])


def _size(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigRefused("argument", f"{name} must be an integer, not {type(value).__name__}", (name,))
    if not 0 <= value <= U64_MAX:
        raise ConfigRefused("argument", f"{name} must be between 0 and {U64_MAX}", (name,))
    return value
