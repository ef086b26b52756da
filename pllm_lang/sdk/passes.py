"""Passes over a model plan, as `ModelPlan.apply` takes them.

In: the parameters of a pass. Out: a component that can transform a semantic graph. Which graphs a pass fits
is decided by the pass itself, in `pllm_lang.models.passes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from pllm_lang.interchange.decoder.eviction import IMPLEMENTATION
from pllm_lang.interchange.reading import shown
from pllm_lang.models.errors import LoweringError
from pllm_lang.models.graph import ModelGraph
from pllm_lang.models.passes import (
    KvCacheEvictionPolicy,
    chunk_prefill,
    evict_kv_cache,
    fuse_qkv,
    quantize_weights,
)
from pllm_lang.sdk.component import Component
from pllm_lang.sdk.errors import ConfigurationError

Ratio = tuple[int, int] | Mapping[str, int]


class PlanPass(Component):
    """A pass named by its id; those of others can be stated, but not applied here."""

    __slots__ = ()
    category: ClassVar[str] = "compiler-pass"

    def transform(self, graph: ModelGraph) -> ModelGraph:
        """The transformed graph. Raises `LoweringError` with a code `pass.…`."""
        if self.component == KvCacheEviction.id:
            return KvCacheEviction.from_params(self.params).transform(graph)
        raise LoweringError("pass.unsupported", f"no pass of this release is {self.component}")


class KvCacheEviction(PlanPass):
    """Keeps the important part of a key-value cache (MPCache, arXiv 2501.06807).

    Ratios are pairs (numerator, denominator) in (0, 1] and are not reduced; `cluster_sizes` fall, each size a
    divisor of the one before; with `share_adjacent_layers` every second layer from the third on takes the
    choice of the layer before it.
    """

    __slots__ = ()
    id: ClassVar[str] = "pllm/kv-cache-eviction"

    def __init__(
        self,
        *,
        implementation: str = IMPLEMENTATION,
        observation_window: Ratio = (1, 5),
        static_keep: Ratio = (3, 10),
        dynamic_keep: Ratio = (1, 4),
        alpha: Ratio = (3, 5),
        cluster_sizes: tuple[int, ...] | list[int] = (32, 16),
        share_adjacent_layers: bool = True,
    ) -> None:
        params = {
            "implementation": implementation,
            "observation_window": observation_window,
            "static_keep": static_keep,
            "dynamic_keep": dynamic_keep,
            "alpha": alpha,
            "cluster_sizes": cluster_sizes,
            "share_adjacent_layers": share_adjacent_layers,
        }
        super().__init__(self.id, params)

    def transform(self, graph: ModelGraph) -> ModelGraph:
        params = dict(self.params)
        implementation = params.pop("implementation")
        if implementation != IMPLEMENTATION:
            why = f"unsupported KV-cache eviction implementation {implementation!r}"
            raise LoweringError("pass.unsupported", why, key="implementation", help=f"use {IMPLEMENTATION!r}")
        return evict_kv_cache(graph, KvCacheEvictionPolicy(**{k: _plain(v) for k, v in params.items()}))


class QuantizeWeights(PlanPass):
    """Weights of linear layers in `bits` bits (2 to 16), one scale a row."""

    __slots__ = ()
    id: ClassVar[str] = "pllm-lang/quantize-weights"

    def __init__(self, *, bits: int) -> None:
        super().__init__(self.id, _whole("bits", bits))

    def transform(self, graph: ModelGraph) -> ModelGraph:
        return quantize_weights(graph, **self.params)


class FuseQkv(PlanPass):
    """One linear layer in place of those for queries, keys and values."""

    __slots__ = ()
    id: ClassVar[str] = "pllm-lang/fuse-qkv"

    def __init__(self) -> None:
        super().__init__(self.id)

    def transform(self, graph: ModelGraph) -> ModelGraph:
        return fuse_qkv(graph)


class ChunkPrefill(PlanPass):
    """Prefill in chunks of `size` positions, which must divide the input tokens."""

    __slots__ = ()
    id: ClassVar[str] = "pllm-lang/chunk-prefill"

    def __init__(self, *, size: int) -> None:
        super().__init__(self.id, _whole("size", size))

    def transform(self, graph: ModelGraph) -> ModelGraph:
        return chunk_prefill(graph, **self.params)


def _whole(name: str, value: object) -> dict[str, object]:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigurationError("component.value", f"{name} must be an integer, not {shown(value)}", name)
    return {name: value}


def _plain(value: Any) -> Any:
    """A parameter as the policy of the pass has it: a ratio as a pair, a list as a tuple."""
    if isinstance(value, dict):
        return (value["numerator"], value["denominator"])
    return tuple(cast("list[int]", value)) if isinstance(value, list) else value
