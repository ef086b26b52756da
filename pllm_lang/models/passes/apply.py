"""A pass by the id of its record, with the parameters that a plan gives it.

In: a graph, an id and values by name. Out: the new graph, or a `LoweringError` (`pass.*`) that names the parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TypeAlias

import msgspec

from pllm_lang.models.errors import LoweringError
from pllm_lang.models.graph import ModelGraph
from pllm_lang.models.passes.chunk_prefill import chunk_prefill
from pllm_lang.models.passes.fuse_qkv import fuse_qkv
from pllm_lang.models.passes.kv_cache_eviction import KvCacheEvictionPolicy, evict_kv_cache
from pllm_lang.models.passes.quantize_weights import quantize_weights

IMPLEMENTATION = "pllm/importance-kv-cache-eviction/v1"
"""The one way that caches are evicted here, as the SDK of pllm.run calls it."""

Value: TypeAlias = int | Fraction | str | tuple[int | Fraction, ...]
Values: TypeAlias = Mapping[str, Value]
"""Numbers are exact; a truth value is the word `true` or `false`."""


class PassUse(msgspec.Struct, frozen=True):
    """A pass as a plan writes it: the id of its record and its parameters."""

    id: str
    values: dict[str, Value] = {}


def id_of(name: str) -> str:
    """The id of the pass that a plan calls `name`; the name itself where there is none."""
    return next((id for id in _PASSES if id.rpartition("/")[2] == name.replace("_", "-")), name)


def apply_passes(graph: ModelGraph, uses: tuple[PassUse, ...]) -> ModelGraph:
    for use in uses:
        graph = apply_pass(graph, use)
    return graph


def apply_pass(graph: ModelGraph, use: PassUse) -> ModelGraph:
    found = _PASSES.get(use.id)
    if found is None:
        raise LoweringError(
            "pass.unknown",
            f"{use.id!r} is no pass over models",
            help=f"passes are {', '.join(sorted(_PASSES))}",
        )
    run, known = found
    strange = next((name for name in use.values if name not in known), None)
    if strange is not None:
        raise LoweringError("pass.parameter", f"{use.id!r} has no parameter {strange}", key=strange)
    return run(graph, use.values)


def _quantize(graph: ModelGraph, values: Values) -> ModelGraph:
    return quantize_weights(graph, _whole(values, "bits"))


def _fuse(graph: ModelGraph, _values: Values) -> ModelGraph:
    return fuse_qkv(graph)


def _chunk(graph: ModelGraph, values: Values) -> ModelGraph:
    return chunk_prefill(graph, _whole(values, "size"))


def _evict(graph: ModelGraph, values: Values) -> ModelGraph:
    given: dict[str, object] = {}
    if values.get("implementation", IMPLEMENTATION) != IMPLEMENTATION:
        raise LoweringError(
            "pass.parameter",
            "the cache is evicted in one way only",
            key="implementation",
            help=f"use {IMPLEMENTATION!r}",
        )
    for name, value in values.items():
        if name in ("observation_window", "static_keep", "dynamic_keep", "alpha"):
            given[name] = _ratio(name, value)
        elif name == "cluster_sizes":
            given[name] = _sizes(name, value)
        elif name == "share_adjacent_layers":
            given[name] = _truth(name, value)
    return evict_kv_cache(graph, msgspec.convert(given, KvCacheEvictionPolicy, strict=True))


def _whole(values: Values, name: str) -> int:
    value = values.get(name)
    if value is None:
        raise LoweringError("pass.parameter", f"{name} is not stated", key=name)
    if not isinstance(value, int):
        raise LoweringError("pass.parameter", f"{name} must be a whole number", key=name)
    return value


def _truth(name: str, value: Value) -> bool:
    if value not in ("true", "false"):
        raise LoweringError("pass.parameter", f"{name} must be true or false", key=name)
    return value == "true"


def _ratio(name: str, value: Value) -> tuple[int, int]:
    if isinstance(value, str | tuple):
        raise LoweringError("pass.parameter", f"{name} must be a number", key=name)
    return value.numerator, value.denominator


def _sizes(name: str, value: Value) -> tuple[int, ...]:
    whole = tuple(one for one in value if isinstance(one, int)) if isinstance(value, tuple) else ()
    if not isinstance(value, tuple) or len(whole) != len(value):
        raise LoweringError("pass.parameter", f"{name} must be a list of whole numbers", key=name)
    return whole


_EVICTION = tuple(KvCacheEvictionPolicy.__struct_fields__)
_PASSES: dict[str, tuple[Callable[[ModelGraph, Values], ModelGraph], tuple[str, ...]]] = {
    "pllm-lang/quantize-weights": (_quantize, ("bits",)),
    "pllm-lang/fuse-qkv": (_fuse, ()),
    "pllm-lang/chunk-prefill": (_chunk, ("size",)),
    "pllm/kv-cache-eviction": (_evict, (*_EVICTION, "implementation")),
}
"""What each record's id runs, and the parameters that it knows."""
