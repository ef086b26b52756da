"""MPCache (arXiv 2501.06807): which cached positions attention may look at, chosen once and then at every
step.

After prefill the positions that the last queries looked at most are kept (static, look-once). At each decode
step a hierarchy of key clusters, coarse to fine, picks from the kept and the new positions those most like
the query (dynamic). Every second layer from the third on may take the choice of the layer before it. Caches
keep their capacity: the pass saves attention, not memory.

Sizes, with T input positions, C positions in all, keep = ceil(T static), candidates = keep + C - T: a level
of clusters of z positions over c candidates has n = ceil(c / z) clusters; the last level takes
min(ceil(candidates dynamic / z), n), an earlier one ceil(n / 2) where dynamic < 1/2, else all; what is taken
is the next level's c, min(k z, c).
"""

from __future__ import annotations

from itertools import pairwise
from math import ceil, gcd

import msgspec

from pllm_lang.models.errors import LoweringError
from pllm_lang.models.graph import Attribute, ModelGraph, Op, Repeat, Shape, Stage, State
from pllm_lang.models.passes.lineage import begin, record

NAME = "kv_cache_eviction"
FIRST_SHARING_LAYER = 3

Ratio = tuple[int, int]


class KvCacheEvictionPolicy(msgspec.Struct, frozen=True):
    """Ratios are numerator and denominator in (0, 1]; `cluster_sizes` fall, each dividing the one before."""

    observation_window: Ratio = (1, 5)
    static_keep: Ratio = (3, 10)
    dynamic_keep: Ratio = (1, 4)
    alpha: Ratio = (3, 5)
    cluster_sizes: tuple[int, ...] = (32, 16)
    share_adjacent_layers: bool = True


class _Sizes(msgspec.Struct, frozen=True):
    batch: int
    heads: int
    kv_heads: int
    head_dim: int
    total: int
    prompt: int
    keep: int
    candidates: int


def evict_kv_cache(graph: ModelGraph, policy: KvCacheEvictionPolicy) -> ModelGraph:
    """Raises `LoweringError`: `pass.parameter`, `pass.applied_twice`, or `pass.state` naming the layer and
    state that does not fit."""
    begin(graph, NAME)
    _check_policy(policy)
    if graph.prefill.steps != 1:
        raise LoweringError(
            "pass.state", "prefill runs in chunks; the static choice needs all its probabilities at once"
        )
    _check_states(graph)
    keep = _part(graph.workload.max_input_tokens, policy.static_keep)
    layers = tuple(range(graph.dimensions.layers))
    state = State("cache_indices", "indices", layers, (graph.workload.batch, keep))
    after = msgspec.structs.replace(
        graph,
        prefill=_prefill(graph, policy, keep),
        decode=_decode(graph, policy, keep),
        states=(*graph.states, state),
    )
    return record(graph, after, NAME, _parameters(policy))


def _check_policy(policy: KvCacheEvictionPolicy) -> None:
    for name in ("observation_window", "static_keep", "dynamic_keep", "alpha"):
        numerator, denominator = getattr(policy, name)
        if not 0 < numerator <= denominator:
            raise LoweringError(
                "pass.parameter", f"{name} is {numerator}/{denominator}; it must be in (0, 1]", key=name
            )
    sizes = policy.cluster_sizes
    if not sizes or any(size < 1 for size in sizes):
        raise LoweringError(
            "pass.parameter", "cluster_sizes must name at least one positive size", key="cluster_sizes"
        )
    if any(large <= small or large % small for large, small in pairwise(sizes)):
        raise LoweringError(
            "pass.parameter",
            f"cluster_sizes {sizes} must fall, each dividing the one before",
            key="cluster_sizes",
        )


def _check_states(graph: ModelGraph) -> None:
    """Every layer hands over keys and values of all positions, and nothing else."""
    total = graph.workload.max_input_tokens + graph.workload.max_new_tokens - 1
    for repeat in graph.decode.layers:
        if any(op.operator == "alibi_bias" for op in repeat.ops):
            raise LoweringError(
                "pass.state", f"layer {repeat.layers[0]}: position biases (ALiBi) need all positions in order"
            )
    for layer in range(graph.dimensions.layers):
        states = {state.name: state for state in graph.states if layer in state.layers}
        if set(states) != {"key", "value"}:
            found = ", ".join(sorted(states)) or "none"
            raise LoweringError(
                "pass.state", f"layer {layer} must hand over a key and a value cache; its states are: {found}"
            )
        for state in states.values():
            if state.shape[2] != total:
                raise LoweringError(
                    "pass.state",
                    f"layer {layer}: the {state.name} cache keeps {state.shape[2]} of {total} positions (a"
                    " window); the"
                    " pass chooses among all",
                )


def _part(count: int, ratio: Ratio) -> int:
    return -(-count * ratio[0] // ratio[1])


def _text(ratio: Ratio) -> str:
    common = gcd(*ratio)
    return f"{ratio[0] // common}/{ratio[1] // common}" if ratio[1] != common else str(ratio[0] // common)


def _parameters(policy: KvCacheEvictionPolicy) -> dict[str, Attribute]:
    return {
        "observation_window": _text(policy.observation_window),
        "static_keep": _text(policy.static_keep),
        "dynamic_keep": _text(policy.dynamic_keep),
        "alpha": _text(policy.alpha),
        "cluster_sizes": policy.cluster_sizes,
        "share_adjacent_layers": policy.share_adjacent_layers,
    }


def _prefill(graph: ModelGraph, policy: KvCacheEvictionPolicy, keep: int) -> Stage:
    """After each softmax: how much the last queries looked at each position, and the best of them."""
    batch, total = graph.workload.batch, graph.workload.max_input_tokens
    window = _text(policy.observation_window)
    layers: list[Repeat] = []
    for repeat in graph.prefill.layers:
        ops: list[Op] = []
        for op in repeat.ops:
            ops.append(op)
            if op.name == "softmax":
                ops += _static_choice(batch, total, keep, window)
        writes = {**repeat.writes, "cache_indices": "static_selection"}
        layers.append(msgspec.structs.replace(repeat, ops=tuple(ops), writes=writes))
    return msgspec.structs.replace(graph.prefill, layers=tuple(layers))


def _static_choice(batch: int, total: int, keep: int, window: str) -> list[Op]:
    looked = {"observation_window": window, "reduction": "mean_heads_sum_last_queries"}
    best = {"k": keep, "order": "ascending"}
    return [
        Op("static_importance", "attention_importance", ("softmax", "lengths"), (batch, total), {}, looked),
        Op("static_selection", "secure_top_k", ("static_importance",), (batch, keep), {}, best),
    ]


def _decode(graph: ModelGraph, policy: KvCacheEvictionPolicy, keep: int) -> Stage:
    layers: list[Repeat] = []
    for repeat in graph.decode.layers:
        shared = tuple(layer for layer in repeat.layers if policy.share_adjacent_layers and _shares(layer))
        own = tuple(layer for layer in repeat.layers if layer not in shared)
        for indices, sharing in ((own, False), (shared, True)):
            if indices:
                layers.append(_decode_body(repeat, indices, graph, policy, keep, sharing=sharing))
    return msgspec.structs.replace(graph.decode, layers=tuple(layers))


def _shares(layer: int) -> bool:
    return layer >= FIRST_SHARING_LAYER and layer % 2 == 1


def _decode_body(
    repeat: Repeat,
    layers: tuple[int, ...],
    graph: ModelGraph,
    policy: KvCacheEvictionPolicy,
    keep: int,
    *,
    sharing: bool,
) -> Repeat:
    by_name = {op.name: op for op in repeat.ops}
    scores, keys, values = by_name["attention_scores"], by_name["key_append"], by_name["value_append"]
    total, prompt = keys.shape[2], graph.workload.max_input_tokens
    sizes = _Sizes(
        graph.workload.batch,
        scores.shape[1],
        keys.shape[1],
        keys.shape[3],
        total,
        prompt,
        keep,
        keep + total - prompt,
    )
    chosen = _chosen_length(sizes, policy)
    carry = Op("static_selection_state", "shared_indices", ("state.cache_indices",), (sizes.batch, keep), {},
               {"mode": "carry"})  # fmt: skip
    selection = [carry, *(_shared(sizes, chosen) if sharing else _hierarchy(sizes, policy, scores.inputs[0]))]
    selection += _gathers(sizes, chosen, values.shape[3])
    ops: list[Op] = []
    for op in repeat.ops:
        if op.name == "attention_scores":
            ops.extend(selection)
        ops.append(_rewire(op, chosen))
    return msgspec.structs.replace(
        repeat,
        layers=layers,
        ops=tuple(ops),
        carried={**repeat.carried, **({} if sharing else {"selection": "selected_positions"})},
        writes={**repeat.writes, "cache_indices": "static_selection_state"},
    )


def _levels(sizes: _Sizes, policy: KvCacheEvictionPolicy) -> list[tuple[int, int, int, int]]:
    """For each level: cluster size, clusters, clusters taken, positions taken."""
    numerator, denominator = policy.dynamic_keep
    left = sizes.candidates
    levels: list[tuple[int, int, int, int]] = []
    for index, size in enumerate(policy.cluster_sizes):
        count = ceil(left / size)
        if index == len(policy.cluster_sizes) - 1:
            taken = min(-(-sizes.candidates * numerator // (denominator * size)), count)
        else:
            taken = ceil(count / 2) if 2 * numerator < denominator else count
        left = min(taken * size, left)
        levels.append((size, count, taken, left))
    return levels


def _chosen_length(sizes: _Sizes, policy: KvCacheEvictionPolicy) -> int:
    return _levels(sizes, policy)[-1][3]


def _shared(sizes: _Sizes, chosen: int) -> list[Op]:
    shape = (sizes.batch, sizes.heads, 1, chosen)
    return [Op("selected_positions", "shared_indices", ("selection",), shape, {}, {"mode": "cross_layer"})]


def _hierarchy(sizes: _Sizes, policy: KvCacheEvictionPolicy, query: str) -> list[Op]:
    """Bounds of each cluster's keys, their likeness to the query, the best clusters and their positions, by
    level."""
    per_query = (sizes.batch, sizes.heads, 1)
    active = Op(
        "active_indices",
        "cache_active_indices",
        ("static_selection_state", "positions", "lengths"),
        (sizes.batch, sizes.candidates),
        {},
        {"static_keep": sizes.keep, "prompt": sizes.prompt},
    )
    ops, keys, positions = [active], "key_append", "active_indices"
    levels = _levels(sizes, policy)
    for level, (size, count, taken, left) in enumerate(levels):
        prefix = f"hierarchy_{level}"
        last = level == len(levels) - 1
        owners: Shape = (sizes.batch, sizes.kv_heads) if level == 0 else per_query
        groups = sizes.heads // sizes.kv_heads if level == 0 else 1
        bounds, likeness, best = f"{prefix}_bounds", f"{prefix}_similarity", f"{prefix}_selection"
        of = (keys, "active_indices") if level == 0 else (keys,)
        ops.append(
            Op(bounds, "cluster_bounds", of, (*owners, count, sizes.head_dim, 2), {}, {"cluster_size": size})
        )
        ops.append(
            Op(likeness, "cluster_similarity", (query, bounds), (*per_query, count), {},
               {"alpha": _text(policy.alpha), "groups": groups})
        )  # fmt: skip
        ops.append(
            Op(best, "secure_top_k", (likeness,), (*per_query, taken), {}, {"k": taken, "order": "ascending"})
        )
        found = "selected_positions" if last else f"{prefix}_positions"
        ops.append(
            Op(
                found,
                "secure_gather",
                (positions, best),
                (*per_query, left),
                {},
                {"unit": size, "of": "positions"},
            )
        )
        if not last:
            keys, positions = f"{prefix}_keys", found
            ops.append(
                Op(
                    keys,
                    "secure_gather",
                    ("key_append", found),
                    (*per_query, left, sizes.head_dim),
                    {},
                    {"unit": 1, "of": "candidates"},
                )
            )
    return ops


def _gathers(sizes: _Sizes, chosen: int, value_dim: int) -> list[Op]:
    """Keys and values at the chosen positions, for each query head of its own."""
    shape = (sizes.batch, sizes.heads, 1, chosen)
    rows = {"unit": 1, "of": "rows"}
    keys, values = ("key_append", "selected_positions"), ("value_append", "selected_positions")
    return [
        Op("dynamic_key_gather", "secure_gather", keys, (*shape, sizes.head_dim), {}, rows),
        Op("dynamic_value_gather", "secure_gather", values, (*shape, value_dim), {}, rows),
    ]


_REWIRED = {"key_append": "dynamic_key_gather", "value_append": "dynamic_value_gather"}
_PER_CHOICE = (
    "attention_scores",
    "attention_scale",
    "attention_softcap",
    "attention_bias",
    "causal_mask",
    "softmax",
)


def _rewire(op: Op, chosen: int) -> Op:
    """Scores and values over the chosen positions; the mask learns which positions those are."""
    if op.name in ("attention_scores", "attention_values"):
        op = msgspec.structs.replace(
            op,
            inputs=tuple(_REWIRED.get(name, name) for name in op.inputs),
            attributes={**op.attributes, "groups": 1},
        )
    if op.name == "causal_mask":
        op = msgspec.structs.replace(op, inputs=(*op.inputs, "selected_positions"))
    if op.name in _PER_CHOICE:
        op = msgspec.structs.replace(op, shape=(*op.shape[:-1], chosen))
    return op
