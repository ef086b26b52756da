"""What a composition costs: the costs of its protocols, at the parties that play the roles.

In: a composition. Out: a `Cost` with links between parties, rounds one protocol after the other (an upper
bound: independent ones may overlap), and the material that all of them burn, by bundle and protocol.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import repeat

from pllm_lang.ir import protocol as ir
from pllm_lang.verify.protocol.cost import cost_of
from pllm_lang.verify.protocol.inlining import Composition
from pllm_lang.verify.protocol.narration import narrate
from pllm_lang.verify.protocol.report import Cost, LinkCost, MaterialNeed
from pllm_lang.verify.protocol.sizes import Sizes


def cost_of_composition(whole: Composition, times: Sequence[int] = ()) -> Cost:
    """Messages inside one party (two roles in one hand) cost nothing. `times`: how often each instance runs (once)."""
    bits: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    messages: Counter[tuple[str, str, str]] = Counter()
    rounds: Counter[str] = Counter()
    material: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for instance, runs in zip(whole.instances, times or repeat(1), strict=False):
        cost, roles = _own_cost(instance.protocol), dict(instance.roles)
        rounds.update(_times(cost.rounds, runs))
        for link in cost.links:
            sender = roles.get(link.sender, link.sender)
            receiver = roles.get(link.receiver, link.receiver)
            if sender != receiver:
                messages[sender, receiver, link.phase] += link.messages * runs
                bits[sender, receiver, link.phase].update(_times(link.bits, runs))
        for need in cost.material:
            material[f"{instance.protocol.name}.{need.bundle}", need.unit].update(_times(need.count, runs))
    links = tuple(LinkCost(*link, messages[link], _sorted(bits[link])) for link in sorted(messages))
    needs = tuple(MaterialNeed(*name, _sorted(count)) for name, count in sorted(material.items()))
    return Cost(links, tuple(sorted(rounds.items())), needs)


def _times(amounts: Iterable[tuple[str, int]], runs: int) -> dict[str, int]:
    return {name: amount * runs for name, amount in amounts}


@lru_cache(maxsize=4096)
def _own_cost(protocol: ir.Protocol) -> Cost:
    return cost_of(narrate(protocol, Sizes()))


def _sorted(count: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(count.items()))
