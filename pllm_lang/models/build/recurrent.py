"""Mixers without softmax: gated delta rule, Mamba 2 and the short convolution.

Each reads a window of the last positions through a causal convolution. A recurrent state is updated position
by position: the scan's result holds the state after each position, `[B, H, Q, ...]`, of which the last one is
kept.
"""

from __future__ import annotations

from pllm_lang.models.build.body import Body, norm_attributes
from pllm_lang.models.decoder import DeltaNet, Mamba, Norm, Scale, ShortConvolution
from pllm_lang.models.graph import Shape, State

L2_EPSILON = "0.000001"


def build_delta_net(body: Body, spec: DeltaNet, source: str) -> str:
    """Gated delta rule (Yang and others, arXiv 2412.06464): `S = exp(g) S + beta k (v - exp(g) S k)`, read by
    q."""
    hidden = body.shape(source)[-1]
    prefix = body.path("linear")
    key_width, value_width = spec.key_heads * spec.key_dim, spec.value_heads * spec.value_dim
    mixed, z, beta, step = _delta_inputs(body, spec, source)
    mixed = _convolve(body, mixed, spec.kernel, f"{prefix}.conv1d", bias=False)
    mixed = body.activation("conv_act", "silu", mixed)
    query = _unit(body, "q", spec, body.slice("query", mixed, 0, key_width))
    key = _unit(body, "k", spec, body.slice("key", mixed, key_width, 2 * key_width))
    value = body.slice("value", mixed, 2 * key_width, 2 * key_width + value_width)
    value = body.split_heads("v_heads", value, spec.value_heads)
    query = body.scale("query_scale", Scale(root=str(spec.key_dim)), query)
    weights = {
        "rate": body.weight(f"{prefix}.A_log", (spec.value_heads,)),
        "bias": body.weight(f"{prefix}.dt_bias", (spec.value_heads,)),
    }
    decay = body.op("decay", "decay", (step,), body.shape(step), weights)
    beta = body.op("beta_sigmoid", "sigmoid", (beta,), body.shape(beta))
    state: Shape = (spec.value_heads, spec.key_dim, spec.value_dim)
    groups = spec.value_heads // spec.key_heads
    states = _scan(body, "gated_delta_scan", (key, value, decay, beta), state, groups)
    read = body.op(
        "state_read", "state_read", (states, query), body.shape(value), groups=groups, along="rows"
    )
    normed = _group_norm(body, f"{prefix}.norm", spec.norm, read, 1)
    gate = body.activation("z_act", "silu", body.split_heads("z_heads", z, spec.value_heads))
    gated = body.binary("mixer_gated", "mul", normed, gate)
    return _project(body, "out_proj", f"{prefix}.out_proj", body.merge_heads("merged", gated), hidden)


def _delta_inputs(body: Body, spec: DeltaNet, source: str) -> tuple[str, str, str, str]:
    prefix = body.path("linear")
    key_width, value_width = spec.key_heads * spec.key_dim, spec.value_heads * spec.value_dim
    if not spec.fused:
        return (
            _project(body, "qkv_proj", f"{prefix}.in_proj_qkv", source, 2 * key_width + value_width),
            _project(body, "z_proj", f"{prefix}.in_proj_z", source, value_width),
            _project(body, "b_proj", f"{prefix}.in_proj_b", source, spec.value_heads),
            _project(body, "a_proj", f"{prefix}.in_proj_a", source, spec.value_heads),
        )
    each = spec.value_heads // spec.key_heads
    qkvz = _project(body, "qkvz_proj", f"{prefix}.in_proj_qkvz", source, 2 * key_width + 2 * value_width)
    ba = _project(body, "ba_proj", f"{prefix}.in_proj_ba", source, 2 * spec.value_heads)
    heads = body.split_heads("qkvz_heads", qkvz, spec.key_heads)
    d, v = spec.key_dim, each * spec.value_dim
    parts = [("q_part", 0, d), ("k_part", d, 2 * d), ("v_part", 2 * d, 2 * d + v)]
    flat = [body.merge_heads(f"{n}_flat", body.slice(n, heads, low, high)) for n, low, high in parts]
    shape = (*body.shape(source)[:2], 2 * key_width + value_width)
    mixed = body.op("qkv", "concat", tuple(flat), shape)
    z = body.merge_heads("z_flat", body.slice("z_part", heads, 2 * d + v, 2 * d + 2 * v))
    pairs = body.split_heads("ba_heads", ba, spec.key_heads)
    beta = body.merge_heads("b_flat", body.slice("b_part", pairs, 0, each))
    return mixed, z, beta, body.merge_heads("a_flat", body.slice("a_part", pairs, each, 2 * each))


def _unit(body: Body, name: str, spec: DeltaNet, source: str) -> str:
    heads = body.split_heads(f"{name}_heads", source, spec.key_heads)
    return body.op(f"{name}_unit", "l2_norm", (heads,), body.shape(heads), eps=L2_EPSILON)


def build_mamba(body: Body, spec: Mamba, source: str) -> str:
    """Mamba 2 (Dao and Gu, arXiv 2405.21060): `S = exp(step * rate) S + step x B^T`, read by C, plus `D
    x`."""
    hidden = body.shape(source)[-1]
    prefix = body.path("mamba")
    inner, shared = spec.heads * spec.head_dim, spec.groups * spec.state
    width = 2 * inner + 2 * shared + spec.heads
    low = _project(body, "in_proj", f"{prefix}.in_proj", source, width, bias=spec.bias)
    gate = body.slice("gate", low, 0, inner)
    mixed = body.slice("mixed", low, inner, 2 * inner + 2 * shared)
    step = body.slice("step_raw", low, 2 * inner + 2 * shared, width)
    mixed = _convolve(body, mixed, spec.kernel, f"{prefix}.conv1d", bias=spec.conv_bias)
    mixed = body.activation("conv_act", spec.activation, mixed)
    x = body.split_heads("x_heads", body.slice("x", mixed, 0, inner), spec.heads)
    b = body.split_heads("b_heads", body.slice("b", mixed, inner, inner + shared), spec.groups)
    c = body.split_heads("c_heads", body.slice("c", mixed, inner + shared, inner + 2 * shared), spec.groups)
    bias = {"bias": body.weight(f"{prefix}.dt_bias", (spec.heads,))}
    step = body.op(
        "step", "softplus_step", (step,), body.shape(step), bias, low=spec.step_low, high=spec.step_high
    )
    groups = spec.heads // spec.groups
    rate = {"rate": body.weight(f"{prefix}.A_log", (spec.heads,))}
    states = _scan(
        body, "selective_scan", (x, b, step), (spec.heads, spec.head_dim, spec.state), groups, rate
    )
    read = body.op("state_read", "state_read", (states, c), body.shape(x), groups=groups, along="columns")
    skip = {"weight": body.weight(f"{prefix}.D", (spec.heads,))}
    read = body.binary("skip_sum", "add", read, body.op("skip", "head_scale", (x,), body.shape(x), skip))
    gated = body.binary(
        "mixer_gated", "mul", body.merge_heads("merged", read), body.activation("gate_act", "silu", gate)
    )
    normed = _group_norm(body, f"{prefix}.norm", spec.norm, gated, spec.groups)
    return _project(body, "out_proj", f"{prefix}.out_proj", normed, hidden, bias=spec.bias)


def build_short_convolution(body: Body, spec: ShortConvolution, source: str) -> str:
    """The short convolution of LFM2: `out(C * conv(B * x))`."""
    hidden = body.shape(source)[-1]
    prefix = body.path("convolution")
    low = _project(body, "in_proj", f"{prefix}.in_proj", source, 3 * hidden, bias=spec.bias)
    b, c, x = (body.slice(name, low, i * hidden, (i + 1) * hidden) for i, name in enumerate("bcx"))
    mixed = _convolve(body, body.binary("bx", "mul", b, x), spec.kernel, f"{prefix}.conv", bias=spec.bias)
    gated = body.binary("mixer_gated", "mul", c, mixed)
    return _project(body, "out_proj", f"{prefix}.out_proj", gated, hidden, bias=spec.bias)


def _convolve(body: Body, source: str, kernel: int, module: str, *, bias: bool) -> str:
    """A causal convolution of each feature with its own `kernel` taps; the last `kernel - 1` inputs are
    kept."""
    batch, query, width = body.shape(source)
    kept = kernel - 1
    body.states.append(State("convolution", "convolution", body.layers, (batch, kept, width)))
    inputs = ("state.convolution", source) if body.geometry.decode else (source,)
    window = body.op("conv_window", "convolution_window", inputs, (batch, kept + query, width), kernel=kernel)
    body.writes["convolution"] = window
    weights = {"weight": body.weight(f"{module}.weight", (width, 1, kernel))}
    if bias:
        weights["bias"] = body.weight(f"{module}.bias", (width,))
    return body.op(
        "convolution", "causal_convolution", (window,), (batch, query, width), weights, kernel=kernel
    )


def _scan(
    body: Body,
    operator: str,
    inputs: tuple[str, ...],
    state: Shape,
    groups: int,
    weights: dict[str, str] | None = None,
) -> str:
    batch, query = body.geometry.batch, body.geometry.query
    body.states.append(State("recurrent", "recurrent", body.layers, (batch, *state)))
    before = ("state.recurrent",) if body.geometry.decode else ()
    shape = (batch, state[0], query, *state[1:])
    states = body.op("scan", operator, (*before, *inputs), shape, weights, groups=groups)
    body.writes["recurrent"] = body.op("scan_end", "last_position", (states,), (batch, *state))
    return states


def _group_norm(body: Body, module: str, norm: Norm, source: str, groups: int) -> str:
    shape = body.shape(source)
    weights = {"weight": body.weight(f"{module}.weight", (shape[-1],))}
    return body.op("mixer_norm", "rms_norm", (source,), shape, weights, given=norm_attributes(norm, groups))


def _project(body: Body, name: str, module: str, source: str, width: int, *, bias: bool = False) -> str:
    shape = body.shape(source)
    weights = {"weight": body.weight(f"{module}.weight", (width, shape[-1]))}
    if bias:
        weights["bias"] = body.weight(f"{module}.bias", (width,))
    return body.op(name, "linear", (source,), (*shape[:-1], width), weights)
