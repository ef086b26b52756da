"""How a checkpoint stores its weights: `quantization_config`, reduced to what identifies the format."""

from __future__ import annotations

from pllm_lang.models.config_reader import ConfigReader, missing, unsupported

METHODS = (
    "awq", "auto-round", "bitnet", "bitsandbytes", "compressed-tensors", "fbgemm_fp8", "fp8", "gptq",
    "modelopt", "mxfp4",
    "quark",
)  # fmt: skip

_TEXT_KEYS = ("quant_algo", "fmt", "format", "activation_scheme", "quantization_status", "linear_class")


def read_quantization(config: ConfigReader) -> dict[str, str]:
    """The method and its format words; empty for a checkpoint that is not quantised. An unknown method is
    refused."""
    section = config.section("quantization_config")
    if section is None:
        return {}
    method = section.optional_text("quant_method")
    producer = section.section("producer")
    if method is None and producer is not None:
        method = producer.optional_text("name")
    if method is None:
        raise missing(section.dotted("quant_method"))
    if method not in METHODS:
        raise unsupported(section.dotted("quant_method"), method, METHODS)
    found = {"method": method}
    for key in _TEXT_KEYS:
        value = section.optional_text(key)
        if value is not None:
            found[key] = value
    bits = section.optional_size("bits", "w_bit", most=64)
    if bits is not None:
        found["bits"] = str(bits)
    return found
