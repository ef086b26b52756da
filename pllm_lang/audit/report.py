"""What a method's record claims, what of it is derived again, and what is known against it.

In: a component of the library, or a checked plan. Out: `Audited`, one for each component: its source, its bounds and claims
with the ends that were derived, its defects with whether they apply, and what a use of it takes for granted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Literal

import msgspec

from pllm_lang.audit.derive import FIELD, Derived, defaults, derive
from pllm_lang.catalog.apply import claim
from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term, holds
from pllm_lang.catalog.expr import Expr, ListOf, MapOf, Num, Text
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Component, Format, Operator
from pllm_lang.exact.number import exact
from pllm_lang.verify.check import PlanReport
from pllm_lang.verify.hosting import defects_of
from pllm_lang.verify.releases import in_versions
from pllm_lang.verify.report import name_of
from pllm_lang.verify.terms import term_text

Outcome = Literal["met", "not met", "not decided", "not derived"]
FINE = Format("fine", "fixed", low="-1", high="1", frac=200)
"""A grid on which rounding is nothing, so that a bound shows what it leaves to the formula alone."""


class Stated(msgspec.Struct, frozen=True):
    """A bound or a claim of a record, and how it compares with what was derived for `operator`."""

    text: str
    operator: str
    outcome: Outcome
    derived: Derived | None = None


class Against(msgspec.Struct, frozen=True):
    """A known defect; `applies` is None where nothing shows that it does not."""

    text: str
    applies: bool | None


class Audited(msgspec.Struct, frozen=True):
    """One component; of a plan also the names of the steps that use it."""

    component: Component
    operators: tuple[str, ...]
    domain: tuple[str, ...]
    bounds: tuple[Stated, ...]
    claims: tuple[Stated, ...]
    against: tuple[Against, ...]
    assumed: tuple[str, ...]
    source: str = ""
    note: str = ""
    steps: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Nothing that it states is refuted, and no defect may apply."""
        stated = (*self.bounds, *self.claims)
        return all(one.outcome != "not met" for one in stated) and all(
            one.applies is False for one in self.against
        )


def audited(
    component: Component, library: Library, envs: Iterable[Env] = (), steps: Iterable[str] = ()
) -> Audited:
    """`envs` are those of the steps that use it; without any, a defect counts unless its version excludes it."""
    operators = [found for key in component.implements if (found := library.operator(key)) is not None]
    derived = {one.name: derive(component, one) for one in operators} if FIELD in component.fields else {}
    fields, given = component.fields, [*envs]
    return Audited(
        component,
        tuple(one.name for one in operators),
        tuple(_domain(component)),
        tuple(_bounds(component, operators, derived)),
        tuple(_claims(component, derived)),
        tuple(Against(_told(defect), _applies(defect, component, given)) for defect in defects_of(fields)),
        component.rests_on,
        _text(fields.get("source")),
        _text(fields.get("note")),
        tuple(dict.fromkeys(steps)),
    )


def audited_plan(report: PlanReport, library: Library) -> tuple[Audited, ...]:
    """Every component that a plan's steps use and that rests on somebody's word: it names a source, a claim, an assumption
    or a defect. What is left is proved from its own text, or computes its operator as it stands."""
    used: dict[str, tuple[Component, list[Env], list[str]]] = {}
    for met in () if report.flow is None else report.flow.met:
        view = met.judged.view
        if view is None or view.component is None or not is_published(view.component):
            continue
        key = f"{view.component.module}.{view.component.name}"
        _, envs, steps = used.setdefault(key, (view.component, [], []))
        envs.append(view.env)
        steps += [name_of(value, report.source_map) for value in met.step.results]
    return tuple(
        audited(component, library, envs, filter(None, steps)) for component, envs, steps in used.values()
    )


def audited_library(library: Library) -> Iterator[Audited]:
    """Every component of the library that rests on somebody's word, one after another: each may take a second."""
    for key in library.keys("component"):
        component = library.component(key)
        if component is not None and component.kind == "method" and is_published(component):
            yield audited(component, library)


def is_published(component: Component) -> bool:
    """Whether its record names a source, a claim, a formula, a defect or an assumption."""
    return any(name in component.fields for name in ("source", "claims", FIELD, "defects", "assumptions"))


# ---- bounds and claims -------------------------------------------------------------------------------


def _domain(component: Component) -> Iterator[str]:
    for clause in component.requires:
        yield term_text(clause.expr) + (f": {clause.reason}" if clause.reason else "")


def _bounds(
    component: Component, operators: Iterable[Operator], derived: dict[str, Derived | None]
) -> Iterator[Stated]:
    for clause in component.ensures:
        read = claim(clause)
        if read is None or read.slot != "error":
            continue
        text, by = term_text(clause.expr), [(one, derived.get(one.name)) for one in operators]
        if not any(found for _, found in by):
            yield Stated(text, "", "not derived")
        for operator, found in by:
            if found is not None:
                names = [spec.name for spec in (*operator.operands, *operator.results)]
                env = Env(exact=defaults(component.params), formats=dict.fromkeys(names, FINE))
                yield Stated(text, operator.name, _compared(exact_term(read.bound, env), found), found)


def _claims(component: Component, derived: dict[str, Derived | None]) -> Iterator[Stated]:
    listed = component.fields.get("claims")
    for name, value in listed.entries if isinstance(listed, MapOf) else ():
        text = f"{name} {term_text(value)}"
        found = next((one for one in derived.values() if one is not None), None)
        if name != "error" or found is None or not isinstance(value, Num):
            yield Stated(text, "", "not derived")
            continue
        number = Fraction(exact(value.value))
        yield Stated(text, next(iter(derived)), _compared(number + _last_digit(number) / 2, found), found)


def _compared(limit: Fraction | int | None, found: Derived) -> Outcome:
    if limit is None:
        return "not derived"
    return "met" if found.high <= limit else "not met" if found.low > limit else "not decided"


def _last_digit(number: Fraction) -> Fraction:
    """The unit of the last decimal that a claim is written with: it is rounded there."""
    unit = Fraction(1)
    while number % unit and unit > Fraction(1, 10**12):
        unit /= 10
    return unit


# ---- defects -----------------------------------------------------------------------------------------


def _applies(defect: dict[str, Expr], component: Component, envs: list[Env]) -> bool | None:
    versions, when = defect.get("versions"), defect.get("when")
    if isinstance(versions, Text) and not in_versions(component.version, versions.value):
        return False
    if when is None:
        return True if "feature" not in defect else None
    found = {holds(when, env) for env in envs}
    return True if True in found else False if found == {False} else None


def _told(defect: dict[str, Expr]) -> str:
    effect, when, feature = defect.get("effect"), defect.get("when"), defect.get("feature")
    case = "" if when is None else f" where {term_text(when)}"
    machine = "" if feature is None else f" on a machine with {term_text(feature)}"
    return f"{effect.value if isinstance(effect, Text) else 'results are wrong'}{case}{machine}"


def _text(value: Expr | None) -> str:
    if isinstance(value, ListOf):
        return "; ".join(_text(item) for item in value.items)
    return value.value if isinstance(value, Text) else ""
