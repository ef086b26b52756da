"""Replay of an experiment: the one-use material that its budget uses up, counted again.

In: a lock whose programs were followed, with the run of each protocol. One-use material: every use of a protocol burns each of
its bundles, an entry, a row or a call at a time; times the turns that the use stands for, times the runs of its stage within the
budget. A stock has to hold the sum, of the right ring, from whoever makes it. Out: the obligations met; ReplayError where one
is not. What other experiments burn of a stock is the compiler's word, and adds to the sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import cast

import msgspec

from pllm_lang.artifacts.replay.budget import PREPARATION, runs_of, tokens_of_budget, undetected_rows, whole
from pllm_lang.artifacts.replay.refusal import ReplayError, told
from pllm_lang.artifacts.replay.run import Run, inside
from pllm_lang.artifacts.replay.walked import Found, Walked, record
from pllm_lang.catalog.expr import Apply, Expr, Ref
from pllm_lang.catalog.records import Component, ProtocolText
from pllm_lang.ir import protocol as p
from pllm_lang.ir.experiment import Experiment, Stock


def counted(walked: Walked, runs: list[Run]) -> set[Found]:
    """Nothing for a plan by itself."""
    experiment = walked.lock.documents.experiment
    if experiment is None:
        return set()
    found = _material(walked, experiment, runs) if experiment.stocks else set[Found]()
    return found | tokens_of_budget(walked, experiment) | undetected_rows(walked, experiment)


# ---- one-use material ----
class Need(msgspec.Struct):
    """Units of one bundle in one ring over the budget; `key` is its component's. `makers` hold a whole unit when it is made;
    `about` is the first step that burns one."""

    key: str
    component: str
    bundle: str
    bits: int
    about: int
    of_weights: bool
    makers: frozenset[str]
    count: int = 0


def _material(walked: Walked, experiment: Experiment, runs: list[Run]) -> set[Found]:
    found: set[Found] = set()
    left = {stock.key: whole(stock.count) for stock in experiment.stocks}
    first: dict[str, Need] = {}
    if len(left) < len(experiment.stocks):
        raise ReplayError("certificate.material", "a stock is counted twice")
    for need in _needs(walked, experiment, runs):
        stock = _stock_for(need, experiment.stocks)
        if stock is None:
            raise ReplayError("certificate.material", f"no stock holds any `{need.bundle}`", need.component)
        left[stock.key] -= need.count
        if left[stock.key] < 0:
            text = f"the budget burns {need.count} of `{need.bundle}`, and `{stock.key}` has {left[stock.key] + need.count} left"
            raise ReplayError("certificate.material", text, need.component)
        _fits(walked, experiment, need, stock)
        found.add(("material.shortage", need.about, ""))
        if first.setdefault(stock.key, need).key != need.key:
            raise _of_two(stock.key, need)
        if need.of_weights:
            _made_of_these_weights(walked, need, stock)
            found.add(("material.binding", need.about, ""))
    for key, need in first.items():
        found |= _shared(experiment, key, left[key], need)
    return found


def _of_two(stock: str, need: Need) -> ReplayError:
    text = f"`{stock}` serves two components, and each bundle is made for one"
    return ReplayError("certificate.material", text, need.component)


def _shared(experiment: Experiment, key: str, left: int, need: Need) -> set[Found]:
    """What is left is enough for the other experiments that draw on the stock, together, and for the same component."""
    others = [one for one in experiment.drawn if one.stock == key]
    if any(one.components not in ((), (need.key,)) for one in others):
        raise _of_two(key, need)
    burnt = sum(whole(one.count) for one in others)
    if burnt > left:
        text = f"other experiments burn {burnt} of `{key}`, and this one leaves {left}"
        raise ReplayError("certificate.material", text)
    return {("material.shared", need.about, "")} if others else set()


def _needs(walked: Walked, experiment: Experiment, runs: list[Run]) -> list[Need]:
    """In the order of first use."""
    documents, needs = walked.lock.documents, dict[tuple[str, str, int], Need]()
    first = {number: step.results[0] for number, step in enumerate(walked.every)}
    burnt = [_burnt(walked, text.component, run) for text, run in zip(documents.protocols, runs, strict=True)]
    for place, program in enumerate(documents.programs):
        within = runs_of(place, len(documents.programs), experiment)
        for use in program.uses:
            key = documents.protocols[use.protocol].component
            for one in burnt[use.protocol]:
                makers = frozenset(dict(use.roles)[role] for role in one.roles)
                name = record(walked, key).name
                made = Need(key, name, one.bundle, one.bits, first[use.step], one.of_weights, makers)
                need = needs.setdefault((key, one.bundle, one.bits), made)
                need.count += one.units * use.times * within
                need.makers &= makers
                need.of_weights |= one.of_weights
    return list(needs.values())


class Burnt(msgspec.Struct, frozen=True):
    """What one use of a protocol burns of a bundle, and the roles that hold a whole unit when it is made."""

    bundle: str
    bits: int
    units: int
    roles: frozenset[str]
    of_weights: bool


def _burnt(walked: Walked, component: str, run: Run) -> list[Burnt]:
    text = run.protocol
    return [
        Burnt(
            one.name,
            _ring_bits(one, run),
            _units(one, run),
            frozenset(_makers(one, text)),
            _of_weights(one, text),
        )
        for one in _bundles(walked, component, run)
    ]


def _bundles(walked: Walked, component: str, run: Run) -> list[p.Bundle]:
    """Those of the text, which are those of the component's record."""
    found = [line for line in run.protocol.body if isinstance(line, p.Bundle)]
    own = record(walked, component) if component else None
    said = own.protocol if isinstance(own, Component) else None
    lines = (*said.offline, *said.online) if isinstance(said, ProtocolText) else ()
    if [(one.name, one.unit) for one in found] != [(b.name, b.word) for b in lines if b.kind == "bundle"]:
        raise ReplayError("certificate.material", "it burns other material than its record says", component)
    return found


def _units(bundle: p.Bundle, run: Run) -> int:
    """Of the largest member: its entries, or its rows; one for a call."""
    if bundle.unit == "call":
        return 1
    held = [value.shape for (_, name), value in run.held.items() if name in bundle.members]
    held += [one.value.shape for name, one in run.draws.items() if name in bundle.members]
    shapes = [cast("tuple[int, ...]", shape) for shape in held]
    return max((prod(shape if bundle.unit == "entry" else shape[:-1]) for shape in shapes), default=1)


def _ring_bits(bundle: p.Bundle, run: Run) -> int:
    """The widest ring in which a member is drawn; where all are computed, in which anything is drawn or given."""
    moduli = [run.draws[name].value.modulus for name in bundle.members if name in run.draws]
    if not moduli:
        given = [one.type.number for one in run.protocol.inputs]
        moduli = [one.value.modulus for one in run.draws.values()]
        moduli += [number.modulus for number in given if isinstance(number, p.Ring)]
    return max(((modulus - 1).bit_length() for modulus in moduli if modulus), default=0)


def _makers(bundle: p.Bundle, text: p.Protocol) -> set[str]:
    """The roles that draw, hold or compute every member before anything of it is sent; no primitive."""
    holders = [
        set(line.holders) if isinstance(line, p.Draw) else {line.party}
        for line in text.body
        if (isinstance(line, p.Draw) and line.name in bundle.members)
        or (isinstance(line, p.Assign) and line.target in bundle.members)
    ]
    ideal = {party.name for party in text.parties if party.ideal is not None}
    together = holders[0].intersection(*holders) if holders else set[str]()
    return together - ideal


def _of_weights(bundle: p.Bundle, text: p.Protocol) -> bool:
    """Whether a member is computed, on whatever way, from a value that lives as long as the weights."""
    weights = {given.name for given in text.inputs if given.lifetime == "weights"}
    lines = [line for line in text.body if isinstance(line, p.Assign)]
    made, known = set(bundle.members), set[str]()
    while made - known:
        known |= made
        made |= {name for line in lines if line.target in known for name in names_of(line.value)}
    return any(name.partition(".")[0] in weights for name in made)


def names_of(expr: p.Expr) -> Iterator[str]:
    """The variables that an expression reads."""
    if isinstance(expr, p.Ref):
        yield expr.name
    for inner in inside(expr):
        yield from names_of(inner)


def _kind(of: Expr) -> str:
    name = of.name if isinstance(of, Ref) else of.fn if isinstance(of, Apply) else ""
    return name.rpartition(".")[2]


def _rings(stock: Stock) -> list[str]:
    """What a stock says of its ring, in `ring_bits` or in `of: triple(ring: 64)`."""
    said = dict(stock.of.named).get("ring") if isinstance(stock.of, Apply) else None
    return [bits for bits in (stock.ring_bits, getattr(said, "value", "")) if bits]


def _stock_for(need: Need, stocks: tuple[Stock, ...]) -> Stock | None:
    """The first of the kind; one of the right ring or maker before one that is not."""
    kinds = (need.bundle, f"{need.component}.{need.bundle}")
    of_kind = [
        stock for stock in stocks if _kind(stock.of) in kinds or getattr(stock.of, "value", "") in kinds
    ]

    def fits(stock: Stock) -> tuple[bool, bool]:
        return str(need.bits) in _rings(stock), stock.provider.rpartition(".")[2] in need.makers

    return max(of_kind, key=fits, default=None)


def _fits(walked: Walked, experiment: Experiment, need: Need, stock: Stock) -> None:
    """The right ring, the right maker, never used before, made for this session."""
    rings = _rings(stock)
    if (need.bits and not rings) or any(bits != str(need.bits) for bits in rings):
        text = f"`{need.bundle}` is used in a ring of {need.bits} bits, and `{stock.key}` is not shown to be of it"
        raise ReplayError("certificate.material", text, need.component)
    slots = [use.key for slot, use in experiment.slots if slot == PREPARATION]
    prepares = record(walked, stock.provider) if "." in stock.provider else None
    is_prepared = (
        isinstance(prepares, Component)
        and prepares.kind == PREPARATION
        and stock.provider in (slots or (stock.provider,))
    )
    if stock.provider.rpartition(".")[2] not in need.makers and not is_prepared:
        text = f"`{stock.key}` comes from `{stock.provider}`, and {told(need.makers)} makes `{need.bundle}` in this plan"
        raise ReplayError("certificate.material", text, need.component)
    if not stock.fresh or stock.session != experiment.session:
        text = f"`{stock.key}` is not said to be unused and of the experiment's session"
        raise ReplayError("certificate.material", text, need.component)


def _made_of_these_weights(walked: Walked, need: Need, stock: Stock) -> None:
    """One checkpoint in stock and plan, or none in both: then that they belong together is taken for granted, and listed."""
    checkpoints = {weight.facts_key for weight in walked.lock.documents.ir.weights} - {""}
    granted = f"`{stock.key.rpartition('.')[2]}` was made from the weights that the plan runs with"
    open_ = not stock.weights and not checkpoints
    if not open_ and checkpoints != {stock.weights}:
        text = f"`{stock.key}` is not shown to be made from the plan's weights"
        raise ReplayError("certificate.material", text, need.component)
    if open_:
        walked.told.add(("material.binding", need.about, granted))
