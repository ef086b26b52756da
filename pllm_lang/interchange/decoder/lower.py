"""`decoder_plan`: a lowered model, or a configuration and a workload, as a `pllm.decoder_plan.v1` document.

In: a plan made by `lower_model`; or a mapping, or JSON bytes or text, and three sizes. Out: the plan with the
SDK's canonical bytes and digest, or `ConfigRefused` when the format has no such model, or `NotFaithful` when it
would say something else. The document repeats texts of the configuration that the semantic graph has as numbers
(`"1e-6"` and `"0.000001"` give two digests), so it is read from the configuration, and compared with the graph.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast, overload

import msgspec

from pllm_lang.interchange.decoder.agreement import disagreement
from pllm_lang.interchange.decoder.eviction import COMPONENT, evict_kv_cache
from pllm_lang.interchange.decoder.faithful import KNOWN, dropped_keys
from pllm_lang.interchange.decoder.fields import Lowered
from pllm_lang.interchange.decoder.gemma4_config import accept_gemma4
from pllm_lang.interchange.decoder.phi_config import accept_phi
from pllm_lang.interchange.decoder.plan import DecoderDocument, DecoderPlan, Workload, phases, seal
from pllm_lang.interchange.decoder.qwen3_5_config import accept_qwen3_5
from pllm_lang.interchange.decoder.qwen_config import accept_qwen2, accept_qwen3
from pllm_lang.interchange.errors import ConfigRefused, DocumentError, NotFaithful
from pllm_lang.interchange.reading import U64_MAX, JsonText, as_object, read_json

if TYPE_CHECKING:  # the families of models load with their package, and nothing here needs them
    from pllm_lang.models.graph import ModelGraph

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


class PlanSource(msgspec.Struct, frozen=True):
    """What a lowered model was made from: the configuration, its graph, and the passes applied since."""

    config: bytes | str
    graph: ModelGraph
    passes: tuple[Mapping[str, Any], ...] = ()


class LoweredModel(Protocol):
    """A plan that knows what it was made from, such as `pllm_lang.lower_model` gives."""

    def decoder_source(self) -> PlanSource: ...


@overload
def decoder_plan(plan: LoweredModel, /, *, lossy: bool = False) -> DecoderPlan: ...


@overload
def decoder_plan(
    config: ConfigSource, /, batch: int, max_input_tokens: int, max_new_tokens: int, *, lossy: bool = False
) -> DecoderPlan: ...


def decoder_plan(
    plan: LoweredModel | ConfigSource,
    /,
    batch: int = 0,
    max_input_tokens: int = 0,
    max_new_tokens: int = 0,
    *,
    lossy: bool = False,
) -> DecoderPlan:
    """The document of a plan, or of a configuration for `batch` sequences of up to `max_input_tokens`, answered by
    up to `max_new_tokens`.

    `lossy` exports also what the format cannot say, but for passes. Errors: `ConfigRefused`, `NotFaithful`, `PassError`.
    """
    if not hasattr(plan, "decoder_source"):
        work = Workload(batch=batch, max_input_tokens=max_input_tokens, max_new_tokens=max_new_tokens)
        return _of_config(cast("ConfigSource", plan), work, lossy=lossy)
    source = cast("LoweredModel", plan).decoder_source()
    found = _of_config(source.config, _workload(source.graph), lossy=lossy)
    if not lossy and (why := disagreement(found.document, source.graph)):
        raise NotFaithful({"config": why})
    for used in source.passes:
        if used["component"] != COMPONENT:
            raise NotFaithful({used["component"]: "the format does not know this pass"})
        found = evict_kv_cache(found, used)
    return found


def _workload(graph: ModelGraph) -> Workload:
    work = graph.workload
    return Workload(work.batch, work.max_input_tokens, work.max_new_tokens)


def _of_config(config: ConfigSource, work: Workload, *, lossy: bool) -> DecoderPlan:
    for name, size in msgspec.structs.asdict(work).items():
        _check_size(name, size)
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


def _check_size(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigRefused("argument", f"{name} must be an integer, not {type(value).__name__}", (name,))
    if not 0 <= value <= U64_MAX:
        raise ConfigRefused("argument", f"{name} must be between 0 and {U64_MAX}", (name,))
