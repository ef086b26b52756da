"""Sharings that a result is only right for if their pieces are uniform: whether the plan makes them so.

Local truncation is wrong but for a small probability where a share is uniform, and wrong for certain where, say, one
party holds the value and the other 0. In: a composed stage. Out: the steps whose operand is made in the stage and not
shown to be uniform. Pieces that the stage begins with are taken to be uniform, which the report lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import msgspec

from pllm_lang.ir import protocol as p
from pllm_lang.verify.narrations.composing import Composed
from pllm_lang.verify.narrations.under_way import Made
from pllm_lang.verify.protocol.compose import Composition, Instance, inlined
from pllm_lang.verify.protocol.inlining import placed
from pllm_lang.verify.protocol.narration import narrate
from pllm_lang.verify.protocol.polynomial import TooLarge
from pllm_lang.verify.protocol.prove import prove_protocol
from pllm_lang.verify.protocol.sizes import Sizes
from pllm_lang.verify.protocol.views import prove_view

MAX_STEPS = 40
"""Instances that a value is followed back through, where the protocol that makes it does not show it alone."""


def not_uniform(stage: Composed) -> Iterator[tuple[Made, str]]:
    """(the step, the value) for every operand that has to be uniform and is not shown to be."""
    makers = {value: i for i, one in enumerate(stage.whole.instances) for _, value in one.outputs}
    for instance, made in zip(stage.whole.instances, stage.made, strict=True):
        shared = {given.name for given in instance.protocol.inputs if isinstance(given.holding, p.Shared)}
        if not shared or not any(r.rests_on for r in prove_protocol(instance.protocol, ()).correctness):
            continue
        for name, value in instance.inputs:
            if name in shared and value in makers and not _uniform(stage.whole, makers, value):
                yield made, value


def _uniform(whole: Composition, makers: dict[str, int], value: str) -> bool:
    maker = whole.instances[makers[value]]
    name = next(name for name, made in maker.outputs if made == value)
    if name in _fresh(maker.protocol):
        return True
    cone = _cone(whole, makers, value)
    if len(cone) > MAX_STEPS:
        return False
    output = next(o for o in maker.protocol.outputs if o.name == name)
    holding = placed(output.holding, dict(maker.roles))
    wanted = (p.Output(value, output.type, holding),)
    try:
        text = inlined(Composition("cone", whole.parties, whole.inputs, wanted, cone))
    except TooLarge:
        return False
    return value in _fresh(text)


def _cone(whole: Composition, makers: dict[str, int], value: str) -> tuple[Instance, ...]:
    """The instances that a value is made by, in their order."""
    todo, found = [value], set[int]()
    while todo:
        number = makers.get(todo.pop())
        if number is not None and number not in found:
            found.add(number)
            todo += [given for _, given in whole.instances[number].inputs]
    return tuple(whole.instances[number] for number in sorted(found))


@lru_cache(maxsize=1024)
def _fresh(protocol: p.Protocol) -> tuple[str, ...]:
    """Outputs whose pieces but one are uniform, and independent of each other, to somebody who sees nothing."""
    protocol = _without_needs(protocol)
    try:
        trace = narrate(protocol, Sizes())
    except TooLarge:
        return ()
    return () if trace.findings else prove_view(trace, frozenset(), look_for_leaks=False).fresh


def _without_needs(protocol: p.Protocol) -> p.Protocol:
    """An operand that is needed fresh may not be: what is made of it is no more uniform than it is."""
    if not any(given.fresh for given in protocol.inputs):
        return protocol
    inputs = tuple(msgspec.structs.replace(given, fresh=False) for given in protocol.inputs)
    return msgspec.structs.replace(protocol, inputs=inputs)
