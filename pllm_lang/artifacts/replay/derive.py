"""Replay: what follows of the results of one step, from its operands, its operator's meaning and its component's claims."""

from __future__ import annotations

import msgspec

from pllm_lang.artifacts.replay import facts as f
from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay import terms as t
from pllm_lang.artifacts.replay.facts import Fact
from pllm_lang.artifacts.replay.givens import with_bounds, with_norm
from pllm_lang.artifacts.replay.numbers import Range, Size
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.terms import Names
from pllm_lang.artifacts.replay.walked import Claim, Judged, Said, Value, Walked, form_of
from pllm_lang.catalog.expr import AnyRank, Apply, Expr, ListOf, Num, Ref, Text
from pllm_lang.catalog.records import Clause, Format
from pllm_lang.ir.plan import Step, TensorType

FLIPPED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "==": "=="}
UP, DOWN = ("<=", "<", "=="), (">=", ">", "==")


# ---- what names stand for in the records of a step ----
def names_of_step(walked: Walked, step: Step, said: Said, values: list[Value], forms: list[Format]) -> Names:
    names = Names({}, {}, {}, {}, {})
    operator = said.operator
    for spec, held in zip(operator.operands, values, strict=True):
        names.facts[spec.name] = held.fact
        form = names.formats[spec.name] = form_of(walked.lock, held.type)
        if isinstance(spec.format, Ref) and spec.format.name in operator.format_vars:
            names.formats.setdefault(spec.format.name, form)
        bind(spec.shape, held.type.shape, names)
    for spec, form in zip(operator.results, forms, strict=True):
        names.formats[spec.name] = form
    for name, given in step.params:
        _parameter(walked, name, given, names)
    own = step.use.params if said.component is not None and step.use is not None else ()
    taken = names.facts.keys() | {name for name, _ in step.params} if own else ()
    for name, given in own:
        if name not in taken:
            _parameter(walked, name, given, names)
    parties = [len(held.place.parties) for held in values if held.place.kind == "shared"]
    roles = {party for _, party in step.use.roles} if step.use is not None else set[str]()
    if parties or roles:
        names.exact["n_parties"] = max(parties, default=len(roles))
    return names


def bind(pattern: tuple[Expr, ...], shape: tuple[int, ...], names: Names) -> None:
    """Sizes that stand alone get their value; `...s` takes what the others leave."""
    extra, spread, i = len(shape) - len(pattern), False, 0
    for dim in pattern:
        if isinstance(dim, AnyRank) and not spread and extra >= -1:
            spread = True
            names.lists.setdefault(dim.name, shape[i : i + extra + 1])
            i += extra + 1
            continue
        if isinstance(dim, Ref) and i < len(shape):
            names.exact.setdefault(dim.name, shape[i])
        i += 1
    if i != len(shape):
        raise ReplayError("certificate.plan", "an operand has another rank than its operator takes")


def _parameter(walked: Walked, name: str, given: Expr, names: Names) -> None:
    match given:
        case Num():
            names.exact[name] = n.number(given.value)
        case Ref(name="true" | "false" as word):
            names.exact[name] = int(word == "true")
            names.words[name] = word
        case Ref(name=word) if word.startswith("%f"):
            names.formats[name] = form_of(walked.lock, TensorType(int(word[2:]), ()))
        case Ref() | Text():
            names.words[name] = given.name if isinstance(given, Ref) else given.value
        case ListOf():
            found = [t.exact(item, Names()) for item in given.items]
            names.lists[name] = tuple(one for one in found if one is not None)  # pyright: ignore[reportArgumentType]
        case _:
            found = t.exact(given, Names())
            if found is not None:
                names.exact[name] = found


# ---- what records say of results ----
def claims_of(clauses: tuple[Clause, ...]) -> list[Claim]:
    return [claim for clause in clauses if (claim := _claim(clause.expr)) is not None]


def _claim(expr: Expr) -> Claim | None:
    match expr:
        case Apply(fn=op, args=(Apply(fn=slot, args=(Ref(name=name),)), bound)) if op in FLIPPED:
            return Claim(slot, name, op, bound)
        case Apply(fn=op, args=(bound, Apply(fn=slot, args=(Ref(name=name),)))) if op in FLIPPED:
            return Claim(slot, name, FLIPPED[op], bound)
        case _:
            return None


def derive(view: Judged, position: int, type_: TensorType, where: str) -> Fact:
    """By the operator's meaning, sharpened by what its record ensures, widened by the component's own error."""
    name, said = view.said.operator.results[position].name, view.said
    meaning = said.means.get(name)
    found = None if meaning is None else t.value(meaning, view.names)
    if found is not None and found.shape != type_.shape and not _repeats(found.shape, type_.shape):
        raise ReplayError("certificate.plan", f"`{name}` has another shape than its operator gives it", where)
    fact = found or Fact()
    fact = f.settled(f.reshaped(fact, type_.shape))
    claims = [(claim, _limit(claim, view.names)) for claim in said.claims.get(name, ())]
    error: Size = 0
    for claim, bound in claims:
        if claim.slot == "error":
            limit = bound if claim.op in ("<=", "<", "==") else None
            error = None if limit is None or error is None else max(error, limit[1])
    if fact.range is None:
        fact = _claimed_whole(fact, claims)
    for claim, bound in claims:
        if bound is not None and claim.slot != "error":
            fact = _sharpened(fact, claim, bound, view.names)
    view.errors.append(error)
    return _widened(f.settled(fact), error)


def _repeats(shape: f.Shape, over: f.Shape) -> bool:
    """Whether an open broadcast can be of a shape."""
    return f.ANY in shape and f.joined(shape, over) == over


def _limit(claim: Claim, names: Names) -> Range:
    found = t.value(claim.limit, names)
    return None if found is None else found.range


def _claimed_whole(fact: Fact, claims: list[tuple[Claim, Range]]) -> Fact:
    """Both ends at once, where the meaning gives none."""
    low = high = None
    for claim, bound in claims:
        if bound is not None:
            low = bound[0] if claim.slot == "min" and claim.op in DOWN else low
            high = bound[1] if claim.slot == "max" and claim.op in UP else high
    return (
        fact
        if low is None or high is None or low > high
        else msgspec.structs.replace(fact, range=(low, high))
    )


def _sharpened(fact: Fact, claim: Claim, bound: tuple[n.Number, n.Number], names: Names) -> Fact:
    slot = claim.slot
    up = bound[1] if claim.op in UP else None
    down = bound[0] if claim.op in DOWN else None
    if "norm" in slot:
        return fact if up is None else with_norm(fact, slot, up, t.square_above(claim.limit, names))
    if slot == "max_abs":
        return fact if up is None else msgspec.structs.replace(fact, range=n.meet(fact.range, n.around(up)))
    if fact.range is None:
        return fact
    low, high = fact.range
    if slot == "max" and up is not None:
        high = min(high, up)
    if slot == "min" and down is not None:
        low = max(low, down)
    return fact if low > high else msgspec.structs.replace(fact, range=(low, high))


def _widened(fact: Fact, error: Size) -> Fact:
    """Every entry is off by at most `error`: norms grow by that of a vector of errors."""
    if error is None:
        return Fact(fact.shape)
    if not error:
        return fact
    spread = n.add(fact.range, (-error, error))

    def wider(norms: f.Norms, count: Size) -> f.Norms:
        two = n.product(count, error, error)
        cross = n.product(2, n.root_above(n.product(norms[0], two)))
        return n.total(norms[0], two, cross), n.total(norms[1], n.product(count, error))

    return Fact(fact.shape, spread, wider(fact.rows, f.size(fact, -1)), wider(fact.cols, f.size(fact, -2)))


def store(view: Judged, step: Step, position: int, fact: Fact, where: str) -> Fact:
    """On the grid of its format: by a component that says how far it rounds, else in the clear to a neighbour."""
    form, name = view.forms[position], view.said.operator.results[position].name
    unit = t.step_of(form)
    if unit is not None and not n.divides(unit, fact.unit):
        component = view.said.component
        own = () if component is None else claims_of(component.ensures)
        if any(claim.slot == "error" and claim.result == name for claim in own):
            fact = msgspec.structs.replace(fact, unit=unit)
        elif view.clear or component is None:
            x = fact.range
            spread = None if x is None else (x[0] // unit * unit, -(-x[1] // unit) * unit)
            fact = Fact(fact.shape, spread, unit=unit)
        else:
            text = "a result is off its grid and nothing says how it is rounded"
            raise ReplayError("certificate.bound", text, where)
    if form.kind != "float" and not n.within(fact.range, t.held_by(form)):
        raise ReplayError("certificate.bound", "a result leaves its format", where)
    return (
        with_bounds(fact, tuple(b for b in step.assumes if b.result == position))
        if step.assumes
        else f.settled(fact)
    )
