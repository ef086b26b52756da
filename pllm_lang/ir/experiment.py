"""The resolved experiment: what is asked of a plan or a model, where it runs, what it may use up.

Data only. A plan alone has obligations of coverage and bounds; an experiment adds those of targets, material
and budgets. Numbers are exact and written as strings, in base units (bytes, seconds, bits).
"""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.expr import Expr
from pllm_lang.ir.plan import ComponentUse


class Deployment(msgspec.Struct, frozen=True, array_like=True):
    """`hosts` gives a party its target record's key, `administered_by` who runs its machine."""

    kind: str
    root: str = ""
    hosts: tuple[tuple[str, str], ...] = ()
    administered_by: tuple[tuple[str, str], ...] = ()


class Stock(msgspec.Struct, frozen=True, array_like=True):
    """An inventory of one-use material. `key` is its record's, `of` the kind of material with its ring."""

    key: str
    of: Expr
    count: str
    provider: str
    ring_bits: str = ""
    weights: str = ""
    session: str = ""
    fresh: bool = False


class Drawn(msgspec.Struct, frozen=True, array_like=True):
    """What another experiment burns of a stock, within its budget, and for which components."""

    experiment: str
    stock: str
    count: str
    components: tuple[str, ...]


class Experiment(msgspec.Struct, frozen=True):
    """`plan` is the qualified name of a plan, or `model` says which model; never both.

    `session` is the one that it runs in, "" where it states none. `pipeline` is the composition with its parameters,
    `slots` its components by slot; `deployment` None where the experiment names none, so what it would decide is not asked.
    `drawn` is what others burn of its stocks.
    """

    name: str
    policy: str
    plan: str = ""
    model: Expr | None = None
    pipeline: ComponentUse | None = None
    deployment: Deployment | None = None
    stocks: tuple[Stock, ...] = ()
    budget: tuple[tuple[str, str], ...] = ()
    measure: tuple[Expr, ...] = ()
    slots: tuple[tuple[str, ComponentUse], ...] = ()
    session: str = ""
    drawn: tuple[Drawn, ...] = ()
