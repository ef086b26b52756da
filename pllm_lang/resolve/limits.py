"""Limits of reading and evaluating, so that a hostile file gets a finding instead of a hang."""

# Bits of an exact number that a constant may have, numerator and denominator together.
MAX_NUMBER_BITS = 8_192
# The largest exponent in a literal such as `1e-6`, by magnitude.
MAX_DECIMAL_EXPONENT = 2_000
# Entries of a constant list, nested ones together.
MAX_LIST_ENTRIES = 65_536
# Bytes of a facts file and of a model configuration, and tensors that a facts file may speak of.
MAX_JSON_BYTES = 8_000_000
MAX_FACTS = 100_000
