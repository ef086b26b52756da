"""Replay: a text in which parties that have every operand each compute every result, and nobody sends or draws anything.

Such a text is proved by its form alone: each party can compute what it is said to, all hold the same, a result is what it is said
to mean, and there is no message to look at. Most texts of a plan are of this form, so this is also the quickest way.
"""

from __future__ import annotations

from pllm_lang.artifacts.replay.run import HIDDEN
from pllm_lang.ir import protocol as p


def local_call(text: p.Protocol) -> str:
    """The name by which each party computes each result of all operands in their order; "" where a text is not of this form.

    Of several results each is called by its place: `name.0`, `name.1`."""
    parties, results = tuple(one.name for one in text.parties), text.outputs
    if not results or len(text.body) != len(parties) * len(results) or not _all_have_all(text):
        return ""
    first = results[0].meaning
    if not isinstance(first, p.Call):
        return ""
    name = first.fn if len(results) == 1 else first.fn.removesuffix(".0")
    args, place = tuple(p.Ref(given.name) for given in text.inputs), 0
    for i, output in enumerate(results):
        value = p.Call(name if len(results) == 1 else f"{name}.{i}", args, output.type)
        if output != p.Output(output.name, output.type, p.Clear(parties), value, origin=output.origin):
            return ""
        for party in parties:
            line = text.body[place]
            if not isinstance(line, p.Assign) or (line.party, line.target, line.value) != (
                party,
                output.name,
                value,
            ):
                return ""
            place += 1
    return name


def _all_have_all(text: p.Protocol) -> bool:
    """Every party has every operand in the clear, and no two things have one name."""
    parties, names = {one.name for one in text.parties}, [one.name for one in (*text.inputs, *text.outputs)]
    if len(set(names)) < len(names) or any(HIDDEN in name for name in names):
        return False
    holdings = [given.holding for given in text.inputs]
    return all(
        isinstance(one, p.Public) or (isinstance(one, p.Clear) and parties <= set(one.parties))
        for one in holdings
    )
