"""From text to verdict, against complete enumeration: what is proved is right and independent at one entry modulo 4."""

from collections import Counter
from random import Random

from pllm_lang.catalog.load import shipped_library
from pllm_lang.catalog.records import Component
from pllm_lang.ir import protocol as ir
from pllm_lang.ir.lower.protocol import lower_protocol
from pllm_lang.verify.narrations.check import check_component
from pllm_lang.verify.narrations.examples import settings
from pllm_lang.verify.protocol.instances import with_rings, with_sizes
from pllm_lang.verify.protocol.sizes import symbols_of
from tests.narrations.slips import slips
from tests.narrations.strange import strange
from tests.protocol.enumeration import Run, TooMany

LIBRARY = shipped_library()
EXACT = [
    (key, component)
    for key in LIBRARY.keys("component")
    if (component := LIBRARY.component(key)) is not None
    and component.protocol is not None
    and not (component.primitive or component.reveals or component.implements[0].endswith(".cast"))
    and not any(line.kind == "needs" for line in component.protocol.online)
]
LIMIT = 1 << 16


def test_proved_is_right() -> None:
    """Slips and strange copies of every exact narration: at least 100 proved ones and 30 bad ones are looked at."""
    seen: Counter[tuple[bool, bool]] = Counter()
    for key, component in copies():
        protocol = lowered(component)
        truth = None if protocol is None else enumerated(protocol)
        if truth is not None:
            proved = not check_component(key, component, LIBRARY).findings
            assert truth or not proved, (key, component.protocol)
            seen[proved, truth] += 1
    assert seen[True, True] >= 100
    assert seen[False, False] >= 30


def copies():
    for key, component in EXACT:
        yield key, component
        for _, broken in slips(component):
            yield key, broken
        for seed in range(40):
            yield key, strange(component, Random(f"{key} {seed}"))


def lowered(component: Component) -> ir.Protocol | None:
    operator = LIBRARY.operator(component.implements[0])
    found = (
        lower_protocol(component, operator, LIBRARY, setting) for setting in settings(component, operator)
    )
    return next((one.protocol for one in found if one.protocol is not None and not one.findings), None)


def enumerated(protocol: ir.Protocol) -> bool | None:
    """Whether it computes its outputs and every party's view is independent; None where it is too large to see."""
    symbols = {
        s for thing in (*protocol.inputs, *protocol.outputs) for d in thing.type.shape for s in symbols_of(d)
    }
    small = with_rings(with_sizes(protocol, dict.fromkeys(symbols, 1)), _modulo_4)
    try:
        run = Run(small, 1, LIMIT)
        views = all(run.independent(frozenset([party.name])) for party in small.parties)
        return run.outputs_hold() and views
    except (TooMany, KeyError, NotImplementedError):
        return None  # too large, or a line that cannot be run, which the knowledge check is about


def _modulo_4(number: ir.Number) -> ir.Number:
    return ir.Ring(4) if isinstance(number, ir.Ring) and number.modulus % 4 == 0 else number
