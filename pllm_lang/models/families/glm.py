"""GLM-4: half of each head rotated in interleaved pairs, one weight for gate and up; `glm4` has norms after, too."""

from __future__ import annotations

from pllm_lang.models.config_reader import ConfigReader
from pllm_lang.models.decoder import Decoder, Layer, Mlp
from pllm_lang.models.families.reading import FULL, Defaults, decoder, plain_attention, read_basics, rms
from pllm_lang.models.rotary import read_rotary

MODEL_TYPES = ("glm", "glm4")
GLM = Defaults(151_552, 4096, 13_696, 40, 32, 2, 128, 131_072, epsilon="0.00000015625")


def read(config: ConfigReader) -> Decoder:
    basics = read_basics(config, GLM)
    rotary = read_rotary(config, basics.head_dim, partial="0.5", pairing="interleaved")
    attention = plain_attention(basics, rotary, bias=config.flag("attention_bias", default=True))
    norm = rms(basics)
    after = norm if config.values.get("model_type") == "glm4" else None
    layer = Layer(FULL, attention, Mlp(basics.inner, basics.activation, fused=True), norm, after, norm, after)
    return decoder(basics, (layer,) * basics.layers, norm)
