"""Which cached positions one layer reads in a decode step: clusters, from coarse to fine.

In: the policy and the tensors of one layer. Out: the operations that choose and gather, and how many
positions they choose. Sizes follow the SDK: each level keeps some of its clusters, the last keeps
`dynamic_keep` of the candidates.
"""

from __future__ import annotations

import msgspec

from pllm_lang.interchange.decoder.fields import U64
from pllm_lang.interchange.decoder.plan import LENGTHS, POSITIONS, Operation, operation

GLOBAL = "global_token_positions"


class Ratio(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fraction, not reduced: the digest tells 1/2 from 2/4."""

    numerator: U64
    denominator: U64


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to keep: `static_keep` of the prompt, of that `dynamic_keep` in each step."""

    observation_window: Ratio
    static_keep: Ratio
    dynamic_keep: Ratio
    alpha: Ratio
    cluster_sizes: tuple[U64, ...]
    share_adjacent_layers: bool


class Target(msgspec.Struct, frozen=True):
    """One layer: its tensors by id, its sizes, and how many positions are kept and can be chosen from."""

    prefix: str
    layer: int
    query: str
    keys: str
    values: str
    batch: int
    heads: int
    kv_heads: int
    queries: int
    head_dim: int
    keep: int
    prompt: int
    candidates: int


def choose_positions(
    policy: Policy, t: Target, shared_with: str | None, shared_width: int
) -> tuple[list[Operation], int]:
    """Operations that give `<prefix>selected_positions` and gather keys and values there, and how many
    there are.

    `shared_with` is the prefix of the layer whose `shared_width` positions are taken over.
    """
    carried = operation(
        t.prefix + "static_selection_state",
        "shared_indices",
        (f"state.layer.{t.layer}.cache_indices",),
        (t.batch, t.keep),
        "cache_indices",
        index_domain=GLOBAL,
        keep=t.keep,
        mode="carry",
    )
    if shared_with is None:
        chosen, width = _hierarchy(policy, t)
    else:
        width = shared_width
        shape = (t.batch, t.heads, t.queries, width)
        source = (shared_with + "selected_positions",)
        chosen = [
            operation(
                t.prefix + "selected_positions",
                "shared_indices",
                source,
                shape,
                index_domain=GLOBAL,
                mode="cross_layer",
            )
        ]
    return [carried, *chosen, *_gather(t, width)], width


def _hierarchy(policy: Policy, t: Target) -> tuple[list[Operation], int]:
    found = [
        operation(
            t.prefix + "active_indices",
            "cache_active_indices",
            (t.prefix + "static_selection_state", POSITIONS, LENGTHS),
            (t.batch, t.candidates),
            static_keep=t.keep,
            prefill_maximum_sequence=t.prompt,
            candidate_bound=t.candidates,
            semantics="static_plus_generated_global_positions",
        )
    ]
    keys, positions, count = t.keys, found[0].id, t.candidates
    for level, size in enumerate(policy.cluster_sizes):
        is_last = level == len(policy.cluster_sizes) - 1
        added, count = _level(policy, t, level, size, keys, positions, count)
        found += added
        at = t.prefix + ("" if is_last else f"hierarchy.{level}.")
        positions, keys = at + "selected_positions", at + "candidate_key_gather"
        if not is_last:
            found.append(
                operation(
                    keys,
                    "secure_gather",
                    (t.keys, positions),
                    (t.batch, t.heads, t.queries, count, t.head_dim),
                    index_axis=2,
                    index_unit_size=1,
                    output_semantics="key_candidates_at_global_positions",
                )
            )
    return found, count


def _level(
    policy: Policy, t: Target, level: int, size: int, keys: str, positions: str, count: int
) -> tuple[list[Operation], int]:
    """Bound each cluster of `size` positions, rank the clusters by similarity to the query, keep the best."""
    clusters = -(-count // size)
    is_last = level == len(policy.cluster_sizes) - 1
    kept = _kept_clusters(policy, t.candidates, clusters, size, is_last=is_last)
    chosen = min(kept * size, count)
    at, rows = f"{t.prefix}hierarchy.{level}.", (t.batch, t.heads, t.queries)
    owners = rows if level else (t.batch, t.kv_heads)
    return [
        operation(
            at + "cluster_bounds",
            "cluster_bounds",
            (keys,),
            (*owners, clusters, t.head_dim, 2),
            level=level,
            cluster_size=size,
        ),
        operation(
            at + "cluster_similarity",
            "cluster_similarity",
            (t.query, at + "cluster_bounds"),
            (*rows, clusters),
            alpha=policy.alpha,
            level=level,
            group_size=1 if level else t.heads // t.kv_heads,
        ),
        operation(
            at + "selection",
            "secure_top_k",
            (at + "cluster_similarity",),
            (*rows, kept),
            keep=kept,
            index_domain="cluster_indices",
            output_order="ascending",
        ),
        operation(
            (t.prefix if is_last else at) + "selected_positions",
            "secure_gather",
            (positions, at + "selection"),
            (*rows, chosen),
            index_axis=3 if level else 1,
            index_unit_size=size,
            output_semantics=GLOBAL,
        ),
    ], chosen


def _kept_clusters(policy: Policy, candidates: int, clusters: int, size: int, *, is_last: bool) -> int:
    numerator, denominator = policy.dynamic_keep.numerator, policy.dynamic_keep.denominator
    if is_last:
        return min(-(-candidates * numerator // (denominator * size)), clusters)
    return -(-clusters // 2) if 2 * numerator < denominator else clusters


def _gather(t: Target, width: int) -> list[Operation]:
    return [
        operation(
            f"{t.prefix}dynamic_{kind}_gather",
            "secure_gather",
            (source, t.prefix + "selected_positions"),
            (t.batch, t.heads, t.queries, width, t.head_dim),
            kind,
            group_size=t.heads // t.kv_heads,
            index_axis=2,
            index_unit_size=1,
            output_semantics="per_query_head_cache_window",
        )
        for kind, source in (("key", t.keys), ("value", t.values))
    ]
