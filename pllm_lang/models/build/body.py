"""What the builders of a layer share: the stage's geometry, and a collector of ops, weights, states and
writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from pllm_lang.models.build.names import path
from pllm_lang.models.decoder import Norm, Scale
from pllm_lang.models.graph import Attribute, Op, Shape, State, Weight


class Geometry(msgspec.Struct, frozen=True):
    """The fixed sizes of a stage. `total` is the number of positions that prefill and decode process
    together."""

    decode: bool
    batch: int
    query: int
    total: int

    def kept(self, window: int) -> int:
        """How many past positions a cache keeps when `window` positions are visible (0: all)."""
        return min(self.total, window - 1) if window else self.total

    def attended(self, window: int) -> int:
        """How many positions the queries of one step see at most, their own included."""
        return min(self.total, self.kept(window) + self.query) if self.decode else self.query


class Body:
    """Collects the ops of one layer body, or of the ops around the layers, in order."""

    def __init__(self, geometry: Geometry, names: Mapping[str, str], layers: tuple[int, ...] = ()) -> None:
        self.geometry = geometry
        self.names = names
        self.layers = layers
        self.ops: list[Op] = []
        self.weights: list[Weight] = []
        self.states: list[State] = []
        self.writes: dict[str, str] = {}
        self.carried: dict[str, str] = {}
        self._shapes: dict[str, Shape] = {}

    def op(
        self,
        name: str,
        operator: str,
        inputs: Sequence[str],
        shape: Shape,
        weights: Mapping[str, str] | None = None,
        given: Mapping[str, Attribute] | None = None,
        **attributes: Attribute,
    ) -> str:
        """Add an op; its attributes are `given` and the keyword arguments."""
        every = {**given, **attributes} if given else attributes
        self.ops.append(Op(name, operator, tuple(inputs), shape, weights or {}, every))
        self._shapes[name] = shape
        return name

    def declare(self, name: str, shape: Shape) -> str:
        """Make the shape of an operand from outside known."""
        self._shapes[name] = shape
        return name

    def shape(self, name: str) -> Shape:
        return self._shapes[name]

    def weight(self, name: str, shape: Shape, experts: int = 0) -> str:
        self.weights.append(Weight(name, shape, self.layers, experts))
        return name

    def path(self, role: str) -> str:
        return path(self.names, role)

    def linear(
        self, name: str, role: str, source: str, width: int, *, bias: bool = False, stored: str = "out_in"
    ) -> str:
        """`x W^T + b`; `in_out` says that the checkpoint stores W transposed."""
        shape = self.shape(source)
        module = self.path(role)
        stored_shape = (width, shape[-1]) if stored == "out_in" else (shape[-1], width)
        weights = {"weight": self.weight(f"{module}.weight", stored_shape)}
        if bias:
            weights["bias"] = self.weight(f"{module}.bias", (width,))
        layout: dict[str, Attribute] = {} if stored == "out_in" else {"stored": stored}
        return self.op(name, "linear", (source,), (*shape[:-1], width), weights, given=layout)

    def norm(self, name: str, role: str, norm: Norm | None, source: str, *, groups: int = 1) -> str:
        """The norm over the last axis, or over each of `groups` equal parts of it; none is no op."""
        if norm is None:
            return source
        shape = self.shape(source)
        module = self.path(role)
        weights: dict[str, str] = {}
        if norm.weight:
            weights["weight"] = self.weight(f"{module}.weight", (shape[-1],))
        if norm.bias:
            weights["bias"] = self.weight(f"{module}.bias", (shape[-1],))
        return self.op(
            name, f"{norm.kind}_norm", (source,), shape, weights, given=norm_attributes(norm, groups)
        )

    def scale(self, name: str, scale: Scale | None, source: str) -> str:
        if scale is None or scale == Scale():
            return source
        return self.op(name, "scale", (source,), self.shape(source), given=scale_attributes(scale))

    def activation(self, name: str, activation: str, source: str) -> str:
        operator, attributes = ACTIVATIONS[activation]
        return self.op(name, operator, (source,), self.shape(source), given=attributes)

    def binary(self, name: str, operator: str, left: str, right: str) -> str:
        return self.op(name, operator, (left, right), self.shape(left))

    def slice(self, name: str, source: str, start: int, stop: int) -> str:
        """Features `start..stop` of the last axis."""
        return self.op(
            name, "slice", (source,), (*self.shape(source)[:-1], stop - start), start=start, stop=stop
        )

    def split_heads(self, name: str, source: str, heads: int) -> str:
        """`[B, Q, H * D]` to `[B, H, Q, D]`."""
        batch, query, width = self.shape(source)
        return self.op(name, "split_heads", (source,), (batch, heads, query, width // heads), heads=heads)

    def merge_heads(self, name: str, source: str) -> str:
        batch, heads, query, width = self.shape(source)
        return self.op(name, "merge_heads", (source,), (batch, query, heads * width))

    def append(self, name: str, state: str, source: str, window: int = 0) -> str:
        """Append the new positions (axis 2) to a cache, attend to old and new, and keep the last ones."""
        batch, heads, _, width = self.shape(source)
        kept, attended = self.geometry.kept(window), self.geometry.attended(window)
        self.states.append(State(state, "cache", self.layers, (batch, heads, kept, width)))
        self.writes[state] = name
        inputs = (f"state.{state}", source) if self.geometry.decode else (source,)
        return self.op(name, "kv_cache_append", inputs, (batch, heads, attended, width), capacity=kept)


def norm_attributes(norm: Norm, groups: int = 1) -> dict[str, Attribute]:
    attributes: dict[str, Attribute] = {"eps": norm.epsilon}
    if norm.offset:
        attributes["offset"] = norm.offset
    if groups != 1:
        attributes["groups"] = groups
    return attributes


def scale_attributes(scale: Scale) -> dict[str, Attribute]:
    named = {"factor": scale.factor, "root": scale.root, "gain": scale.gain, "of": scale.of}
    return {name: text for name, text in named.items() if text}


ACTIVATIONS: dict[str, tuple[str, dict[str, Attribute]]] = {
    "silu": ("silu", {}),
    "swish": ("silu", {}),
    "gelu": ("gelu", {}),
    "gelu_new": ("gelu_tanh", {}),
    "gelu_fast": ("gelu_tanh", {}),
    "gelu_pytorch_tanh": ("gelu_tanh", {}),
    "quick_gelu": ("quick_gelu", {}),
    "relu": ("relu", {}),
    "relu2": ("relu_squared", {}),
}
"""What each name of a config means. The three tanh names are one function, written in three ways."""
