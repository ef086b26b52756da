"""Replay: what one step owes: a component that covers it, bounds, requirements, a ring that holds it."""

from __future__ import annotations

from math import prod

from pllm_lang.artifacts.lock_data import Lock
from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay import terms as t
from pllm_lang.artifacts.replay.facts import Fact
from pllm_lang.artifacts.replay.givens import bound_text
from pllm_lang.artifacts.replay.numbers import Range
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.terms import Names
from pllm_lang.artifacts.replay.walked import CLEAR, Judged, form_of
from pllm_lang.artifacts.replay.wrapping import says_enough
from pllm_lang.catalog.expr import Apply, Between, Expr, Item, ListOf, Num, Ref, Text
from pllm_lang.catalog.records import Component, Format, Operator
from pllm_lang.ir.plan import Step

FLOATS = (
    "floating-point steps stay finite and near their real-valued meaning (checked at run time, not proved)"
)
NO_NUMBERS = ("label", "index")


def truly(condition: Expr, names: Names, what: str) -> None:
    if not t.holds(condition, names):
        if "error" in _functions(condition):
            text = f"{what} speaks of an error, which replay does not follow"
            raise ReplayError("certificate.beyond", text)
        raise ReplayError("certificate.bound", f"{what} does not follow")


def _functions(expr: Expr) -> set[str]:
    return {expr.fn}.union(*map(_functions, expr.args)) if isinstance(expr, Apply) else set()


def judge(lock: Lock, view: Judged, step: Step, derived: list[Fact], where: str) -> None:
    """Everything that the step owes is shown, or ReplayError."""
    said, owed = view.said, view.owed
    component = said.component
    if component is not None:
        owed.add(("coverage.no_component", 0))
        view.told.update([("coverage.no_component", 0, text) for text in said.rests_on])
        _covered(lock, view, step, component, derived, where)
    elif not (step.structural or said.moves):
        raise ReplayError("certificate.coverage", "nothing covers this step", where)
    for position, (form, fact) in enumerate(zip(view.forms, derived, strict=True)):
        if _owes_a_range(view, form, fact):
            if fact.range is None:
                raise ReplayError("certificate.bound", "nothing bounds a result", where)
            owed.add(("bounds.unknown", position))
        if t.held_by(form) is not None:
            owed.add(("bounds.overflow", position))
            if form.kind == "float":
                view.told.add(("bounds.overflow", position, FLOATS))
    for bound in step.assumes:
        if 0 <= bound.result < len(derived):
            owed.add(("bounds.contradiction", bound.result))
            view.told.add(("bounds.contradiction", bound.result, bound_text(bound)))
    for condition, code, what in said.requires:
        truly(condition, view.names, what)
        owed.add((code, 0))


def _owes_a_range(view: Judged, form: Format, fact: Fact) -> bool:
    """Not a float, nor labels without ends; an exact number in the clear only where known operands leave it unknown, as a
    quotient by 0: else the step that gives it a format owes the range."""
    if form.kind == "exact" and view.clear:
        return fact.range is None and all(held.fact.range is not None for held in view.values)
    return form.kind != "float" and not (form.kind in NO_NUMBERS and t.held_by(form) is None)


def requirements(operator: Operator, component: Component | None) -> list[tuple[Expr, str, str]]:
    """Each with the code under which it is owed, and whose it is."""
    tensors = {spec.name for spec in (*operator.operands, *operator.results)}
    return [
        (
            clause.expr,
            "coverage.requirement" if _plain(clause.expr, tensors) else "bounds.domain",
            f"what `{one.name}` requires",
        )
        for one in ((operator,) if component is None else (operator, component))
        for clause in one.requires
    ]


def _plain(expr: Expr, tensors: set[str]) -> bool:
    """Whether a condition speaks of no tensor."""
    match expr:
        case Ref():
            return expr.name not in tensors
        case Apply():
            return expr.fn in t.READS or all(_plain(arg, tensors) for arg in expr.args)
        case ListOf() | Item():
            return all(_plain(item, tensors) for item in expr.items)
        case Between():
            return _plain(expr.low, tensors) and _plain(expr.high, tensors)
        case _:
            return isinstance(expr, Num | Text)


# ---- a step under a component ----
def _covered(
    lock: Lock, view: Judged, step: Step, component: Component, derived: list[Fact], where: str
) -> None:
    owed, names = view.owed, view.names
    operator = step.operator.rpartition(".")[2]
    if step.use is not None and step.use.key != CLEAR:
        if component.kind != "method" or not {step.operator, operator} & set(component.implements):
            text = f"`{component.name}` is no method for `{operator}`"
            raise ReplayError("certificate.coverage", text, where)
        owed.add(("coverage.wrong_operator", 0))
    wanted, policy = component.n_parties, lock.documents.policy
    if wanted is not None and not ("n_parties" not in names.exact and policy is None and component.roles):
        relation = "in" if isinstance(wanted, ListOf | Between) else "=="
        what = f"the number of parties of `{component.name}`"
        truly(Apply(relation, (Ref("n_parties"), wanted)), names, what)
        owed.add(("coverage.party_count", 0))
    _carried(lock, view, component, derived, where)
    says_enough(view, component, where)
    for clause in component.intermediates:
        found = t.value(clause.expr, names)
        limit = None if view.modulus is None else centred(view.modulus)
        if limit is None or found is None or found.range is None or not n.within(found.range, limit):
            text = f"the intermediate `{clause.name}` is not shown to fit its ring"
            raise ReplayError("certificate.bound", text, where)
        owed.add(("bounds.intermediate", 0))
    if component.failure is not None:
        each = t.value(component.failure, names)
        chance = None if each is None or each.range is None else min(max(each.range[1], 0), 1)
        view.failing.append(n.product(chance, sum(prod(type_.shape) for type_ in step.types)))


def _carried(lock: Lock, view: Judged, component: Component, derived: list[Fact], where: str) -> None:
    """What a component takes into its ring and gives out of it fits the ring, in the ring's units."""
    text, operator = component.protocol, view.said.operator
    if text is None and component.carrier is None and view.clear:
        return
    own = {} if text is None else {spec.name: spec.format for spec in (*text.inputs, *text.outputs)}
    if component.carrier is not None and ring_of(component.carrier, view.names) is None:
        raise ReplayError("certificate.bound", f"the carrier of `{component.name}` is no ring", where)
    operands = [
        (s, form_of(lock, v.type), v.fact) for s, v in zip(operator.operands, view.values, strict=True)
    ]
    results = zip(operator.results, view.forms, derived, strict=True)
    for place, (spec, form, fact) in enumerate((*operands, *results)):
        ring, entering = own.get(spec.name) or component.carrier, place < len(operands)
        modulus = None if ring is None else ring_of(ring, view.names)
        if modulus is None:
            if not entering and form.kind in ("exact", "float") and not view.clear:
                raise ReplayError("certificate.bound", "nothing says in what ring a result lies", where)
            continue
        whole = form.kind not in ("float", "exact") or (form.kind == "exact" and n.divides(1, fact.unit))
        if (entering and not whole) or fact.range is None or not _fits(fact.range, form.frac, modulus):
            raise ReplayError("certificate.bound", f"`{spec.name}` is not shown to fit the ring", where)
        view.owed.add(("bounds.carrier", 0))


def _fits(x: tuple[n.Number, n.Number], frac: int, modulus: int) -> bool:
    scale = n.two_to(frac)
    return n.within((x[0] * scale, x[1] * scale), centred(modulus))


def centred(modulus: int) -> Range:
    return -(modulus // 2), (modulus - 1) // 2


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


def carrier_of(lock: Lock, view: Judged) -> int | None:
    """The modulus in which a step computes: its component's, else that of a format of its results or operands."""
    component = view.said.component
    if component is not None and component.carrier is not None:
        return ring_of(component.carrier, view.names)
    forms = [*view.forms, *(form_of(lock, held.type) for held in view.values)]
    return next((int(form.modulus) for form in forms if form.modulus), None)
