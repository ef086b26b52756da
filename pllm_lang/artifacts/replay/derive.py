"""Replay: what follows of the results of one step, from its operands, its operator's meaning and its component's claims."""

from __future__ import annotations

from fractions import Fraction

import msgspec

from pllm_lang.artifacts.replay import facts as f
from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay import terms as t
from pllm_lang.artifacts.replay.facts import Fact
from pllm_lang.artifacts.replay.givens import with_bounds, with_norm
from pllm_lang.artifacts.replay.numbers import Size
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.terms import Names
from pllm_lang.artifacts.replay.walked import Value, View, Walked, form_of
from pllm_lang.catalog.expr import AnyRank, Apply, Expr, ListOf, Num, Ref, Text
from pllm_lang.catalog.records import Clause, Component, OperandSpec, Operator
from pllm_lang.ir.plan import Step, TensorType

FLIPPED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "==": "=="}


def names_of_step(
    walked: Walked, step: Step, operator: Operator, component: Component | None, values: list[Value]
) -> Names:
    names = Names({}, {}, {}, {}, {})
    for spec, held in zip(operator.operands, values, strict=True):
        names.facts[spec.name] = held.fact
        form = names.formats[spec.name] = form_of(walked.lock, held.type)
        if isinstance(spec.format, Ref) and spec.format.name in operator.format_vars:
            names.formats.setdefault(spec.format.name, form)
        bind(spec.shape, held.type.shape, names)
    for spec, type_ in zip(operator.results, step.types, strict=True):
        names.formats[spec.name] = form_of(walked.lock, type_)
    own = step.use.params if component is not None and step.use is not None else ()
    for name, given in (
        *step.params,
        *((k, v) for k, v in own if k not in names.facts and k not in dict(step.params)),
    ):
        _parameter(walked, name, given, names)
    parties = [len(held.place.parties) for held in values if held.place.kind == "shared"]
    roles = {party for _, party in step.use.roles} if step.use is not None else set[str]()
    if parties or roles:
        names.exact["n_parties"] = Fraction(max(parties, default=len(roles)))
    return names


def bind(pattern: tuple[Expr, ...], shape: tuple[int, ...], names: Names) -> None:
    """Sizes that stand alone get their value; `...s` takes what the others leave."""
    spread = next((i for i, dim in enumerate(pattern) if isinstance(dim, AnyRank)), None)
    extra = len(shape) - len(pattern) + (spread is not None)
    if extra < 0 or (spread is None and extra):
        raise ReplayError("certificate.plan", "an operand has another rank than its operator takes")
    for i, dim in enumerate(pattern):
        if isinstance(dim, AnyRank):
            names.lists.setdefault(dim.name, shape[i : i + extra])
        elif isinstance(dim, Ref):
            names.exact.setdefault(
                dim.name, Fraction(shape[i if spread is None or i < spread else i + extra - 1])
            )


def _parameter(walked: Walked, name: str, given: Expr, names: Names) -> None:
    match given:
        case Num():
            names.exact[name] = n.number(given.value)
        case Ref(name="true" | "false" as word):
            names.exact[name] = Fraction(word == "true")
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


# ---- the facts of a result ----
def derive(view: View, spec: OperandSpec) -> Fact:
    """By the operator's meaning, sharpened by what its record ensures, widened by the component's own error."""
    meaning = next((clause.expr for clause in view.operator.means if clause.name == spec.name), None)
    fact = (None if meaning is None else t.value(meaning, view.names)) or Fact()
    position = view.operator.results.index(spec)
    fact = f.settled(msgspec.structs.replace(fact, shape=view.step.types[position].shape))
    error: Size = Fraction(0)
    low = high = None
    records = (view.operator,) if view.component is None else (view.operator, view.component)
    claims = [
        c
        for one in records
        for clause in one.ensures
        if (c := _claim(clause)) is not None and c[1] == spec.name
    ]
    for slot, _, op, limit in claims:
        found = t.value(limit, view.names)
        bound = None if found is None else found.range
        if slot == "error":
            error = None if bound is None or error is None else max(error, bound[1])
        elif bound is not None and fact.range is None:
            low = bound[0] if slot == "min" and op in (">=", ">", "==") else low
            high = bound[1] if slot == "max" and op in ("<=", "<", "==") else high
    if fact.range is None and low is not None and high is not None and low <= high:
        fact = msgspec.structs.replace(fact, range=(low, high))
    number = view.walked.number[id(view.step)]
    before = view.walked.errors.get((number, position), error)
    view.walked.errors[number, position] = n.least(before, error)
    for claim in claims:
        fact = _sharpened(fact, claim, view.names)
    return _widened(f.settled(fact), error)


def _claim(clause: Clause) -> tuple[str, str, str, Expr] | None:
    """`slot(result) op bound`."""
    match clause.expr:
        case Apply(fn=op, args=(Apply(fn=slot, args=(Ref(name=name),)), bound)) if op in FLIPPED:
            return slot, name, op, bound
        case Apply(fn=op, args=(bound, Apply(fn=slot, args=(Ref(name=name),)))) if op in FLIPPED:
            return slot, name, FLIPPED[op], bound
        case _:
            return None


def _sharpened(fact: Fact, claim: tuple[str, str, str, Expr], names: Names) -> Fact:
    slot, _, op, limit = claim
    found = t.value(limit, names)
    if found is None or found.range is None or slot == "error":
        return fact
    up = found.range[1] if op in ("<=", "<", "==") else None
    down = found.range[0] if op in (">=", ">", "==") else None
    low, high = fact.range or (None, None)
    if "norm" in slot:
        return fact if up is None else with_norm(fact, slot, up, t.square_above(limit, names))
    if slot == "max_abs":
        return fact if up is None else msgspec.structs.replace(fact, range=n.meet(fact.range, n.around(up)))
    if slot == "max" and up is not None:
        high = up if high is None else min(high, up)
    if slot == "min" and down is not None:
        low = down if low is None else max(low, down)
    return (
        fact
        if low is None or high is None or low > high
        else msgspec.structs.replace(fact, range=(low, high))
    )


def _widened(fact: Fact, error: Size) -> Fact:
    """Every entry is off by at most `error`: norms grow by that of a vector of errors."""
    if error is None:
        return Fact(fact.shape)
    if not error:
        return fact
    spread = n.add(fact.range, (-error, error))

    def wider(norms: f.Norms, count: Size) -> f.Norms:
        two = n.product(count, error, error)
        cross = n.product(Fraction(2), n.root_above(n.product(norms[0], two)))
        return n.total(norms[0], two, cross), n.total(norms[1], n.product(count, error))

    return Fact(fact.shape, spread, wider(fact.rows, f.size(fact, -1)), wider(fact.cols, f.size(fact, -2)))


def store(view: View, position: int, fact: Fact) -> Fact:
    """On the grid of its format: by a component that says how far it rounds, else in the clear to a neighbour."""
    form, step = view.form(position), t.step_of(view.form(position))
    name = view.operator.results[position].name
    if step is not None and (fact.unit is None or (fact.unit / step).denominator != 1):
        says = (
            ()
            if view.component is None
            else (c for clause in view.component.ensures if (c := _claim(clause)) is not None)
        )
        if any(slot == "error" and result == name for slot, result, _, _ in says):
            fact = msgspec.structs.replace(fact, unit=step)
        elif view.clear() or view.component is None:
            x = fact.range
            fact = Fact(
                fact.shape, None if x is None else (x[0] // step * step, -(-x[1] // step) * step), unit=step
            )
        else:
            raise ReplayError(
                "certificate.bound",
                "a result is off its grid and nothing says how it is rounded",
                f"step {view.walked.number[id(view.step)]}",
            )
    if form.kind != "float" and not n.within(fact.range, t.held_by(form)):
        raise ReplayError(
            "certificate.bound", "a result leaves its format", f"step {view.walked.number[id(view.step)]}"
        )
    return with_bounds(fact, tuple(b for b in view.step.assumes if b.result == position))
