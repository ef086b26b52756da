"""Protocols in which nobody sends or draws anything: each party computes what it has been given in the clear.

Most steps of a plan are such. Their proof needs no narration: every party holds every operand, so it can compute the
result; what it computes is the result's meaning; and with no message nobody sees anything.
"""

from __future__ import annotations

from functools import lru_cache

from pllm_lang.ir import protocol as ir
from pllm_lang.verify.protocol.forms import names_of


@lru_cache(maxsize=4096)
def is_silent(protocol: ir.Protocol) -> bool:
    """Whether the protocol is proved by its form: its view for every coalition, with no fresh output, and its results."""
    parties = {party.name for party in protocol.parties}
    if any(party.ideal is not None for party in protocol.parties):
        return False
    given = {one.name for one in protocol.inputs if _has(one.holding, parties)}
    meanings = {output.name: output for output in protocol.outputs}
    made: set[tuple[str, str]] = set()
    for st in protocol.body:
        output = meanings.get(st.target) if isinstance(st, ir.Assign) else None
        if not isinstance(st, ir.Assign) or output is None or (st.party, st.target) in made:
            return False
        if st.value != output.meaning or not isinstance(st.value, ir.Call) or st.value.keys:
            return False
        if not names_of(st.value) <= given:
            return False
        made.add((st.party, st.target))
    return all(_is_plain(output, parties, made) for output in protocol.outputs)


def _is_plain(output: ir.Output, parties: set[str], made: set[tuple[str, str]]) -> bool:
    """An exact result in the clear, at parties that have each computed it."""
    if not isinstance(output.holding, ir.Clear) or output.scale_bits or output.error:
        return False
    holders = set(output.holding.parties)
    return holders <= parties and all((party, output.name) in made for party in holders)


def _has(holding: ir.Holding, parties: set[str]) -> bool:
    """Whether every party has a value of this holding in the clear."""
    match holding:
        case ir.Public():
            return True
        case ir.Clear():
            return parties <= set(holding.parties)
        case ir.Shared():
            return False
