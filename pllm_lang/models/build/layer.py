"""One layer: mixer and block with their norms and residual sums."""

from __future__ import annotations

from typing import assert_never

from pllm_lang.models.build.attention import build_attention
from pllm_lang.models.build.blocks import build_dense_and_experts, build_experts, build_mlp
from pllm_lang.models.build.body import Body
from pllm_lang.models.build.latent import build_latent_attention
from pllm_lang.models.build.recurrent import build_delta_net, build_mamba, build_short_convolution
from pllm_lang.models.decoder import (
    Attention,
    Block,
    DeltaNet,
    DenseAndExperts,
    Experts,
    LatentAttention,
    Layer,
    Mamba,
    Mixer,
    Mlp,
    ShortConvolution,
)


def build_layer(body: Body, layer: Layer) -> None:
    """Adds the layer's ops to `body`; its result becomes the next `hidden`."""
    result = "hidden"
    mixer_input = "hidden"
    if layer.mixer is not None:
        mixer_input = body.norm("input_norm", "mixer_before", layer.mixer_before, "hidden")
        mixed = _mix(body, layer.mixer, mixer_input)
        mixed = body.norm("mixer_after", "mixer_after", layer.mixer_after, mixed)
        mixed = body.scale("mixer_scale", layer.residual_scale, mixed)
        result = body.binary("mixer_residual", "add", "hidden", mixed)
    if layer.block is not None:
        entering = "hidden" if layer.parallel else result
        if layer.parallel and layer.block_before is None:
            normed = mixer_input
        else:
            normed = body.norm("block_norm", "block_before", layer.block_before, entering)
        done = _block(body, layer.block, normed, entering)
        done = body.norm("block_after", "block_after", layer.block_after, done)
        done = body.scale("block_scale", layer.residual_scale, done)
        result = body.binary("block_residual", "add", result, done)
    if layer.learned_scale:
        weights = {"weight": body.weight(body.path("layer_scale"), (1,))}
        result = body.op("layer_scale", "learned_scale", (result,), body.shape(result), weights)
    body.carried["hidden"] = result


def _mix(body: Body, mixer: Mixer, source: str) -> str:
    match mixer:
        case Attention():
            return build_attention(body, mixer, source)
        case LatentAttention():
            return build_latent_attention(body, mixer, source)
        case DeltaNet():
            return build_delta_net(body, mixer, source)
        case Mamba():
            return build_mamba(body, mixer, source)
        case ShortConvolution():
            return build_short_convolution(body, mixer, source)
        case _:
            assert_never(mixer)


def _block(body: Body, block: Block, source: str, unnormed: str) -> str:
    match block:
        case Mlp():
            return build_mlp(body, block, source)
        case Experts():
            return build_experts(body, block, source)
        case DenseAndExperts():
            return build_dense_and_experts(body, block, source, unnormed)
        case _:
            assert_never(block)
