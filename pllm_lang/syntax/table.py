"""The parse table as data: what `build_table` makes of the grammar, and what the parser runs on.

In: the bytes of `_table.msgpack`. Out: `Table`. The file is plain msgpack, never a pickle, and is keyed by
the digest of the grammar text, so that an edited grammar is never parsed with an old table.
"""

from __future__ import annotations

import msgspec

# Raise this when the meaning of the fields below changes: older files are then built anew.
FORMAT = 5

# An action is one integer: a state to shift to; that state plus BEGIN where the token also begins an anchor;
# or ~rule (negative) to reduce by that rule. Kind 0 is the end of the text.
BEGIN = 1 << 16
END_KIND = 0


class Rule(msgspec.Struct, frozen=True, array_like=True):
    """`size` symbols become one `lhs`. `take` lists which of them the action gets, -1 for None.

    `unit` marks a rule that hands its only child through.
    """

    lhs: int
    size: int
    action: str
    take: tuple[int, ...]
    unit: bool
    anchor: bool


class Table(msgspec.Struct, frozen=True, array_like=True):
    """`actions[state]` maps a terminal's kind, `gotos[state]` a nonterminal, to what happens next.

    A terminal is called by its text where it has only one (`using`, `{`), else by its name (`NAME`).
    """

    key: str
    start: int
    terminals: tuple[str, ...]
    nonterminals: tuple[str, ...]
    # terminals written literally in the grammar (words and signs) to their kind
    literals: dict[str, int]
    # the other terminals in the order in which they are tried: name and regular expression
    patterns: tuple[tuple[str, str], ...]
    rules: tuple[Rule, ...]
    actions: tuple[dict[int, int], ...]
    gotos: tuple[dict[int, int], ...]
    # states in which a declaration, an item or a statement may begin
    resume: tuple[int, ...]


def encode_table(table: Table) -> bytes:
    return msgspec.msgpack.encode(table)


def decode_table(data: bytes) -> Table | None:
    """The table, or None where the bytes are not one."""
    try:
        return msgspec.msgpack.decode(data, type=Table)
    except msgspec.MsgspecError:
        return None
