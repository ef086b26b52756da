"""What most families read in the same way: sizes with the class's defaults, norms, windows, layer types.

Defaults are those of the family's configuration class in transformers 5.24; an absent key takes them, a
`null` one means "derive it" where the class derives it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import msgspec

from pllm_lang.models.build.body import ACTIVATIONS
from pllm_lang.models.config_reader import ConfigReader, unsupported, wrong_type
from pllm_lang.models.decoder import Attention, Decoder, Layer, Mlp, Norm, Rotary, Scale
from pllm_lang.models.errors import LoweringError

FULL, SLIDING = "full_attention", "sliding_attention"
MAY_BE_NULL = ("n_inner",)


class Defaults(msgspec.Struct, frozen=True):
    """A configuration class's defaults. `kv_heads` 0 means as many as heads, `head_dim` 0 means hidden /
    heads."""

    vocab: int
    hidden: int
    inner: int
    layers: int
    heads: int
    kv_heads: int = 0
    head_dim: int = 0
    positions: int = 2048
    activation: str = "silu"
    epsilon: str = "0.000001"
    theta: str = "10000"
    tied: bool = False


class Basics(msgspec.Struct, frozen=True):
    """The sizes that every family has."""

    vocab: int
    hidden: int
    inner: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    positions: int
    activation: str
    epsilon: str
    tied: bool


def read_basics(
    config: ConfigReader,
    defaults: Defaults,
    *,
    epsilon: tuple[str, ...] = ("rms_norm_eps",),
    activation: tuple[str, ...] = ("hidden_act",),
    hidden: tuple[str, ...] = ("hidden_size",),
    inner: tuple[str, ...] = ("intermediate_size",),
    layers: tuple[str, ...] = ("num_hidden_layers",),
    heads: tuple[str, ...] = ("num_attention_heads",),
    kv_heads: tuple[str, ...] = ("num_key_value_heads",),
    positions: tuple[str, ...] = ("max_position_embeddings",),
    head_dim: tuple[str, ...] = ("head_dim",),
) -> Basics:
    _check_stated(config, (hidden, layers, heads, ("vocab_size",), inner, positions))
    width = config.size(*hidden, default=defaults.hidden)
    count = config.size(*heads, default=defaults.heads)
    absent = not any(key in config.values for key in kv_heads)
    kv_default = (defaults.kv_heads if absent else 0) or count
    kv_count = config.size(*kv_heads, default=kv_default) if kv_heads else kv_default
    if count % kv_count:
        raise LoweringError(
            "config.range",
            f"{config.name_of(*heads)} is {count}, which {config.name_of(*kv_heads)} = {kv_count} does not"
            " divide",
            key=config.name_of(*kv_heads),
        )
    return Basics(
        vocab=config.size("vocab_size", default=defaults.vocab),
        hidden=width,
        inner=config.size(*inner, default=defaults.inner) if inner else defaults.inner,
        layers=config.layer_count(*layers, default=defaults.layers) if layers else defaults.layers,
        heads=count,
        kv_heads=kv_count,
        head_dim=_head_dim(config, defaults, head_dim, width, count),
        positions=config.size(*positions, default=defaults.positions),
        activation=_activation(config, activation, defaults.activation),
        epsilon=config.number(*epsilon, default=defaults.epsilon, positive=True)
        if epsilon
        else defaults.epsilon,
        tied=config.flag("tie_word_embeddings", default=defaults.tied),
    )


def _check_stated(config: ConfigReader, sizes: tuple[tuple[str, ...], ...]) -> None:
    """A size must not be null; one that is absent takes the class's default, which is worth a word."""
    for keys in sizes:
        present = [key for key in keys if key in config.values]
        if present and not any(config.has(key) for key in present) and present[0] not in MAY_BE_NULL:
            raise wrong_type(config.dotted(present[0]), "a whole number", None)
        if keys and not present and keys[0] not in MAY_BE_NULL:
            name = config.dotted(keys[0])
            config.note("config.default", keys[0], f"{name} is absent: the class's default holds", "note")


def _activation(config: ConfigReader, keys: tuple[str, ...], default: str) -> str:
    return config.choice(*keys, default=default, among=tuple(ACTIVATIONS)) if keys else default


def _head_dim(
    config: ConfigReader, defaults: Defaults, keys: tuple[str, ...], hidden: int, heads: int
) -> int:
    stated = config.optional_size(*keys) if keys else None
    if stated is not None:
        return stated
    if defaults.head_dim and not any(key in config.values for key in keys):
        return defaults.head_dim
    if hidden % heads:
        raise LoweringError(
            "config.range",
            f"hidden_size {hidden} is no multiple of num_attention_heads {heads}, and head_dim is not given",
            key=config.dotted("head_dim"),
        )
    return hidden // heads


def rms(basics: Basics, offset: int = 0) -> Norm:
    return Norm("rms", basics.epsilon, offset)


def layer_norm(basics: Basics, *, bias: bool = True) -> Norm:
    return Norm("layer", basics.epsilon, bias=bias)


def plain_attention(
    basics: Basics, rotary: Rotary | None, *, bias: bool = False, out_bias: bool = False, window: int = 0
) -> Attention:
    """Grouped attention scaled by the root of head_dim."""
    return Attention(
        heads=basics.heads,
        kv_heads=basics.kv_heads,
        head_dim=basics.head_dim,
        value_dim=basics.head_dim,
        scale=Scale(root=str(basics.head_dim)),
        rotary=rotary,
        qkv_bias=bias,
        out_bias=out_bias,
        window=window,
    )


def gated_mlp(basics: Basics, *, bias: bool = False) -> Mlp:
    return Mlp(basics.inner, basics.activation, bias=bias)


def pre_norm_layer(kind: str, attention: Attention, mlp: Mlp, norm: Norm) -> Layer:
    return Layer(kind, attention, mlp, mixer_before=norm, block_before=norm)


def decoder(basics: Basics, layers: Sequence[Layer], norm: Norm | None, **changes: object) -> Decoder:
    """A decoder of these layers; `changes` sets further fields of `Decoder`."""
    plain = Decoder(
        hidden=basics.hidden,
        vocab=basics.vocab,
        layers=tuple(layers),
        final_norm=norm,
        tied=basics.tied,
        max_positions=basics.positions,
        intermediate=basics.inner,
    )
    return msgspec.structs.replace(plain, **changes) if changes else plain


def read_layer_types(
    config: ConfigReader,
    count: int,
    allowed: Sequence[str],
    default: Callable[[int], str],
    *,
    key: str = "layer_types",
) -> tuple[str, ...]:
    """The kind of each layer, as stated or by the class's rule."""
    stated = config.texts(key)
    if stated is None:
        return tuple(default(index) for index in range(count))
    if len(stated) != count:
        raise LoweringError(
            "config.conflict",
            f"{config.dotted(key)} has {len(stated)} entries, but the model has {count} layers",
            key=config.dotted(key),
        )
    for index, kind in enumerate(stated):
        if kind not in allowed:
            raise LoweringError(
                "config.unsupported_layer",
                f"{config.dotted(key)}[{index}] is {kind!r}, a kind of layer that this family has not",
                key=f"{config.dotted(key)}[{index}]",
                help=f"known kinds: {', '.join(allowed)}",
            )
    return stated


def read_window(config: ConfigReader, default: int = 0, key: str = "sliding_window") -> int:
    """The window; 0 means none. An explicit null means none too."""
    if key in config.values and not config.has(key):
        return 0
    return config.size(key, default=default, least=0)


def multiplier(text: str) -> Scale | None:
    """A factor as a scale, or nothing where it is one."""
    return None if Fraction(text) == 1 else Scale(text)


def require_causal(config: ConfigReader, *allowed: str) -> None:
    """Refuse attention in both directions; a word of `allowed` concerns only what is not text."""
    value = config.raw("use_bidirectional_attention")
    if value not in (None, False, *allowed):
        raise unsupported(config.dotted("use_bidirectional_attention"), str(value), ("false", *allowed))
