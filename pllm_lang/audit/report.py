"""What a method's record claims, what of it is derived again, and what is known against it.

In: a component of the library, or a checked plan. Out: `Audited`, one for each component: its source, its bounds and claims
with the ends that were derived, its defects with whether they apply, and what a use of it takes for granted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

import msgspec

from pllm_lang.audit.derive import FIELD, Derived, cases, derive
from pllm_lang.catalog.apply import Claim, claim
from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term, holds
from pllm_lang.catalog.expr import Expr, ListOf, MapOf, Num, Text
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Clause, Component, Format, Operator
from pllm_lang.exact.number import Exact, exact
from pllm_lang.verify.check import PlanReport
from pllm_lang.verify.hosting import defects_of
from pllm_lang.verify.releases import in_versions
from pllm_lang.verify.report import name_of
from pllm_lang.verify.terms import term_text

Outcome = Literal["met", "not met", "not decided", "not derived"]
FINE = Format("fine", "fixed", low="-1", high="1", frac=200)
"""A grid on which rounding is nothing, so that a bound shows what it leaves to the formula alone."""


class Stated(msgspec.Struct, frozen=True):
    """A bound or a claim of a record, and how it compares with what was derived for `operator` and the parameters `given`, of
    which the formula reads more than one value."""

    text: str
    operator: str
    outcome: Outcome
    derived: Derived | None = None
    given: tuple[tuple[str, Exact], ...] = ()


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
    derived = tuple(_derived(component, operators)) if FIELD in component.fields else ()
    fields, given = component.fields, [*envs]
    return Audited(
        component,
        tuple(one.name for one in operators),
        tuple(_domain(component)),
        tuple(_bounds(component, derived)),
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


class Case(NamedTuple):
    """What was derived of one operator with one choice of parameters; `told` are those that the record leaves a choice of, and
    `limits` the errors that its bounds state."""

    operator: Operator
    told: tuple[tuple[str, Exact], ...]
    limits: tuple[Exact | None, ...]
    found: Derived


def _derived(component: Component, operators: Iterable[Operator]) -> Iterator[Case]:
    chosen, claimed = cases(component), [limit for _, limit in _claimed(component)]
    several = [name for name in chosen[0] if len({one[name] for one in chosen}) > 1]
    for operator in operators:
        for given in chosen:
            limits = tuple(_limit(read.bound, operator, given) for _, read in _errors(component))
            asked = [limit for limit in (*limits, *claimed) if limit is not None]
            found = derive(component, operator, given, asked)
            if found is not None:
                yield Case(operator, tuple((name, given[name]) for name in several), limits, found)


def _errors(component: Component) -> list[tuple[Clause, Claim]]:
    """The bounds that a record states of its error."""
    read = [(clause, claim(clause)) for clause in component.ensures]
    return [(clause, found) for clause, found in read if found is not None and found.slot == "error"]


def _limit(bound: Expr, operator: Operator, given: Mapping[str, Exact]) -> Exact | None:
    """A bound on a grid that is as fine as no bound notices."""
    names = [spec.name for spec in (*operator.operands, *operator.results)]
    return exact_term(bound, Env(exact=dict(given), formats=dict.fromkeys(names, FINE)))


def _bounds(component: Component, derived: Sequence[Case]) -> Iterator[Stated]:
    for place, (clause, _) in enumerate(_errors(component)):
        text = term_text(clause.expr)
        if not derived:
            yield Stated(text, "", "not derived")
        for one in derived:
            outcome = _compared(one.limits[place], one.found)
            yield Stated(text, one.operator.name, outcome, one.found, one.told)


def _claims(component: Component, derived: Sequence[Case]) -> Iterator[Stated]:
    for text, limit in _claimed(component):
        if limit is None or not derived:
            yield Stated(text, "", "not derived")
            continue
        first = derived[0]
        yield Stated(text, first.operator.name, _compared(limit, first.found), first.found, first.told)


def _claimed(component: Component) -> Iterator[tuple[str, Fraction | None]]:
    """What the authors claim, with the largest error that they may have rounded to it; None where it is of something else."""
    listed = component.fields.get("claims")
    for name, value in listed.entries if isinstance(listed, MapOf) else ():
        number = Fraction(exact(value.value)) if name == "error" and isinstance(value, Num) else None
        yield (
            f"{name} {term_text(value)}",
            None if number is None else number + _last_digit(number) / 2,
        )


def _compared(limit: Exact | None, found: Derived) -> Outcome:
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
