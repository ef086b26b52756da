"""The primitives that a plan's proof rests on, each with the first step that uses it.

In: composed stages. Out: (value that the step makes, component, primitive), a PRF where a stream is expanded.
"""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.verify.narrations.composing import Composed
from pllm_lang.verify.narrations.under_way import IDEAL
from pllm_lang.verify.protocol.prove import prove_protocol


def primitives(stages: tuple[Composed, ...]) -> Iterator[tuple[int, str, str]]:
    seen: set[tuple[str, str]] = set()
    for stage in stages:
        for instance, made in zip(stage.whole.instances, stage.made, strict=True):
            for one in prove_protocol(instance.protocol, ()).assumptions if made.key else ():
                found = (instance.protocol.name, one.name.removeprefix(IDEAL))
                if found not in seen:
                    seen.add(found)
                    yield made.subject, *found
