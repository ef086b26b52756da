"""Replay: what one step owes: a component that covers it, bounds, requirements, a ring that holds it."""

from __future__ import annotations

from fractions import Fraction
from math import prod

from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay import terms as t
from pllm_lang.artifacts.replay.facts import Fact
from pllm_lang.artifacts.replay.givens import bound_text
from pllm_lang.artifacts.replay.numbers import Range
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.terms import Names
from pllm_lang.artifacts.replay.walked import CLEAR, View, form_of
from pllm_lang.catalog.expr import Apply, Between, Expr, Item, ListOf, Num, Ref, Text
from pllm_lang.catalog.records import Component

FLOATS = (
    "floating-point steps stay finite and near their real-valued meaning (checked at run time, not proved)"
)
UNBOUNDED = ("float", "label", "index")


def truly(condition: Expr, names: Names, what: str) -> None:
    if not t.holds(condition, names):
        error = "error" in _functions(condition)
        code = "certificate.beyond" if error else "certificate.bound"
        raise ReplayError(
            code,
            f"{what} speaks of an error, which replay does not follow"
            if error
            else f"{what} does not follow",
        )


def _functions(expr: Expr) -> set[str]:
    return {expr.fn}.union(*map(_functions, expr.args)) if isinstance(expr, Apply) else set()


# ---- what a step owes ----
def judge(view: View, derived: list[Fact]) -> None:
    walked, step, component = view.walked, view.step, view.component
    first, where = step.results[0], f"step {walked.number[id(step)]}"
    owed = walked.owed
    if component is None and not (step.structural or "structural" in view.operator.fields):
        raise ReplayError("certificate.coverage", "nothing covers this step", where)
    if component is not None:
        owed.add(("coverage.no_component", first))
        _covered(view, component, first, where)
    for result, type_, fact, position in zip(
        step.results, step.types, derived, range(len(derived)), strict=True
    ):
        form = form_of(walked.lock, type_)
        if form.kind not in UNBOUNDED and not (form.kind == "exact" and view.clear()):
            if fact.range is None:
                raise ReplayError("certificate.bound", "nothing bounds a result", where)
            owed.add(("bounds.unknown", result))
        if t.held_by(form) is not None:
            owed.add(("bounds.overflow", result))
            walked.told |= {("bounds.overflow", result, FLOATS)} if form.kind == "float" else set()
        own = [b for b in step.assumes if b.result == position]
        owed |= {("bounds.contradiction", result) for _ in own}
        walked.told |= {("bounds.contradiction", result, bound_text(b)) for b in own}
    for one in (view.operator, *(() if component is None else (component,))):
        for clause in one.requires:
            truly(clause.expr, view.names, f"what `{one.name}` requires")
            owed.add(("coverage.requirement" if _plain(clause.expr, view.names) else "bounds.domain", first))


def _plain(expr: Expr, names: Names) -> bool:
    """Whether a condition speaks of no tensor."""
    match expr:
        case Ref():
            return expr.name not in names.facts
        case Apply():
            return expr.fn in t.READS or all(_plain(arg, names) for arg in expr.args)
        case ListOf() | Item():
            return all(_plain(item, names) for item in expr.items)
        case Between():
            return _plain(expr.low, names) and _plain(expr.high, names)
        case _:
            return isinstance(expr, Num | Text)


def _covered(view: View, component: Component, first: int, where: str) -> None:
    walked, step, names = view.walked, view.step, view.names
    operator = step.operator.rpartition(".")[2]
    if step.use is not None and step.use.key != CLEAR:
        if component.kind != "method" or not {step.operator, operator} & set(component.implements):
            raise ReplayError(
                "certificate.coverage", f"`{component.name}` is no method for `{operator}`", where
            )
        walked.owed.add(("coverage.wrong_operator", first))
    policy = walked.lock.documents.policy
    if component.n_parties is not None and not (
        "n_parties" not in names.exact and policy is None and component.roles
    ):
        wanted = component.n_parties
        several = isinstance(wanted, ListOf | Between)
        truly(
            Apply("in" if several else "==", (Ref("n_parties"), wanted)),
            names,
            f"the number of parties of `{component.name}`",
        )
        walked.owed.add(("coverage.party_count", first))
    _carried(view, component, where)
    modulus = carrier_of(view)
    for clause in component.intermediates:
        found = t.value(clause.expr, names)
        if (
            modulus is None
            or found is None
            or found.range is None
            or not n.within(found.range, centred(modulus))
        ):
            raise ReplayError(
                "certificate.bound", f"the intermediate `{clause.name}` is not shown to fit its ring", where
            )
        walked.owed.add(("bounds.intermediate", first))
    if component.failure is not None:
        each = t.value(component.failure, names)
        chance = (
            None if each is None or each.range is None else min(max(each.range[1], Fraction(0)), Fraction(1))
        )
        walked.failures.append(
            (n.product(chance, Fraction(sum(prod(type_.shape) for type_ in step.types))), 1)
        )


def centred(modulus: int) -> Range:
    return Fraction(-(modulus // 2)), Fraction((modulus - 1) // 2)


def _carried(view: View, component: Component, where: str) -> None:
    """What a component takes into its ring and gives out of it fits the ring, in the ring's units."""
    text = component.protocol
    own = {} if text is None else {spec.name: spec.format for spec in (*text.inputs, *text.outputs)}
    if component.carrier is not None and ring_of(component.carrier, view.names) is None:
        raise ReplayError("certificate.bound", f"the carrier of `{component.name}` is no ring", where)
    typed = [(s, v.type, v.fact, True) for s, v in zip(view.operator.operands, view.values, strict=True)]
    typed += [
        (s, y, view.names.facts[s.name], False)
        for s, y in zip(view.operator.results, view.step.types, strict=True)
    ]
    for spec, type_, fact, entering in typed:
        form, ring = form_of(view.walked.lock, type_), own.get(spec.name) or component.carrier
        modulus = None if ring is None else ring_of(ring, view.names)
        if modulus is None:
            if not entering and form.kind in ("exact", "float") and not view.clear():
                raise ReplayError("certificate.bound", "nothing says in what ring a result lies", where)
            continue
        whole = form.kind != "float" and (
            form.kind != "exact" or (fact.unit is not None and fact.unit.denominator == 1)
        )
        scale = Fraction(2) ** form.frac
        if (
            (entering and not whole)
            or fact.range is None
            or not n.within(n.mul(fact.range, (scale, scale)), centred(modulus))
        ):
            raise ReplayError("certificate.bound", f"`{spec.name}` is not shown to fit the ring", where)
        view.walked.owed.add(("bounds.carrier", view.step.results[0]))


def ring_of(ring: Expr, names: Names) -> int | None:
    """The modulus of `ring(bits)`, `ring(modulus: q)`, or of a tensor of it."""
    if isinstance(ring, Item):
        return ring_of(ring.base, names)
    if not isinstance(ring, Apply) or ring.fn != "ring":
        return None
    named = dict(ring.named)
    stated = named.get("modulus") or next(iter(ring.args), None)
    size = None if stated is None else t.exact(stated, names)
    if size is None or size.denominator != 1 or not 1 <= size <= 1 << 4096:
        return None
    return int(size) if "modulus" in named else 1 << int(size) if size <= 4096 else None


def carrier_of(view: View) -> int | None:
    """The modulus in which a step computes: its component's, else that of a format of its results or operands."""
    component = view.component
    if component is not None and component.carrier is not None:
        return ring_of(component.carrier, view.names)
    forms = [form_of(view.walked.lock, type_) for type_ in (*view.step.types, *(v.type for v in view.values))]
    return next((int(form.modulus) for form in forms if form.modulus), None)
