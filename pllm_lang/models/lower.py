"""A published `config.json` to the semantic graph of its decoder.

In: the config as a mapping, bytes or text, and the fixed bounds of the workload. Out: the graph and the notes
on keys that had no effect or are unknown. Every mistake of the user is a `LoweringError` with a stable code.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from pllm_lang.models.build.model import build_graph
from pllm_lang.models.config_reader import ConfigReader, missing, wrong_type
from pllm_lang.models.decoder import Decoder
from pllm_lang.models.errors import LoweringError, Note
from pllm_lang.models.exact_json import Json, config_digest, non_finite_keys, read_config
from pllm_lang.models.families import ADAPTERS
from pllm_lang.models.graph import ConfigIdentity, ModelGraph, Workload
from pllm_lang.models.limits import MAX_BATCH, MAX_SIZE
from pllm_lang.models.quantization import read_quantization
from pllm_lang.models.refused import refuse
from pllm_lang.models.wrappers import DEFAULT_TEXT_TYPES, WEIGHT_NAMES, text_config


class Lowering(msgspec.Struct, frozen=True):
    """What lowering made of a config. `notes` is no part of the graph's identity."""

    graph: ModelGraph
    notes: tuple[Note, ...]


class ReadConfig(msgspec.Struct, frozen=True):
    """A config as architecture and identity, before a workload is known."""

    decoder: Decoder
    identity: ConfigIdentity
    notes: tuple[Note, ...]


def lower_model(
    config: Mapping[str, object] | bytes | str, *, batch: int, max_input_tokens: int, max_new_tokens: int
) -> Lowering:
    """The graph of the config's decoder for `batch` sequences of at most `max_input_tokens` and
    `max_new_tokens`.

    Raises `LoweringError`; its `code` starts with `config.` or `workload.`.
    """
    read = read_model(config)
    workload = _workload(read.decoder, batch, max_input_tokens, max_new_tokens)
    return Lowering(build_graph(read.decoder, read.identity, workload), read.notes)


def read_model(config: Mapping[str, object] | bytes | str) -> ReadConfig:
    """The architecture that a config states."""
    values = read_config(config)
    notes: list[Note] = []
    outer_type = _model_type(ConfigReader(values, notes))
    text = text_config(values, notes)
    for key in non_finite_keys(text.values):
        text.note(
            "config.not_json", key, f"{text.dotted(key)} holds NaN or Infinity, which JSON does not have"
        )
    model_type = _model_type(text)
    if outer_type not in ADAPTERS and outer_type not in DEFAULT_TEXT_TYPES:
        raise refuse(values, outer_type, (*ADAPTERS, *DEFAULT_TEXT_TYPES))
    if model_type not in ADAPTERS:
        raise refuse(text.values, model_type, tuple(ADAPTERS))
    family, read = ADAPTERS[model_type]
    text.require("is_encoder_decoder", default=False, among=(False,))
    text.require("add_cross_attention", default=False, among=(False,))
    text.require("pruned_heads", default=None, among=(None, {}))
    identity = _identity(values, text, model_type, family)
    if identity.quantization:
        stored = ", ".join(identity.quantization.values())
        text.note(
            "config.quantized",
            "quantization_config",
            f"the checkpoint is quantised ({stored}): weights are taken for what their numbers stand for, and activations"
            " are not quantised",
            "note",
        )
    decoder = read(text)
    if text.path:
        names = {**decoder.names, **WEIGHT_NAMES.get(outer_type, {})}
        decoder = msgspec.structs.replace(decoder, names=names)
    text.finish()
    return ReadConfig(decoder, identity, tuple(dict.fromkeys(notes)))


def _model_type(config: ConfigReader) -> str:
    value = config.raw("model_type")
    if value is None:
        raise missing(config.dotted("model_type"))
    if not isinstance(value, str):
        raise wrong_type(config.dotted("model_type"), "a string", value)
    return value


def _identity(values: Mapping[str, Json], text: ConfigReader, model_type: str, family: str) -> ConfigIdentity:
    return ConfigIdentity(
        model_type=model_type,
        family=family,
        digest=config_digest(values),
        architectures=text.texts("architectures") or (),
        dtype=text.text("dtype", "torch_dtype", default="").removeprefix("torch."),
        quantization=read_quantization(text),
        stop_tokens=_stop_tokens(text),
    )


def _stop_tokens(text: ConfigReader) -> tuple[int, ...]:
    """The ids that end a text, each once, ascending: their order means nothing."""
    if isinstance(text.values.get("eos_token_id"), list):
        return tuple(sorted(set(text.sizes("eos_token_id") or ())))
    single = text.optional_size("eos_token_id", least=-1)
    return () if single is None or single < 0 else (single,)


def _workload(decoder: Decoder, batch: int, max_input_tokens: int, max_new_tokens: int) -> Workload:
    _check("batch", batch, MAX_BATCH)
    _check("max_input_tokens", max_input_tokens, MAX_SIZE)
    _check("max_new_tokens", max_new_tokens, MAX_SIZE)
    needed = max_input_tokens + max_new_tokens - 1
    if needed > decoder.max_positions:
        raise LoweringError(
            "workload.positions",
            f"{max_input_tokens} input and {max_new_tokens} new tokens need {needed} positions; the model has"
            f" {decoder.max_positions}",
            key="max_input_tokens",
        )
    return Workload(batch, max_input_tokens, max_new_tokens)


def _check(name: str, value: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LoweringError("workload.type", f"{name} must be a whole number, but is {value!r}", key=name)
    if not 1 <= value <= most:
        raise LoweringError("workload.range", f"{name} is {value}; it must be in 1..{most}", key=name)
