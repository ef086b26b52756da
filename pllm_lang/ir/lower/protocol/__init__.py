"""From the narration of a component to `ir.protocol`: names, types, holdings and expressions resolved."""

from pllm_lang.ir.lower.protocol.protocol import LoweredProtocol, lower_protocol
from pllm_lang.ir.lower.protocol.setting import Setting

__all__ = ["LoweredProtocol", "Setting", "lower_protocol"]
