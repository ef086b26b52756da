"""The operators of `kv_cache_eviction` (MPCache, arXiv 2501.06807). A position of -1 is padding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pllm_lang.runtime.semantic.call import Array, Call


def attention_importance(call: Call) -> Array:
    """How much the last queries look at each position: the mean over heads, summed over the observation
    window."""
    probabilities = call.inputs[0]
    queries = probabilities.shape[2]
    window = int(np.ceil(queries * call.number("observation_window") - 1e-9))
    return probabilities.mean(axis=1)[:, queries - window :].sum(axis=1)


def secure_top_k(call: Call) -> Array:
    (scores,) = call.inputs
    best = np.argsort(-scores, axis=-1, kind="stable")[..., : call.integer("k")]
    return np.sort(best, axis=-1).astype(np.float64)


def shared_indices(call: Call) -> Array:
    return call.inputs[0]


def cache_active_indices(call: Call) -> Array:
    """The kept positions of the prompt, and every position since."""
    kept, positions = call.inputs[:2]
    newer = np.arange(call.integer("prompt"), int(positions.max()) + 1).astype(np.float64)
    return np.concatenate([kept, np.broadcast_to(newer, (kept.shape[0], newer.size))], axis=1)


def cluster_bounds(call: Call) -> Array:
    """Least and greatest key, feature by feature, of every run of `cluster_size` keys, `[..., n, D, 2]`."""
    keys = call.inputs[0]
    if len(call.inputs) == 2:
        keys = np.take_along_axis(keys, _index(call.inputs[1])[:, None, :, None], axis=2)
    size = call.integer("cluster_size")
    runs = [keys[..., start : start + size, :] for start in range(0, keys.shape[-2], size)]
    return np.stack(
        [np.stack([np.fmin.reduce(run, -2), np.fmax.reduce(run, -2)], axis=-1) for run in runs], axis=-3
    )


def cluster_similarity(call: Call) -> Array:
    """The query with `alpha * greatest + (1 - alpha) * least` of each cluster."""
    query, bounds = call.inputs
    alpha = call.number("alpha")
    point = (1 - alpha) * bounds[..., 0] + alpha * bounds[..., 1]
    if point.ndim == 4:
        point = point.repeat(call.integer("groups"), axis=1)[:, :, None]
    likeness = np.einsum("bhqd,bhqnd->bhqn", query, point)
    return np.where(np.isnan(likeness), -np.inf, likeness)


def secure_gather(call: Call) -> Array:
    """The positions in the chosen clusters of `unit` positions, or the cache's rows at the chosen positions.

    A candidate row of padding is not a number, so that it bounds no cluster; a row to be attended to is any
    row.
    """
    source, chosen = call.inputs
    if call.op.attributes["of"] == "positions":
        return _members(source, chosen, call.integer("unit"))
    rows = source.repeat(chosen.shape[1] // source.shape[1], axis=1)[:, :, None]
    found = np.take_along_axis(rows, _index(chosen)[..., None], axis=3)
    return found if call.op.attributes["of"] == "rows" else np.where(chosen[..., None] < 0, np.nan, found)


def _members(positions: Array, chosen: Array, unit: int) -> Array:
    if positions.ndim == 2:
        positions = np.broadcast_to(positions[:, None, None, :], (*chosen.shape[:3], positions.shape[1]))
    short = -positions.shape[-1] % unit
    padded = np.pad(positions, [(0, 0)] * 3 + [(0, short)], constant_values=-1)
    index = (chosen[..., None] * unit + np.arange(unit)).reshape(*chosen.shape[:3], -1)
    return np.take_along_axis(padded, index.astype(np.int64), axis=-1)


def _index(positions: Array) -> NDArray[np.int64]:
    return np.maximum(positions, 0).astype(np.int64)
