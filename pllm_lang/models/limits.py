"""Limits on what lowering reads and builds, in one place. A hostile config meets one of them, never a
hang."""

from __future__ import annotations

MAX_CONFIG_BYTES = 1 << 20
MAX_CONFIG_VALUES = 100_000
MAX_NESTING = 64
MAX_KEYS = 2_000
MAX_HINTS = 20
MAX_WORD = 100
MAX_MESSAGE = 1_000
MAX_DIGITS = 40
MAX_EXPONENT = 40
MAX_LAYERS = 4_096
MAX_EXPERTS = 65_536
MAX_SIZE = (1 << 31) - 1
MAX_BATCH = 65_536
MAX_TEXT_OPS = 8_000
MAX_TENSOR_ENTRIES = 1 << 50
MAX_ROTARY_PAIRS = 8_192
