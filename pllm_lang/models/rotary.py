"""Rotary positions: both key styles (`rope_theta` and `rope_scaling`, or `rope_parameters`) to one exact
`Rotary`.

Refused by name: styles that disagree, an unknown kind, a missing or ill-sized parameter. A parameter that the
kind does not know gets a warning that names the nearest one it does. Kinds and their parameters:
transformers, `modeling_rope_utils`.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor

from pllm_lang.models.config_reader import (
    ConfigReader,
    exact_number,
    missing,
    resembling,
    unsupported,
    wrong_type,
)
from pllm_lang.models.decoder import Pairing, Rotary
from pllm_lang.models.errors import LoweringError
from pllm_lang.models.exact_json import Json
from pllm_lang.models.limits import MAX_HINTS

KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "default": ((), ()),
    "linear": (("factor",), ()),
    "dynamic": (("factor",), ()),
    "yarn": (
        ("factor", "original_max_position_embeddings"),
        ("attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"),
    ),
    "longrope": (
        ("short_factor", "long_factor", "original_max_position_embeddings"),
        ("factor", "attention_factor", "short_mscale", "long_mscale"),
    ),
    "llama3": (("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"), ()),
    "proportional": ((), ("factor",)),
}
"""Required and optional parameters of each kind."""

_COMMON = ("rope_theta", "rope_type", "type", "partial_rotary_factor", "mrope_section", "mrope_interleaved")
_INTEGERS = ("original_max_position_embeddings",)
_LISTS = ("short_factor", "long_factor")


def read_rotary(
    config: ConfigReader,
    head_dim: int,
    *,
    theta: str = "10000",
    partial: str = "",
    pairing: Pairing = "split_half",
    layer_type: str = "",
    theta_keys: tuple[str, ...] = ("rope_theta", "rotary_emb_base"),
    partial_keys: tuple[str, ...] = ("partial_rotary_factor", "rotary_pct"),
    scaled: bool = True,
    family_parameters: tuple[str, ...] = (),
) -> Rotary:
    """The rotation of one layer type. `layer_type` picks an entry where `rope_parameters` has one for each
    type; `scaled=False` keeps a legacy `rope_scaling` away from it; `family_parameters` are read by the
    adapter itself. `partial` is the share of a head that the family rotates by default, empty for a family that
    rotates whole heads only."""
    scaling = _section(config, layer_type, scaled)
    base = config.optional_number(*theta_keys, positive=True)
    inner = None if scaling is None else scaling.optional_number("rope_theta", positive=True)
    if base is not None and inner is not None and base != inner:
        raise LoweringError(
            "config.conflict",
            f"{config.name_of(*theta_keys)} is {base}, but {_dotted(scaling, 'rope_theta')} is {inner}",
            key=config.name_of(*theta_keys),
        )
    kind = _kind(scaling)
    share = _partial(config, scaling, partial or "1", partial_keys)
    if not partial and share != 1 and kind != "proportional":
        raise LoweringError(
            "config.unsupported_value",
            f"{config.name_of(*partial_keys)} is {share}, but this family rotates whole heads",
            key=config.name_of(*partial_keys),
        )
    dims = head_dim if kind == "proportional" else floor(head_dim * share)
    if dims % 2 or dims <= 0 or dims > head_dim:
        raise LoweringError(
            "config.range",
            f"{config.name_of(*partial_keys)}: {dims} of {head_dim} features would be rotated; an even"
            " number is needed",
            key=config.name_of(*partial_keys),
        )
    parameters = () if scaling is None else _parameters(config, scaling, kind, dims, family_parameters)
    if kind == "proportional":
        parameters += (("rotated", 2 * floor(share * head_dim / 2)),)
    return Rotary(inner or base or theta, dims, pairing, kind, parameters)


def _section(config: ConfigReader, layer_type: str, scaled: bool) -> ConfigReader | None:
    new, old = config.section("rope_parameters"), config.section("rope_scaling")
    if new is not None and old is not None:
        for key in set(new.values) & set(old.values):
            if new.values[key] != old.values[key]:
                raise LoweringError(
                    "config.conflict",
                    f"{new.dotted(key)} and {old.dotted(key)} differ",
                    key=old.dotted(key),
                )
    if new is None:
        return old if scaled else None
    if not any(isinstance(value, dict) for value in new.values.values()):
        return new
    if not layer_type:
        raise LoweringError(
            "config.unsupported_value",
            f"{new.path} has an entry for each layer type, which this family"
            " has not",
            key=new.path,
        )  # fmt: skip
    return new.section(layer_type)


def _kind(scaling: ConfigReader | None) -> str:
    if scaling is None:
        return "default"
    kind = scaling.optional_text("rope_type", "type") if not _is_mrope(scaling) else "default"
    kind = kind or "default"
    if kind not in KINDS:
        raise unsupported(scaling.name_of("rope_type", "type"), kind, tuple(KINDS))
    return kind


def _is_mrope(scaling: ConfigReader) -> bool:
    words = [scaling.values.get("type"), scaling.values.get("rope_type")]
    sections = scaling.has("mrope_section")
    multimodal = "mrope" in words and all(word in ("mrope", "default", None) for word in words)
    if multimodal or sections:
        scaling.ignore("type", "rope_type", "mrope_section", "mrope_interleaved")
        scaling.note(
            "config.multimodal_rotary",
            "mrope_section",
            f"{scaling.path}: multimodal rotary positions; text positions make them plain rotary ones",
        )
    return multimodal


def _partial(
    config: ConfigReader, scaling: ConfigReader | None, default: str, keys: tuple[str, ...]
) -> Fraction:
    inner = None if scaling is None else scaling.optional_number("partial_rotary_factor")
    outer = config.optional_number(*keys)
    if inner is not None and outer is not None and inner != outer:
        raise LoweringError(
            "config.conflict",
            f"{config.name_of(*keys)} is {outer}, but {_dotted(scaling, 'partial_rotary_factor')} is {inner}",
            key=config.name_of(*keys),
        )
    return Fraction(inner or outer or default)


def _parameters(
    config: ConfigReader, scaling: ConfigReader, kind: str, dims: int, family: tuple[str, ...]
) -> tuple[tuple[str, str | int | tuple[str, ...]], ...]:
    required, optional = KINDS[kind]
    values: list[tuple[str, str | int | tuple[str, ...]]] = []
    for name in (*required, *optional):
        value = scaling.raw(name)
        if value is None and name in _INTEGERS and name in required and kind == "longrope":
            value = config.raw(name)
        if value is None:
            if name in required:
                raise missing(scaling.dotted(name))
            continue
        values.append((name, _parameter(scaling.dotted(name), name, value, dims)))
    _warn_of_strangers(scaling, kind, (*required, *optional, *family))
    if kind == "longrope":
        _same_original(config, scaling)
    if kind in ("longrope", "dynamic"):
        values.append(("max_positions", config.size("max_position_embeddings")))
    return tuple(values)


def _parameter(name: str, key: str, value: Json, dims: int) -> str | int | tuple[str, ...]:
    if key == "truncate":
        if not isinstance(value, bool):
            raise wrong_type(name, "true or false", value)
        return int(value)
    if key in _LISTS:
        if not isinstance(value, list):
            raise wrong_type(name, "an array", value)
        if len(value) != dims // 2:
            raise LoweringError(
                "config.range",
                f"{name} must have {dims // 2} entries (half of {dims} rotated features),"
                f" but has {len(value)}",
                key=name,
            )  # fmt: skip
        return tuple(
            exact_number(f"{name}[{index}]", item, positive=True) for index, item in enumerate(value)
        )
    return exact_number(name, value, positive=key in ("factor", *_INTEGERS))


def _warn_of_strangers(scaling: ConfigReader, kind: str, known: tuple[str, ...]) -> None:
    strangers = [key for key in scaling.values if key not in known and key not in _COMMON]
    for key in strangers[:MAX_HINTS]:
        scaling.note(
            "config.unknown_key",
            key,
            f"{scaling.dotted(key)} is no parameter of {kind!r} rotary positions and has no effect"
            + resembling(key, known),
        )


def _same_original(config: ConfigReader, scaling: ConfigReader) -> None:
    name = "original_max_position_embeddings"
    outer, inner = config.raw(name), scaling.raw(name)
    if outer is not None and inner is not None and outer != inner:
        raise LoweringError(
            "config.conflict", f"{config.dotted(name)} is {outer}, but {scaling.dotted(name)} is {inner}",
            key=config.dotted(name),
        )  # fmt: skip


def _dotted(reader: ConfigReader | None, key: str) -> str:
    return key if reader is None else reader.dotted(key)
