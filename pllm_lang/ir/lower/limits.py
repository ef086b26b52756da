"""Limits of lowering, so that a short hostile text cannot become a long plan."""

# Statements that one plan may have after its blocks are expanded; a `repeat` counts its body once.
MAX_STATEMENTS = 40_000
# Blocks that may stand inside each other.
MAX_BLOCK_DEPTH = 64
# Repeats that may stand inside each other.
MAX_REPEAT_DEPTH = 8
# Turns of one repeat; its body is lowered once, so only arithmetic on indices grows with it.
MAX_TURNS = 2**20
# Members of one family.
MAX_FAMILY = 2**20
# Findings of one lowering that look for what was probably meant.
MAX_SUGGESTIONS = 50
# Characters of the plan's text that a help sentence repeats.
MAX_WRITTEN = 60
# Dimensions and entries of one tensor.
MAX_RANK = 8
MAX_ENTRIES = 2**50
