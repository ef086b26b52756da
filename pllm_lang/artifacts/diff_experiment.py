"""What the experiments of two locks ask of a run: its budget, its machines, who runs them, and the stocks.

In: two locks. Out: what differs, as `(aspect, what, before, after, weaker)`. A larger budget is weaker: it burns more material
and gives a wrong result more chances; so are less in a stock, parties on one machine, and one who runs parties that several ran
before. That a machine or a maker is another one is told and not judged: both were proved.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pllm_lang.artifacts.lock_data import Filed, Lock
from pllm_lang.catalog.expr import Expr, ListOf, Num, Ref, Text
from pllm_lang.ir.experiment import Experiment, Stock
from pllm_lang.ir.plan import ComponentUse

Told = tuple[Literal["privacy", "cost"], str, str, str, bool]
NONE = "none"
REMOTE = "remote"
LEFT = ": left"


def experiments(first: Lock, second: Lock) -> Iterator[Told]:
    old, new = first.documents.experiment, second.documents.experiment
    if old is None and new is None:
        return
    for name, a, b in _pairs(_budget(old), _budget(new)):
        yield "cost", f"budget: {name}", a, b, _larger(a, b)
    yield from _verified(old, new)
    a, b = _kind(old), _kind(new)
    if a != b:
        yield "privacy", "how the parties are deployed", a, b, a == REMOTE
    yield from _administered(_administrators(old), _administrators(new))
    for party, a, b in _pairs(_machines(first), _machines(second)):
        yield "cost", f"machine of `{party}`", a, b, False
    for what, a, b in _pairs(_stocks(old), _stocks(new)):
        yield "cost", what, a, b, what.endswith(LEFT) and not _larger(a, b) if _whole(a) else False


def _verified(old: Experiment | None, new: Experiment | None) -> Iterator[Told]:
    """Checks of results that are gone, that others make, or with a parameter that is smaller."""
    a, b = _verification(old), _verification(new)
    if a == b:
        return
    weaker = a is not None and (b is None or a.key != b.key or _smaller(dict(b.params), dict(a.params)))
    yield "privacy", "how results are checked", _use(a), _use(b), weaker


def _verification(experiment: Experiment | None) -> ComponentUse | None:
    slots = () if experiment is None else experiment.slots
    return next((use for slot, use in slots if slot == "verification"), None)


def _smaller(new: dict[str, Expr], old: dict[str, Expr]) -> bool:
    return any(
        name not in new
        or not (_whole(_value(value)) and _whole(_value(new[name])))
        or int(_value(new[name])) < int(_value(value))
        for name, value in old.items()
        if new.get(name) != value
    )


def _use(use: ComponentUse | None) -> str:
    if use is None:
        return NONE
    params = ", ".join(f"{name}: {_value(value)}" for name, value in use.params)
    return use.key.rpartition(".")[2] + (f"({params})" if params else "")


def _pairs(old: dict[str, str], new: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """What differs, NONE where one side says nothing."""
    for name in sorted(old.keys() | new.keys()):
        a, b = old.get(name, NONE), new.get(name, NONE)
        if a != b:
            yield name, a, b


def _administered(old: dict[str, str], new: dict[str, str]) -> Iterator[Told]:
    """Weaker where nobody is said any more, or somebody runs a party beside one that others ran before."""
    for party, a, b in _pairs(old, new):
        beside = {other for other, who in new.items() if other != party and who == b}
        merged = any(old.get(other) != a for other in beside)
        yield "privacy", f"who runs the machine of `{party}`", a, b, b == NONE or merged


def _kind(experiment: Experiment | None) -> str:
    deployment = None if experiment is None else experiment.deployment
    return NONE if deployment is None else deployment.kind


def _larger(a: str, b: str) -> bool:
    """No limit is the largest; so is what is no number, since a lock may come from anybody."""
    return not _whole(b) or (_whole(a) and int(b) > int(a))


def _whole(text: str) -> bool:
    return len(text) < 40 and text.isascii() and text.isdecimal()


def _budget(experiment: Experiment | None) -> dict[str, str]:
    return {} if experiment is None else dict(experiment.budget)


def _administrators(experiment: Experiment | None) -> dict[str, str]:
    deployment = None if experiment is None else experiment.deployment
    return {} if deployment is None else dict(deployment.administered_by)


def _machines(lock: Lock) -> dict[str, str]:
    """Each party's machine by what its record says, not by its name."""
    experiment, records = lock.documents.experiment, lock.documents.records
    deployment = None if experiment is None else experiment.deployment
    if deployment is None:
        return {}
    return {party: _fields(records.get(key)) for party, key in deployment.hosts}


def _fields(filed: Filed | None) -> str:
    if filed is None or filed.record is None:
        return NONE
    fields = sorted(filed.record.fields.items())
    return ", ".join(f"{name} {_value(value)}" for name, value in fields) or NONE


def _value(expr: Expr) -> str:
    match expr:
        case ListOf(items=items):
            return f"[{', '.join(map(_value, items))}]"
        case Ref(name=word) | Num(value=word) | Text(value=word):
            return word
        case _:
            return str(expr)


def _stocks(experiment: Experiment | None) -> dict[str, str]:
    stocks = () if experiment is None else experiment.stocks
    return {
        f"stock `{stock.key.rpartition('.')[2]}`: {what}": told
        for stock in stocks
        for what, told in _stock(stock)
    }


def _stock(stock: Stock) -> Iterator[tuple[str, str]]:
    yield LEFT.removeprefix(": "), stock.count
    yield "provider", stock.provider
    for what, told in (
        ("ring_bits", stock.ring_bits),
        ("weights", stock.weights),
        ("session", stock.session),
    ):
        if told:
            yield what, told
