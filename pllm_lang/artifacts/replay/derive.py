"""Replay: what follows of the results of one step, from its operands, its operator's meaning and its component's claims."""

from __future__ import annotations

from pllm_lang.artifacts.replay import facts as f
from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay import terms as t
from pllm_lang.artifacts.replay.facts import Fact
from pllm_lang.artifacts.replay.givens import with_bounds, with_norm
from pllm_lang.artifacts.replay.numbers import Range, Size
from pllm_lang.artifacts.replay.refusal import ReplayError, need
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
        if type(dim) is AnyRank and not spread and extra >= -1:
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
    names.words[name] = None
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
            known = tuple([one for one in found if one is not None])
            if len(known) == len(found):
                names.lists[name] = known  # pyright: ignore[reportArgumentType]
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
        case Apply(fn=op, args=(bound, Apply(args=(Ref(),)) as told)) if op in FLIPPED:
            return _claim(Apply(FLIPPED[op], (told, bound)))
        case _:
            return None


def derive(view: Judged, position: int, type_: TensorType, where: str) -> Fact:
    """By the operator's meaning, sharpened by what its record ensures, widened by the component's own error."""
    name, said = view.said.operator.results[position].name, view.said
    meaning = said.means.get(name)
    found = None if meaning is None else t.value(meaning, view.names)
    if found is not None and found.shape != type_.shape:
        text = f"`{name}` has another shape than its operator gives it"
        need(_repeats(found.shape, type_.shape), "certificate.plan", text, where)
    fact = f.settled(f.reshaped(found or Fact(), type_.shape))
    known = [(claim, t.value(claim.limit, view.names)) for claim in said.claims.get(name, ())]
    claims = [(claim, None if fact is None else fact.range) for claim, fact in known]
    own = [(claim.op, bound) for claim, bound in claims if claim.slot == "error"]
    error = n.most(0, *(None if bound is None or op not in UP else bound[1] for op, bound in own))
    view.errors.append(error)
    return _widened(_sharpened(fact, claims, view.names), error)


def _repeats(shape: f.Shape, over: f.Shape) -> bool:
    """Whether an open broadcast can be of a shape."""
    return f.ANY in shape and f.joined(shape, over) == over


def _sharpened(fact: Fact, claims: list[tuple[Claim, Range]], names: Names) -> Fact:
    """Norms, and both ends; where the meaning gives no range, both ends have to be claimed."""
    limits = [(claim, bound) for claim, bound in claims if bound is not None]
    if not limits:
        return fact
    highs = [(claim.slot, bound[1]) for claim, bound in limits if claim.op in UP]
    lows = [(claim.slot, bound[0]) for claim, bound in limits if claim.op in DOWN]
    low = max((one for slot, one in lows if slot == "min"), default=None)
    high = min((one for slot, one in highs if slot == "max"), default=None)
    fact = f.changed(fact, range=n.narrowed(fact.range, low, high))
    for slot, top in highs:
        if slot == "max_abs":
            fact = f.changed(fact, range=n.meet(fact.range, n.around(top)))
    for claim, bound in limits:
        if "norm" in claim.slot and claim.op in UP:
            fact = with_norm(fact, claim.slot, bound[1], t.square_above(claim.limit, names))
    return f.settled(fact)


def _widened(fact: Fact, error: Size) -> Fact:
    """Every entry is off by at most `error`: norms grow by that of a vector of errors."""
    if not error:
        return Fact(fact.shape) if error is None else fact
    spread = n.add(fact.range, (-error, error))

    def wider(norms: f.Norms, count: Size) -> f.Norms:
        two = n.product(count, error, error)
        cross = n.product(2, n.root_above(n.product(norms[0], two)))
        return n.total(norms[0], two, cross), n.total(norms[1], n.product(count, error))

    return Fact(fact.shape, spread, wider(fact.rows, f.size(fact, -1)), wider(fact.cols, f.size(fact, -2)))


def store(view: Judged, step: Step, position: int, fact: Fact, where: str) -> Fact:
    """On the grid of its format: by a component that says how far it rounds, else in the clear to a neighbour."""
    form, name = view.forms[position], view.said.operator.results[position].name
    unit, component, x = t.step_of(form), view.said.component, fact.range
    if unit is not None and not n.divides(unit, fact.unit):
        if name in view.said.rounds:
            fact = f.changed(fact, unit=unit)
        else:
            text = "a result is off its grid and nothing says how it is rounded"
            need(view.clear or component is None, "certificate.bound", text, where)
            spread = None if x is None else (x[0] // unit * unit, -(-x[1] // unit) * unit)
            fact = Fact(fact.shape, spread, unit=unit)
    fits = form.kind == "float" or n.within(fact.range, t.held_by(form))
    need(fits, "certificate.bound", "a result leaves its format", where)
    own = tuple(bound for bound in step.assumes if bound.result == position)
    return with_bounds(fact, own) if own else f.settled(fact)
