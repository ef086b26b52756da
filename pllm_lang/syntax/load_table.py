"""Find the parse table: the one shipped with the package, or one built from the grammar beside it.

In: the grammar file and `_table.msgpack`. Out: a `Table` that was made from exactly this grammar. lark is
imported only where the shipped table is missing or made from another text.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from pllm_lang.resources import grammar_dir
from pllm_lang.syntax.table import FORMAT, Table, decode_table, encode_table

TABLE_FILE = Path(__file__).with_name("_table.msgpack")


def table_key(grammar: bytes) -> str:
    """What a table is keyed by: the digest of the grammar's text and the format of the table."""
    return f"{FORMAT}:{hashlib.sha256(grammar).hexdigest()}"


def load_table() -> Table:
    grammar = (grammar_dir() / "pllm.lark").read_bytes()
    key = table_key(grammar)
    try:
        table = decode_table(TABLE_FILE.read_bytes())
    except OSError:
        table = None
    if table is not None and table.key == key:
        return table
    table = _build(grammar.decode("utf-8"), key)
    write_table(table, TABLE_FILE)
    return table


def _build(grammar: str, key: str) -> Table:
    # Imported here because it imports lark, which a run with a fresh table must not pay for.
    from pllm_lang.syntax.build_table import build_table  # noqa: PLC0415

    return build_table(grammar, key)


def write_table(table: Table, path: Path) -> None:
    """Put the table beside the package where that is allowed; nobody reads half of one."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        temporary.write_bytes(encode_table(table))
        os.replace(temporary, path)
