"""Feed-forward blocks: dense, mixture of experts, and Gemma 4's both side by side."""

from __future__ import annotations

from pllm_lang.models.build.body import Body
from pllm_lang.models.decoder import DenseAndExperts, Experts, Mlp, Router, Scale
from pllm_lang.models.graph import Attribute


def build_mlp(body: Body, spec: Mlp, source: str, prefix: str = "") -> str:
    """A dense block; `prefix` names the roles and ops of a second one (`shared_`)."""
    hidden = body.shape(source)[-1]
    if spec.fused:
        both = body.linear(
            f"{prefix}gate_up_proj", f"{prefix}gate_up", source, 2 * spec.inner, bias=spec.bias
        )
        gate = body.slice(f"{prefix}gate", both, 0, spec.inner)
        up = body.slice(f"{prefix}up", both, spec.inner, 2 * spec.inner)
    else:
        gate = ""
        if spec.gated:
            gate = body.linear(f"{prefix}gate_proj", f"{prefix}gate", source, spec.inner, bias=spec.bias)
        up = body.linear(
            f"{prefix}up_proj", f"{prefix}up", source, spec.inner, bias=spec.bias, stored=spec.stored
        )
    if spec.gated:
        active = body.activation(f"{prefix}activation", spec.activation, gate)
        inner = body.binary(f"{prefix}gated", "mul", active, up)
    else:
        inner = body.activation(f"{prefix}activation", spec.activation, up)
    inner = body.norm(f"{prefix}inner_norm", "inner_norm", spec.inner_norm, inner)
    return body.linear(
        f"{prefix}down_proj", f"{prefix}down", inner, hidden, bias=spec.bias, stored=spec.stored
    )


def build_experts(body: Body, spec: Experts, source: str, routed_by: str = "") -> str:
    """A mixture of experts over `source`; the router reads `routed_by` where that is another value."""
    hidden = body.shape(source)[-1]
    mix, chosen = _route(body, spec, routed_by or source)
    entering = source
    if spec.latent:
        entering = body.linear("latent_in", "latent_in", source, spec.latent, bias=spec.latent_bias)
    result = _run_experts(body, spec, entering, mix, chosen)
    if spec.latent:
        result = body.linear("latent_out", "latent_out", result, hidden, bias=spec.latent_bias)
    if spec.shared is None:
        return result
    shared = build_mlp(body, spec.shared, source, "shared_")
    if spec.shared_gate:
        opening = body.linear("shared_mix", "shared_mix", source, 1)
        opening = body.op("shared_mix_sigmoid", "sigmoid", (opening,), body.shape(opening))
        shared = body.binary("shared_opened", "mul", shared, opening)
    return body.binary("experts_and_shared", "add", result, shared)


def _route(body: Body, spec: Experts, source: str) -> tuple[str, str]:
    """The weights `[B, Q, k]` and indices `[B, Q, k]` of the experts chosen for each position."""
    router = spec.router
    source = _router_input(body, router, source)
    logits = body.linear("router", "router", source, spec.count, bias=router.bias)
    shape = (*body.shape(logits)[:2], router.top_k)
    if router.score == "sparsemixer":
        chosen = body.op("expert_choice", "top_k", (logits,), shape, k=router.top_k)
        return body.op("expert_mix", "sparse_mixer", (logits, chosen), shape, jitter=router.jitter), chosen
    scores = (
        logits
        if router.late
        else body.op("router_scores", router.score, (logits,), body.shape(logits), axis=-1)
    )
    chosen = _choose(body, spec, scores, shape)
    mix = body.op("chosen_scores", "gather", (scores, chosen), shape)
    if router.late:
        mix = body.op("late_scores", router.score, (mix,), shape, axis=-1)
    if router.normalize:
        extra: dict[str, Attribute] = {"eps": router.normalize_epsilon} if router.normalize_epsilon else {}
        mix = body.op("normalized_scores", "normalize_sum", (mix,), shape, given=extra)
    mix = body.scale("scaled_scores", Scale(router.scale), mix)
    if router.expert_scale:
        weights = {"weight": body.weight(body.path("expert_scale"), (spec.count,))}
        mix = body.op("expert_scale", "expert_scale", (mix, chosen), shape, weights)
    return mix, chosen


def _router_input(body: Body, router: Router, source: str) -> str:
    if router.input_norm is None:
        return source
    normed = body.norm("router_norm", "router", router.input_norm, source)
    shape = body.shape(source)
    weights = {"weight": body.weight(body.path("router_scale"), (shape[-1],))}
    learned = body.op("router_feature_scale", "feature_scale", (normed,), shape, weights)
    return body.scale("router_input", Scale(root=str(shape[-1])), learned)


def _choose(body: Body, spec: Experts, scores: str, shape: tuple[int, ...]) -> str:
    router = spec.router
    weights = (
        {"correction": body.weight(body.path("correction"), (spec.count,))} if router.correction else None
    )
    attributes: dict[str, Attribute] = {"k": router.top_k}
    if router.groups > 1:
        attributes |= {
            "groups": router.groups,
            "top_groups": router.top_groups,
            "group_score": router.group_score,
        }
    return body.op("expert_choice", "top_k", (scores,), shape, weights, given=attributes)


def _run_experts(body: Body, spec: Experts, source: str, mix: str, chosen: str) -> str:
    width = body.shape(source)[-1]
    entering = source
    if spec.scale_input:
        entering = body.op("expert_input", "expert_mul", (source, mix), (*body.shape(mix), width))
    up = _expert_linear(body, spec, "expert_up", entering, chosen, spec.inner)
    if spec.gated:
        gate = _expert_linear(body, spec, "expert_gate", entering, chosen, spec.inner)
        inner = _expert_gate(body, spec, gate, up)
    else:
        inner = body.activation("expert_activation", spec.activation, up)
    result = _expert_linear(body, spec, "expert_down", inner, chosen, width)
    inputs = (result,) if spec.scale_input else (result, mix)
    return body.op("expert_sum", "expert_sum", inputs, body.shape(source))


def _expert_gate(body: Body, spec: Experts, gate: str, up: str) -> str:
    if not spec.clamp:
        return body.binary(
            "expert_gated", "mul", body.activation("expert_activation", spec.activation, gate), up
        )
    return body.op(
        "expert_gated", "clamped_swiglu", (gate, up), body.shape(up), limit=spec.clamp, slope=spec.activation
    )


def _expert_linear(body: Body, spec: Experts, role: str, source: str, chosen: str, width: int) -> str:
    """Each chosen expert's linear layer: `[B, Q, n]` or `[B, Q, k, n]` to `[B, Q, k, width]`."""
    module = body.path(role)
    entering = body.shape(source)[-1]
    weights = {"weight": body.weight(f"{module}.weight", (width, entering), spec.count)}
    if spec.bias:
        weights["bias"] = body.weight(f"{module}.bias", (width,), spec.count)
    shape = (*body.shape(chosen), width)
    return body.op(role, "expert_linear", (source, chosen), shape, weights)


def build_dense_and_experts(body: Body, spec: DenseAndExperts, source: str, unnormed: str) -> str:
    """`after_1(dense(source)) + after_2(experts(before_2(unnormed)))`; the router reads `unnormed`."""
    dense = build_mlp(body, spec.dense, source)
    dense = body.norm("dense_after", "dense_after", spec.norm, dense)
    entering = body.norm("experts_before", "experts_before", spec.norm, unnormed)
    experts = build_experts(body, spec.experts, entering, unnormed)
    experts = body.norm("experts_after", "experts_after", spec.norm, experts)
    return body.binary("dense_and_experts", "add", dense, experts)
