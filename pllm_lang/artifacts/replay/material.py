"""Replay of an experiment: the one-use material that its budget uses up, counted again.

In: a lock whose programs were followed, with the run of each protocol. One-use material: every use of a protocol burns each of
its bundles, an entry, a row or a call at a time; times the turns that the use stands for, times the runs of its stage within the
budget. A stock has to hold the sum, of the right ring, from whoever makes it. Out: the obligations met; ReplayError where one
is not. What other experiments burn of a stock is the compiler's word, and adds to the sum.
"""

from __future__ import annotations

from math import prod

import msgspec

from pllm_lang.artifacts.lock_data import Alone, Embed, Program
from pllm_lang.artifacts.replay.budget import PREPARATION, runs_of, tokens_of_budget, undetected_rows, whole
from pllm_lang.artifacts.replay.refusal import need, told
from pllm_lang.artifacts.replay.run import Run, names_of
from pllm_lang.artifacts.replay.sums import modulus_of
from pllm_lang.artifacts.replay.walked import Found, Walked, component_at, record
from pllm_lang.catalog.expr import Apply, Expr, Ref, Text
from pllm_lang.catalog.records import Component
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


def _holds(condition: object, text: str, component: str = "") -> None:
    need(condition, "certificate.material", text, component)


def _material(walked: Walked, experiment: Experiment, runs: list[Run]) -> set[Found]:
    found: set[Found] = set()
    left = {stock.key: whole(stock.count) for stock in experiment.stocks}
    first: dict[str, Need] = {}
    _holds(len(left) == len(experiment.stocks), "a stock is counted twice")
    for want in _needs(walked, experiment, runs):
        stock = _stock_for(want, experiment.stocks)
        there = left[stock.key]
        text = f"the budget burns {want.count} of `{want.bundle}`, and `{stock.key}` has {there} left"
        _holds(want.count <= there, text, want.component)
        left[stock.key] -= want.count
        _fits(walked, experiment, want, stock)
        found.add(("material.shortage", want.about, ""))
        _of_one(first.setdefault(stock.key, want).key == want.key, stock.key, want)
        if want.of_weights:
            _made_of_these_weights(walked, want, stock)
            found.add(("material.binding", want.about, ""))
    for key, want in first.items():
        found |= _shared(experiment, key, left[key], want)
    return found


def _of_one(condition: bool, stock: str, want: Need) -> None:
    _holds(condition, f"`{stock}` serves two components, and each bundle is made for one", want.component)


def _shared(experiment: Experiment, key: str, left: int, want: Need) -> set[Found]:
    """What is left is enough for the other experiments that draw on the stock, together, and for the same component."""
    others = [one for one in experiment.drawn if one.stock == key]
    _of_one(all(one.components in ((), (want.key,)) for one in others), key, want)
    burnt = sum(whole(one.count) for one in others)
    _holds(burnt <= left, f"other experiments burn {burnt} of `{key}`, and this one leaves {left}")
    return {("material.shared", want.about, "")} if others else set()


# ---- what is burnt ----
def _needs(walked: Walked, experiment: Experiment, runs: list[Run]) -> list[Need]:
    """In the order of first use."""
    documents, needs = walked.lock.documents, dict[tuple[str, str, int], Need]()
    texts = documents.protocols
    burnt = [_burnt(walked, text.component, run) for text, run in zip(texts, runs, strict=True)]
    for place, program in enumerate(documents.programs):
        within, weights = runs_of(place, len(documents.programs), experiment), _weights_of(program)
        for use in program.runs:
            key, roles, given = texts[use.protocol].component, dict(use.roles), dict(use.inputs)
            for one in burnt[use.protocol]:
                makers, about = (
                    frozenset(roles[role] for role in one.roles),
                    walked.every[use.step].results[0],
                )
                name = component_at(walked, key).name
                made = Need(key, name, one.bundle, one.bits, about, bool(one.made_of), makers)
                want = needs.setdefault((key, one.bundle, one.bits), made)
                want.count += one.units * use.times * within
                want.makers &= makers
                want.of_weights |= bool(one.made_of)
                text = f"`{one.bundle}` is made from a value that is there only when the plan runs"
                _holds(weights.issuperset(given[operand] for operand in one.made_of), text, name)
    return list(needs.values())


def _weights_of(program: Program) -> set[str]:
    """What lives as long as the weights: they, and what parties work out by themselves of them alone."""
    found = {given.name for given in program.inputs if given.lifetime == "weights"}
    for use in program.uses:
        if isinstance(use, Alone) and found.issuperset(use.inputs):
            found.update(use.results)
        elif isinstance(use, Embed) and use.value in found:
            found.add(use.name)
    return found


class Burnt(msgspec.Struct, frozen=True):
    """What one use of a protocol burns of a bundle, the roles that hold a whole unit when it is made, and the operands of which a
    member is computed."""

    bundle: str
    bits: int
    units: int
    roles: frozenset[str]
    made_of: tuple[str, ...]


def _burnt(walked: Walked, component: str, run: Run) -> list[Burnt]:
    """Of the bundles of a text, which are those of the component's record."""
    found = [line for line in run.protocol.body if isinstance(line, p.Bundle)]
    said = component_at(walked, component).protocol if component else None
    lines = () if said is None else (*said.offline, *said.online)
    own = [(one.name, one.word) for one in lines if one.kind == "bundle"]
    same = [(one.name, one.unit) for one in found] == own
    _holds(same, "it burns other material than its record says", component)
    return [
        Burnt(one.name, _ring_bits(one, run), _units(one, run), _makers(one, run), _made_of(one, run))
        for one in found
    ]


def _units(bundle: p.Bundle, run: Run) -> int:
    """Of the largest member: its entries, or its rows; one for a call."""
    if bundle.unit == "call":
        return 1
    held = [value.shape for (_, name), value in run.held.items() if name in bundle.members]
    held += [one.value.shape for name, one in run.draws.items() if name in bundle.members]
    return max((prod(shape if bundle.unit == "entry" else shape[:-1]) for shape in held), default=1)


def _ring_bits(bundle: p.Bundle, run: Run) -> int:
    """The widest ring in which a member is drawn; where all are computed, in which anything is drawn or given."""
    moduli = [run.draws[name].value.modulus for name in bundle.members if name in run.draws]
    if not moduli:
        moduli = [one.value.modulus for one in run.draws.values()]
        moduli += [modulus_of(one.type.number) for one in run.protocol.inputs]
    return max(((modulus - 1).bit_length() for modulus in moduli if modulus), default=0)


def _makers(bundle: p.Bundle, run: Run) -> frozenset[str]:
    """The roles that draw, hold or compute every member before anything of it is sent; no primitive."""
    lines = run.protocol.body
    holders = [{*one.holders} for one in lines if isinstance(one, p.Draw) and one.name in bundle.members]
    holders += [{one.party} for one in lines if isinstance(one, p.Assign) and one.target in bundle.members]
    together = set[str].intersection(*holders) if holders else set[str]()
    return frozenset(together - {party.name for party in run.protocol.parties if party.ideal is not None})


def _made_of(bundle: p.Bundle, run: Run) -> tuple[str, ...]:
    """The operands of which a member is computed, on whatever way."""
    lines = [line for line in run.protocol.body if isinstance(line, p.Assign)]
    made, known = set(bundle.members), set[str]()
    while made - known:
        known |= made
        made |= {name for line in lines if line.target in known for name in names_of(line.value)}
    read = {name.partition(".")[0] for name in made}
    return tuple(given.name for given in run.protocol.inputs if given.name in read)


# ---- a stock ----
def _kind(of: Expr) -> str:
    """The kind of its pieces, by name or in a call or a text."""
    name = of.name if isinstance(of, Ref) else of.fn if isinstance(of, Apply) else ""
    return of.value if isinstance(of, Text) else name.rpartition(".")[2]


def _rings(stock: Stock) -> list[str]:
    """What a stock says of its ring, in `ring_bits` or in `of: triple(ring: 64)`."""
    said = dict(stock.of.named).get("ring") if isinstance(stock.of, Apply) else None
    return [bits for bits in (stock.ring_bits, getattr(said, "value", "")) if bits]


def _stock_for(want: Need, stocks: tuple[Stock, ...]) -> Stock:
    """The first of the kind; one of the right ring or maker before one that is not."""
    kinds = (want.bundle, f"{want.component}.{want.bundle}")
    of_kind = [stock for stock in stocks if _kind(stock.of) in kinds]
    _holds(of_kind, f"no stock holds any `{want.bundle}`", want.component)

    def fits(stock: Stock) -> tuple[bool, bool]:
        return str(want.bits) in _rings(stock), stock.provider.rpartition(".")[2] in want.makers

    return max(of_kind, key=fits)


def _fits(walked: Walked, experiment: Experiment, want: Need, stock: Stock) -> None:
    """The right ring, the right maker, never used before, made for this session."""
    rings, who = _rings(stock), stock.provider
    known = (rings or not want.bits) and all(bits == str(want.bits) for bits in rings)
    text = f"is used in a ring of {want.bits} bits, and `{stock.key}` is not shown to be of it"
    _holds(known, f"`{want.bundle}` {text}", want.component)
    slots = [use.key for slot, use in experiment.slots if slot == PREPARATION]
    prepares = record(walked, who) if "." in who else None
    is_prepared = (
        isinstance(prepares, Component) and prepares.kind == PREPARATION and who in (slots or (who,))
    )
    text = f"`{stock.key}` comes from `{who}`, and {told(want.makers)} makes `{want.bundle}` in this plan"
    _holds(who.rpartition(".")[2] in want.makers or is_prepared, text, want.component)
    text = f"`{stock.key}` is not said to be unused and of the experiment's session"
    _holds(stock.fresh and stock.session == experiment.session, text, want.component)


def _made_of_these_weights(walked: Walked, want: Need, stock: Stock) -> None:
    """One checkpoint in stock and plan, or none in both: then that they belong together is taken for granted, and listed."""
    checkpoints = {weight.facts_key for weight in walked.lock.documents.ir.weights} - {""}
    granted = f"`{stock.key.rpartition('.')[2]}` was made from the weights that the plan runs with"
    open_ = not stock.weights and not checkpoints
    text = f"`{stock.key}` is not shown to be made from the plan's weights"
    _holds(open_ or checkpoints == {stock.weights}, text, want.component)
    if open_:
        walked.told.add(("material.binding", want.about, granted))
