"""The `KvCacheEviction` pass on `pllm.decoder_plan.v1` plans: importance-based selection of cached
positions.

In: a dense Qwen plan and the component that describes the policy. Out: the transformed plan with its
lineage, the same bytes as the SDK's. Method: MPCache, arXiv 2501.06807 (a static choice after prefill, a
hierarchical choice per step, shared between adjacent layers), as the SDK adapts it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import msgspec

from pllm_lang.interchange.canonical import digest
from pllm_lang.interchange.decoder.fields import U64
from pllm_lang.interchange.decoder.hierarchy import Policy, Target, choose_positions
from pllm_lang.interchange.decoder.plan import (
    LENGTHS,
    DecoderDocument,
    DecoderPlan,
    Graph,
    Operation,
    State,
    Transformation,
    operation,
    seal,
)
from pllm_lang.interchange.errors import DocumentError, PassError
from pllm_lang.interchange.reading import as_object, read_json

COMPONENT = "pllm/kv-cache-eviction"
IMPLEMENTATION = "pllm/importance-kv-cache-eviction/v1"
METHOD_ID = "R23"
POLICY_DOMAIN = "pllm.pass.kv_cache_eviction.policy.v1"
DENSE_FAMILIES = frozenset({"qwen2", "qwen3"})
FIRST_SHARING_LAYER = 3
RATIOS = ("observation_window", "static_keep", "dynamic_keep", "alpha")
NARROWED = frozenset({"attention_scores", "attention_scale", "causal_mask", "softmax"})


def evict_kv_cache(plan: DecoderPlan, component: Mapping[str, Any] | bytes | str) -> DecoderPlan:
    """Apply the pass that `component` (`{"component", "params"}`) describes to `plan`.

    Errors: `PassError` with code `pass.component`, `pass.policy` or `pass.plan`; the key is its subject.
    """
    policy = read_policy(component)
    source = plan.document
    if source.model_family not in DENSE_FAMILIES:
        why = "needs a dense plan with caches of fixed capacity (qwen2, qwen3)"
        raise PassError("pass.plan", why, source.model_family)
    if source.transformations:
        raise PassError("pass.plan", "is already applied", COMPONENT)
    prompt, total = source.prefill.maximum_key_sequence, source.decode.maximum_key_sequence
    keep = _ceil(prompt * policy.static_keep.numerator, policy.static_keep.denominator)
    settings = msgspec.to_builtins(policy)
    lineage = Transformation(
        COMPONENT, IMPLEMENTATION, METHOD_ID, plan.digest, digest(POLICY_DOMAIN, settings)
    )
    return seal(
        DecoderDocument(
            model_family=source.model_family,
            adapter=source.adapter,
            config_digest=source.config_digest,
            prefill=_prefill(source.prefill, policy, keep),
            decode=_decode(source.decode, policy, keep, prompt, keep + total - prompt),
            transformations=(lineage,),
        )
    )


def read_policy(component: Mapping[str, Any] | bytes | str) -> Policy:
    """The checked policy of a component; errors: `PassError` `pass.component` or `pass.policy`."""
    value = as_object(_component_value(component)) or {}
    name = value.get("component")
    if not isinstance(name, str):
        raise PassError("pass.component", "a pass is an object with `component` and `params`")
    params = as_object(value.get("params"))
    if params is None:
        raise PassError("pass.component", "params must be an object", name)
    if name != COMPONENT:
        raise PassError("pass.component", f"{name!r} is no pass on decoder plans", name)
    settings = dict(params)
    implementation = settings.pop("implementation", None)
    if not isinstance(implementation, str):
        raise PassError("pass.component", "implementation must be a string", "implementation")
    if implementation != IMPLEMENTATION:
        raise PassError("pass.component", f"unknown implementation {implementation!r}", "implementation")
    try:
        policy = msgspec.convert(settings, Policy)
    except msgspec.ValidationError as fault:
        raise PassError("pass.policy", str(fault)) from None
    _check_policy(policy)
    return policy


def _component_value(component: Mapping[str, Any] | bytes | str) -> Any:
    if isinstance(component, Mapping):
        return component
    try:
        return read_json(component).value
    except DocumentError as fault:
        raise PassError("pass.component", f"{fault.code}: {fault.message}") from None


def _check_policy(policy: Policy) -> None:
    for name in RATIOS:
        ratio = getattr(policy, name)
        if not 0 < ratio.numerator <= ratio.denominator:
            raise PassError("pass.policy", "must be above 0 and at most 1", name)
    sizes = policy.cluster_sizes
    if not sizes or not all(sizes):
        raise PassError("pass.policy", "must hold at least one size, none of them zero", "cluster_sizes")
    if any(big <= small or big % small for big, small in pairwise(sizes)):
        raise PassError(
            "pass.policy", "each size must be a smaller divisor of the one before", "cluster_sizes"
        )


def _prefill(graph: Graph, policy: Policy, keep: int) -> Graph:
    """After each softmax, score the positions of the prompt and choose `keep` of them."""
    operations: list[Operation] = []
    chosen: list[State] = []
    for found in graph.operations:
        operations.append(found)
        if found.operator != "softmax" or found.layer is None:
            continue
        n = _prefix(found.layer)
        operations += [
            operation(
                n + "static_importance",
                "attention_importance",
                (found.id, LENGTHS),
                (graph.batch, graph.maximum_key_sequence),
                observation_window=policy.observation_window,
                reduction="mean_heads_sum_last_queries",
                valid_lengths_input=LENGTHS,
                policy=policy,
            ),
            operation(
                n + "static_selection",
                "secure_top_k",
                (n + "static_importance",),
                (graph.batch, keep),
                "cache_indices",
                keep=keep,
                keep_ratio=policy.static_keep,
                index_domain="global_token_positions",
                output_order="ascending",
                padding="masked_sentinel",
            ),
        ]
        chosen.append(_indices(n + "static_selection", found.layer, graph.batch, keep))
    return msgspec.structs.replace(
        graph, operations=tuple(operations), state_outputs=(*graph.state_outputs, *chosen)
    )


def _decode(graph: Graph, policy: Policy, keep: int, prompt: int, candidates: int) -> Graph:
    """Before each layer's attention, choose the positions that it reads; narrow the attention to them."""
    operations: list[Operation] = []
    carried_in: list[State] = []
    carried_out: list[State] = []
    width = 0
    for found in graph.operations:
        layer = found.layer
        if found.operator == "attention_scores" and layer is not None:
            n = _prefix(layer)
            carried_in.append(_indices(f"state.layer.{layer}.cache_indices", layer, graph.batch, keep))
            carried_out.append(_indices(n + "static_selection_state", layer, graph.batch, keep))
            target = _target(graph, found, n, layer, keep, prompt, candidates)
            shared = policy.share_adjacent_layers and layer >= FIRST_SHARING_LAYER and layer % 2 == 1
            chosen, width = choose_positions(policy, target, _prefix(layer - 1) if shared else None, width)
            operations += chosen
        operations.append(_narrowed(found, _prefix(layer), width) if layer is not None and width else found)
    return msgspec.structs.replace(
        graph,
        operations=tuple(operations),
        state_inputs=(*graph.state_inputs, *carried_in),
        state_outputs=(*graph.state_outputs, *carried_out),
    )


def _target(
    graph: Graph, scores: Operation, prefix: str, layer: int, keep: int, prompt: int, candidates: int
) -> Target:
    shapes = {found.id: found.output_shape for found in graph.operations if found.layer == layer}
    query, keys = scores.inputs
    values = keys.replace("key_view", "value_view")
    return Target(
        prefix=prefix,
        layer=layer,
        query=query,
        keys=keys,
        values=values,
        batch=graph.batch,
        heads=shapes[query][1],
        kv_heads=shapes[keys][1],
        queries=graph.query_sequence,
        head_dim=shapes[keys][3],
        keep=keep,
        prompt=prompt,
        candidates=candidates,
    )


def _narrowed(found: Operation, prefix: str, width: int) -> Operation:
    """An operation of the attention core, reading the chosen positions only."""
    replace = msgspec.structs.replace
    if found.operator == "attention_scores":
        found = replace(found, inputs=(found.inputs[0], prefix + "dynamic_key_gather"))
    if found.operator == "attention_values":
        return replace(found, inputs=(found.inputs[0], prefix + "dynamic_value_gather"))
    if found.operator == "causal_mask":
        chosen = prefix + "selected_positions"
        semantics = {"cache_positions_input": chosen, "selection_semantics": "global_token_positions"}
        found = replace(found, inputs=(*found.inputs, chosen), attributes={**found.attributes, **semantics})
    if found.operator in NARROWED:
        return replace(found, output_shape=(*found.output_shape[:-1], width))
    return found


def _indices(id: str, layer: int, batch: int, keep: int) -> State:
    return State(id, layer, "cache_indices", (batch, keep), keep)


def _prefix(layer: int) -> str:
    return f"method.kv_cache_eviction.layer.{layer}."


def _ceil(numerator: U64, denominator: U64) -> int:
    return -(-numerator // denominator)
