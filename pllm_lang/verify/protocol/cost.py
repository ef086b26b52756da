"""What one execution costs: messages and bits by link and phase, rounds, and the one-use material it burns.

Counts stay exact and symbolic: a count is a mapping from a product of symbols (`"m*k"`, `""` for 1) to a
factor. An ideal party (a primitive) costs what the component's record says, not what the text sends it; where that says
nothing, the values that it gives, the least that it can be.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from pllm_lang.ir import protocol as ir
from pllm_lang.verify.protocol import polynomial as pl
from pllm_lang.verify.protocol import tensors as tn
from pllm_lang.verify.protocol.forms import element_bits, size_of
from pllm_lang.verify.protocol.report import Cost, LinkCost, MaterialNeed, Pattern
from pllm_lang.verify.protocol.sizes import Sizes, factored
from pllm_lang.verify.protocol.trace import Trace

Count = tuple[tuple[str, int], ...]


def cost_of(trace: Trace) -> Cost:
    bits: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    messages: Counter[tuple[str, str, str]] = Counter()
    rounds: dict[str, int] = {}
    ideal = {p.name: p for p in trace.protocol.parties if p.ideal is not None}
    for message in trace.messages:
        entries = size_of(tn.shape_of(message.value))
        width = element_bits(message.number)
        rounds[message.phase] = max(rounds.get(message.phase, 0), message.depth)
        if message.sender in ideal:
            width = 8 * ideal[message.sender].cost.bytes_per_entry or width
        for receiver in message.receivers:
            if receiver in ideal or receiver == message.sender:
                continue
            link = (message.sender, receiver, message.phase)
            messages[link] += 1
            _add(bits[link], width, entries, trace.sizes)
    for sent in trace.deliveries:
        rounds[sent.phase] = max(rounds.get(sent.phase, 0), 1)
        for receiver in sent.receivers:
            link = (sent.sender, receiver, sent.phase)
            messages[link] += 1
            _add(bits[link], sent.bits, sent.entries, trace.sizes)
    links = [LinkCost(*link, messages[link], _sorted(bits[link])) for link in sorted(messages)]
    return Cost(tuple(links), tuple(sorted(rounds.items())), _material(trace))


def _add(total: Counter[str], width: int, entries: int, sizes: Sizes) -> None:
    factor, symbols = factored(entries, sizes)
    total[symbols] += width * factor


def _sorted(count: Counter[str]) -> Count:
    return tuple(sorted((k, v) for k, v in count.items() if v))


def _material(trace: Trace) -> tuple[MaterialNeed, ...]:
    """Units of each bundle: entries or rows of its largest member, or one a call."""
    shapes = {name: tn.shape_of(value) for copy in trace.copies for name, value in copy.values.items()}
    shapes |= trace.computed
    for atom, facts in trace.draws.items():
        shapes[facts.name] = trace.atoms[atom].shape
    found: list[MaterialNeed] = []
    for bundle, times in _bundles(trace.protocol.body, 1):
        members = [shapes[m] for m in bundle.members if m in shapes]
        units = max((_units(s, bundle.unit) for s in members), default=1) * times
        factor, symbols = factored(units, trace.sizes)
        found.append(MaterialNeed(bundle.name, bundle.unit, ((symbols, factor),)))
    return tuple(found)


def _units(shape: tuple[int, ...], unit: str) -> int:
    if unit == "call":
        return 1
    return size_of(shape) if unit == "entry" else size_of(shape[:-1])


def _bundles(body: tuple[ir.Statement, ...], times: int) -> list[tuple[ir.Bundle, int]]:
    out: list[tuple[ir.Bundle, int]] = []
    for st in body:
        match st:
            case ir.Bundle():
                out.append((st, times))
            case ir.Repeat():
                out += _bundles(st.body, times * (st.count if isinstance(st.count, int) else 1))
            case ir.When():
                out += _bundles(st.body, times)
            case _:
                pass
    return out


def patterns_of(trace: Trace) -> tuple[Pattern, ...]:
    """The lengths that the shapes of its messages show to each party, and how many messages it gets."""
    out: list[Pattern] = []
    for party in trace.protocol.parties:
        got = [m for m in trace.messages if party.name in m.receivers]
        symbols = {
            s for m in got for d in tn.shape_of(m.value) for s in factored(d, trace.sizes)[1].split("*") if s
        }
        out.append(Pattern(party.name, tuple(sorted(symbols)), len(got)))
    return tuple(out)


def entries_of(poly: pl.Poly, sizes: Sizes) -> str:
    """The number of entries of a term, as text: `4*m*k`."""
    factor, symbols = factored(size_of(poly.shape), sizes)
    return "*".join([str(factor)] * (factor != 1 or not symbols) + [symbols] * bool(symbols))
