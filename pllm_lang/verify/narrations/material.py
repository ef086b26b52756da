"""One-use material of an experiment: what its plan burns, against what its stocks hold.

A bundle of a protocol is issued and burnt as a whole, one unit an entry, row or call. The need is what one run of each
stage burns, times its runs: the first stage once a request, every later one once for each further token.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pllm_lang.catalog.expr import Apply, Expr, Ref
from pllm_lang.catalog.library import Library
from pllm_lang.ir import protocol as p
from pllm_lang.ir.experiment import Experiment, Stock
from pllm_lang.ir.plan import Plan
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.budget import runs_of
from pllm_lang.verify.narrations.composing import Composed
from pllm_lang.verify.narrations.under_way import IDEAL
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.protocol.compose import Instance, lives_of
from pllm_lang.verify.protocol.forms import names_of
from pllm_lang.verify.protocol.prove import prove_protocol
from pllm_lang.verify.protocol.scopes import LEVELS


class Need(msgspec.Struct):
    """`providers` are the parties that hold a whole unit when it is made; `ring_bits` the widest ring in it; `of_weights`
    says that it is made from the plan's weights, `of_others` from which other value; `key` is that of its component."""

    component: str
    bundle: str
    unit: str
    count: int
    ring_bits: int
    providers: frozenset[str]
    subject: int
    of_weights: bool
    key: str
    of_others: str = ""


class Drawn(msgspec.Struct, frozen=True):
    """What another experiment burns of a stock, and for which components; `count` None where that is not known."""

    experiment: str
    stock: str
    count: int | None
    components: frozenset[str] = frozenset()


def material(
    experiment: Experiment,
    stages: tuple[Composed, ...],
    plan: Plan,
    library: Library,
    others: tuple[Drawn, ...] = (),
) -> Iterator[Obligation]:
    """Nothing where the experiment names no stock: then material is not asked. `others` are experiments that draw on the
    same stocks."""
    if not experiment.stocks:
        return
    checkpoints = {weight.facts_key for weight in plan.weights} - {""}
    left = {stock.key: _count(stock) for stock in experiment.stocks}
    burnt: dict[str, int] = {}
    last: dict[str, Need] = {}
    for need in needs(experiment, stages):
        stock = _stock_for(need, experiment.stocks)
        if stock is None:
            known = ", ".join(f"`{kind_of(s.of)}`" for s in experiment.stocks)
            text = f"`{need.component}` burns {need.count} of `{need.bundle}`, and no stock holds any; the stocks hold {known}"
            yield _refuse("material.missing", need, text, f"declare a stock: `of: {need.bundle}`")
            continue
        burnt[stock.key] = burnt.get(stock.key, 0) + need.count
        last.setdefault(stock.key, need)
        yield from _of_one_component(need, stock, {last[stock.key].key}, f"`{last[stock.key].component}`")
        yield from _fits(need, stock, left, experiment, library)
        yield from _bound(need, stock, checkpoints)
        yield from _in_session(need, stock, experiment)
    for stock in experiment.stocks:
        if stock.key in burnt:
            yield from _shared(last[stock.key], stock, burnt[stock.key], others)
            for one in others:
                if one.stock == stock.key and one.components:
                    yield from _of_one_component(
                        last[stock.key], stock, one.components, f"`{one.experiment}`"
                    )


def drawn(experiment: Experiment, stages: tuple[Composed, ...] | None, stock: str) -> Drawn:
    """What an experiment burns of a stock; `stages` None where its plan could not be followed."""
    if stages is None or any(stage.incomplete for stage in stages):
        return Drawn(experiment.name, stock, None)
    count, components = 0, set[str]()
    for need in needs(experiment, stages):
        found = _stock_for(need, experiment.stocks)
        if found is not None and found.key == stock:
            count += need.count
            components.add(need.key)
    return Drawn(experiment.name, stock, count, frozenset(components))


def _count(stock: Stock) -> int:
    return int(stock.count) if stock.count.isdigit() else 0


def _stock_for(need: Need, stocks: tuple[Stock, ...]) -> Stock | None:
    """The first stock of the kind; one that says the right ring or provider before one that does not."""
    kinds = (need.bundle, f"{need.component}.{need.bundle}")
    of_kind = [stock for stock in stocks if kind_of(stock.of) in kinds]

    def fits(stock: Stock) -> tuple[bool, bool]:
        return str(need.ring_bits) in _rings(stock), stock.provider.rsplit(".", 1)[-1] in need.providers

    return max(of_kind, key=fits, default=None)


def _fits(
    need: Need, stock: Stock, left: dict[str, int], experiment: Experiment, library: Library
) -> Iterator[Obligation]:
    name = stock.key.rsplit(".", 1)[-1]
    had = left[stock.key]
    left[stock.key] = had - need.count
    if had < need.count:
        text = f"`{need.component}` burns {need.count} of `{need.bundle}` (one each {need.unit}), and `{name}` has {max(had, 0)} left"
        yield msgspec.structs.replace(
            _refuse(
                "material.shortage",
                need,
                text,
                "issue more before the run, or lower the budget of the experiment",
            ),
            value=str(need.count),
            limit=str(max(had, 0)),
        )
    else:
        yield Obligation(
            "material.shortage", Verdict.PROVED, need.subject, part=name, evidence=(f"{need.count} of {had}",)
        )
    rings = _rings(stock)
    other = [bits for bits in rings if bits != str(need.ring_bits)]
    if need.ring_bits and not rings:
        text = f"`{need.bundle}` is used in a ring of {need.ring_bits} bits, and nothing says for which ring `{name}` was made"
        help_ = f"write `ring_bits: {need.ring_bits}` in the stock, if it was made for that ring"
        yield Obligation("material.ring", Verdict.UNPROVED, need.subject, text, "using", help=help_)
    elif other:
        text = f"`{need.bundle}` is used in a ring of {need.ring_bits} bits, and `{name}` was made for {other[0]}"
        yield _refuse(
            "material.ring", need, text, "issue material for the ring that the component computes in"
        )
    provider = stock.provider.rsplit(".", 1)[-1]
    if provider not in need.providers and not _prepares(stock.provider, experiment, library):
        made_by = " or ".join(f"`{party}`" for party in sorted(need.providers)) or "nobody"
        origin = f"comes from `{provider}`" if provider else "does not say who made it"
        text = f"`{name}` {origin}, and in this plan {made_by} makes `{need.bundle}`"
        yield _refuse(
            "material.provider", need, text, "take a stock of that provider, or bind the role to it"
        )
    if not stock.fresh:
        text = f"nothing says that `{name}` was never used before"
        help_ = "write `fresh: true` in the stock, if its ledger shows it"
        yield Obligation("material.used_before", Verdict.UNPROVED, need.subject, text, "using", help=help_)


def _rings(stock: Stock) -> list[str]:
    """What the stock says of its ring, in `ring_bits` or in `of: triple(ring: 64)`."""
    said = dict(stock.of.named).get("ring") if isinstance(stock.of, Apply) else None
    return [bits for bits in (stock.ring_bits, getattr(said, "value", "")) if bits]


def _bound(need: Need, stock: Stock, checkpoints: set[str]) -> Iterator[Obligation]:
    """Material that was made from weights serves those weights only."""
    name = stock.key.rsplit(".", 1)[-1]
    if need.of_others:
        text = f"`{need.bundle}` is made from `{need.of_others}`, which is there only when the plan runs, so no stock holds any"
        help_ = "take a weight, what is worked out of weights alone, or a component whose material is drawn"
        yield Obligation("material.binding", Verdict.UNPROVED, need.subject, text, "using", help=help_)
        return
    if not need.of_weights:
        return
    if not stock.weights and not checkpoints:
        told = f"`{name}` was made from the weights that the plan runs with"
        yield Obligation("material.binding", Verdict.PROVED, need.subject, part=name, assumed=(told,))
        return
    if checkpoints == {stock.weights}:
        yield Obligation(
            "material.binding", Verdict.PROVED, need.subject, part=name, evidence=(stock.weights,)
        )
        return
    if stock.weights and checkpoints:
        text = f"`{name}` was made for the weights {stock.weights}, and the plan's are {', '.join(sorted(checkpoints))}"
        yield _refuse(
            "material.binding", need, text, "prepare material for the weights that the plan runs with"
        )
        return
    missing = (
        "the plan's weights have no facts file with their digest"
        if stock.weights
        else f"`{name}` says not for which"
    )
    text = f"`{need.bundle}` is made from the weights, and {missing}"
    (digest,) = checkpoints if len(checkpoints) == 1 else ("",)
    help_ = (
        f'write `weights: "{digest}"` in the stock, if it was made for these weights'
        if digest
        else "name a facts file of these weights, by `facts` in the plan or `facts:` in the experiment"
        if stock.weights
        else "write `weights:` in the stock and `facts` in the plan, with one digest"
    )
    yield Obligation("material.binding", Verdict.UNPROVED, need.subject, text, "using", help=help_)


def _of_one_component(
    need: Need, stock: Stock, others: frozenset[str] | set[str], who: str
) -> Iterator[Obligation]:
    """Bundles that two components call alike are made otherwise, and one of them serves its component only."""
    if others == {need.key}:
        return
    name = stock.key.rsplit(".", 1)[-1]
    text = f"`{name}` holds `{need.bundle}`, which {who} burns as well as `{need.component}`, and each is made for one component"
    help_ = f'give each a stock of its own, as `of: "{need.component}.{need.bundle}"`'
    yield Obligation("material.binding", Verdict.UNPROVED, need.subject, text, "using", help=help_)


def _in_session(need: Need, stock: Stock, experiment: Experiment) -> Iterator[Obligation]:
    """Material that was made for a session serves that session only."""
    if stock.session == experiment.session:
        return
    name = stock.key.rsplit(".", 1)[-1]
    if stock.session and experiment.session:
        text = f'`{name}` was made for the session "{stock.session}", and the experiment runs in "{experiment.session}"'
        yield _refuse(
            "material.binding", need, text, "prepare material for the session that the experiment runs in"
        )
        return
    said, silent = (f"`{name}`", "the experiment") if stock.session else ("the experiment", f"`{name}`")
    text = f'{said} names the session "{stock.session or experiment.session}", and {silent} says not which'
    help_ = "write `session:` in both, with the same text"
    yield Obligation("material.binding", Verdict.UNPROVED, need.subject, text, "using", help=help_)


def _shared(need: Need, stock: Stock, burnt: int, others: tuple[Drawn, ...]) -> Iterator[Obligation]:
    """What all experiments that draw on the stock burn together, against what it holds."""
    drawing = [one for one in others if one.stock == stock.key]
    if not drawing:
        return
    name, had = stock.key.rsplit(".", 1)[-1], _count(stock)
    unknown = next((one for one in drawing if one.count is None), None)
    if unknown is not None:
        text = f"`{name}` is also drawn on by `{unknown.experiment}`, and what that burns is not known"
        help_ = "make that experiment one that can be checked, or give each a stock of its own"
        yield Obligation("material.shared", Verdict.UNPROVED, need.subject, text, "using", help=help_)
        return
    total = burnt + sum(one.count or 0 for one in drawing)
    told = ", ".join(f"`{one.experiment}` {one.count}" for one in drawing)
    if total <= had:
        evidence = (f"{burnt} here, {told}: {total} of {had}",)
        yield Obligation("material.shared", Verdict.PROVED, need.subject, part=name, evidence=evidence)
        return
    text = f"`{name}` has {had}, and its experiments burn {total} together: {burnt} here, {told}"
    help_ = "issue more, lower a budget, or give each experiment a stock of its own"
    yield msgspec.structs.replace(
        _refuse("material.shared", need, text, help_), value=str(total), limit=str(had)
    )


def _prepares(provider: str, experiment: Experiment, library: Library) -> bool:
    """Whether it is a component that prepares material: that of the pipeline, where the experiment has one."""
    component = library.component(provider)
    slots = [use.key for slot, use in experiment.slots if slot == "preparation"]
    return component is not None and component.kind == "preparation" and provider in (slots or (provider,))


def _refuse(code: str, need: Need, message: str, help_: str) -> Obligation:
    return Obligation(code, Verdict.REFUTED, need.subject, message, "using", help=help_)


# ---- needs ----
def needs(experiment: Experiment, stages: tuple[Composed, ...]) -> list[Need]:
    """By component, bundle and ring, in order of first use: material of one ring is none of another."""
    found: dict[tuple[str, str, int], Need] = {}  # by key of the component
    for place, stage in enumerate(stages):
        runs, lives = runs_of(place, len(stages), experiment), lives_of(stage.whole)
        for instance, made in zip(stage.whole.instances, stage.made, strict=True):
            for bundle, unit, count in burnt(instance.protocol) if made.key else ():
                component, ring = instance.protocol.name, _ring_bits(bundle, instance.protocol)
                key, providers = (made.key, bundle.name, ring), _providers(bundle, instance)
                need = found.get(key)
                operands = _operands_of(bundle, instance)
                if need is None:
                    need = Need(
                        component,
                        bundle.name,
                        unit,
                        0,
                        ring,
                        providers,
                        made.subject,
                        bool(operands),
                        made.key,
                    )
                    found[key] = need
                others = (
                    value for value in operands if lives.get(value, LEVELS["execution"]) > LEVELS["weights"]
                )
                need.of_others = need.of_others or next(others, "").split("'", maxsplit=1)[0]
                need.count += count * runs * made.times
                need.providers &= providers
    return list(found.values())


def burnt(protocol: p.Protocol) -> Iterator[tuple[p.Bundle, str, int]]:
    """Bundle, unit and units of one execution; sizes are numbers in a plan."""
    bundles = {st.name: st for st in protocol.body if isinstance(st, p.Bundle)}
    if not bundles:
        return
    for need in prove_protocol(protocol, ()).cost.material:
        yield bundles[need.bundle], need.unit, sum(count for _, count in need.count)


def _ring_bits(bundle: p.Bundle, protocol: p.Protocol) -> int:
    """The widest ring in which a member is drawn; of a bundle of computed members, in which anything is drawn or given."""
    draws = [st for st in protocol.body if isinstance(st, p.Draw)]
    own = [st.type.number for st in draws if st.name in bundle.members]
    rings = own or [one.type.number for one in (*draws, *protocol.inputs)]
    return max(((ring.modulus - 1).bit_length() for ring in rings if isinstance(ring, p.Ring)), default=0)


def _operands_of(bundle: p.Bundle, instance: Instance) -> list[str]:
    """The values that a member is computed from, in whatever lines: what is there before any request are weights."""
    made: dict[str, set[str]] = {}
    for st in instance.protocol.body:
        if isinstance(st, p.Assign):
            made.setdefault(st.target, set()).update(names_of(st.value))
    todo, seen = set(bundle.members), set[str]()
    while todo:
        name = todo.pop()
        seen.add(name)
        todo |= made.get(name, set()) - seen
    read = {name.partition(".")[0] for name in seen}
    return [value for name, value in instance.inputs if name in read]


def _providers(bundle: p.Bundle, instance: Instance) -> frozenset[str]:
    """Parties that draw, hold or compute every member before anything is sent of it."""
    found: frozenset[str] | None = None
    for st in instance.protocol.body:
        match st:
            case p.Draw() if st.name in bundle.members:
                holders = frozenset(st.holders)
            case p.Assign() if st.target in bundle.members:
                holders = frozenset({st.party})
            case _:
                continue
        found = holders if found is None else found & holders
    roles = dict(instance.roles)
    parties = {roles.get(role, role) for role in found or ()}
    return frozenset(party for party in parties if not party.startswith(IDEAL))


def kind_of(expr: Expr) -> str:
    """`triple`, or `triple(ring: 64)`."""
    match expr:
        case Ref():
            return expr.name.rsplit(".", 1)[-1]
        case Apply():
            return expr.fn.rsplit(".", 1)[-1]
        case _:
            return getattr(expr, "value", "")
