"""Replay, 5 of 6: the plan walked once, every range worked out from its operands, every bound that is owed asked again.

In: a lock that was read. The certificate states what is known of every result; each statement has to follow by the rules of
`replay_facts.py` from what was stated, and so shown, before. Out: the obligations that the plan has by these rules. They have
to be the certificate's, no fewer and no more.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import prod
from typing import Any

import msgspec

from pllm_lang.artifacts import replay_facts as f
from pllm_lang.artifacts import replay_numbers as n
from pllm_lang.artifacts import replay_terms as t
from pllm_lang.artifacts.lock_data import Lock, Row
from pllm_lang.artifacts.replay_facts import Fact
from pllm_lang.artifacts.replay_numbers import Range, Size
from pllm_lang.artifacts.replay_read import ReplayError, record_of
from pllm_lang.artifacts.replay_terms import Names
from pllm_lang.catalog.expr import AnyRank, Apply, Between, Expr, Item, ListOf, Num, Ref, Text
from pllm_lang.catalog.records import Clause, Component, Format, OperandSpec, Operator
from pllm_lang.ir.plan import (
    Bound,
    Constant,
    Input,
    Member,
    Node,
    Operand,
    Placement,
    Repeat,
    Requirement,
    State,
    StateWrite,
    Step,
    TensorType,
    Weight,
)

CLEAR = "std.methods.clear"
MAX_STEPS = 120_000
"""Steps, and turns of repeats, that are followed."""
FLOATS = (
    "floating-point steps stay finite and near their real-valued meaning (checked at run time, not proved)"
)
UNBOUNDED = ("float", "label", "index")
FLIPPED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "==": "=="}
Owed = tuple[str, int]
"""Code, and the value that it is about."""


class Value(msgspec.Struct, frozen=True):
    type: TensorType
    fact: Fact
    place: Placement


class Walked(msgspec.Struct):
    """`owed` is every obligation met; `reach` bounds the operands and results of each step, over all its turns, by number.
    `errors` are how far results may be off, by step and position; `told` is what has to be listed as assumed, by obligation.
    `every` are the steps as written, `ran` as they ran; `texts` gives a step the protocol of its component."""

    lock: Lock
    stated: dict[int, list[tuple[Row, ...]]]
    used: set[tuple[int, int]]
    number: dict[int, int]
    values: dict[int, Value]
    owed: set[Owed]
    reach: dict[int, list[Range]]
    failures: list[tuple[Size, int]]
    records: dict[str, Any]
    every: list[Step]
    ran: list[View] = []
    texts: dict[int, int] = {}
    errors: dict[tuple[int, int], Size] = {}
    told: set[tuple[str, int, str]] = set()
    turns: int = 0
    first: int = -1
    steps: int = 0


def walk(lock: Lock) -> Walked:
    plan = lock.documents.ir
    every = [step for stage in plan.stages for step in steps_of(stage.body)]
    stated: dict[int, list[tuple[Row, ...]]] = defaultdict(list)
    for met in lock.documents.certificate.met:
        stated[met.step].append(met.results)
    number = {id(step): i for i, step in enumerate(every)}
    walked = Walked(lock, stated, set(), number, {}, set(), {}, [], {}, every)
    for given in (*plan.weights, *plan.inputs, *plan.states):
        _given(walked, given)
    for constant in plan.constants:
        _put(walked, constant.value, constant.type, _constant(constant), Placement("public"))
    for stage in plan.stages:
        for given in stage.inputs:
            _given(walked, given)
        _nodes(walked, stage.body)
    if len(walked.used) < len(lock.documents.certificate.met):
        raise ReplayError("certificate.facts", "it states results that no step of the plan has")
    _failures(walked)
    return walked


def steps_of(body: tuple[Node, ...]) -> list[Step]:
    found: list[Step] = []
    for node in body:
        found += steps_of(node.body) if isinstance(node, Repeat) else [node] if isinstance(node, Step) else []
    return found


def _put(walked: Walked, value: int, type_: TensorType, fact: Fact, place: Placement) -> None:
    walked.values[value] = Value(type_, msgspec.structs.replace(fact, shape=type_.shape), place)


def form_of(lock: Lock, type_: TensorType) -> Format:
    if not 0 <= type_.format < len(lock.documents.ir.formats):
        raise ReplayError("certificate.plan", "a value has no format")
    form = lock.documents.ir.formats[type_.format]
    if abs(form.frac) > n.MAX_BITS:
        raise ReplayError("certificate.plan", f"`{form.name}` has more fraction bits than are followed")
    return form


# ---- what a plan begins with ----
def _given(walked: Walked, given: Input | Weight | State) -> None:
    form = form_of(walked.lock, given.type)
    stated = given.bounds if isinstance(given, State) else (*given.bounds, *given.assumed)
    ends = {"min", "max", "max_abs"} & {bound.slot for bound in stated}
    limit = t.held_by(form)
    _stated_range(given, limit)
    known = Fact(given.type.shape, None if form.kind == "float" and not ends else limit, unit=t.step_of(form))
    public = Placement("public") if isinstance(given, Weight) and not given.secret_from else Placement()
    place = public if isinstance(given, Weight) else given.placement
    _put(walked, given.value, given.type, _with_bounds(known, stated), place)
    walked.owed.add(("bounds.stated_range", given.value))
    seen = () if isinstance(given, State) else given.assumed
    walked.told |= {
        ("bounds.stated_range", given.value, f"{_bound_text(b)} was only seen on data") for b in seen
    }


def _bound_text(bound: Bound) -> str:
    return f"{bound.slot} {bound.op} {bound.limit}"


def _stated_range(given: Input | Weight | State, limit: Range) -> None:
    low, high = _ends(given.bounds)
    if low is not None and high is not None and low > high:
        raise ReplayError("certificate.bound", "its stated range is empty", f"%{given.value}")
    for one in (low, high):
        if limit is not None and one is not None and not limit[0] <= one <= limit[1]:
            raise ReplayError("certificate.bound", "its stated range leaves its format", f"%{given.value}")


def _ends(bounds: tuple[Bound, ...]) -> tuple[Size, Size]:
    lows = [
        n.number(b.limit) * (-1 if b.slot == "max_abs" else 1) for b in bounds if b.slot in ("min", "max_abs")
    ]
    highs = [n.number(b.limit) for b in bounds if b.slot in ("max", "max_abs")]
    return max(lows, default=None), min(highs, default=None)


def _with_bounds(fact: Fact, bounds: tuple[Bound, ...]) -> Fact:
    """What is stated is taken as true; that it is possible, or only assumed, is the plan's own affair."""
    if any(bound.op != (">=" if bound.slot in ("min", "row_max") else "<=") for bound in bounds):
        raise ReplayError("certificate.plan", "a bound is stated from the side that says nothing")
    low, high = _ends(bounds)
    if fact.range is not None:
        low, high = (
            max(x for x in (low, fact.range[0]) if x is not None),
            min(x for x in (high, fact.range[1]) if x is not None),
        )
    found = (low, high) if low is not None and high is not None and low <= high else fact.range
    fact = msgspec.structs.replace(fact, range=found)
    for bound in bounds:
        if "norm" in bound.slot:
            fact = _with_norm(fact, bound.slot, n.number(bound.limit))
    return f.settled(fact)


def _with_norm(fact: Fact, slot: str, limit: Fraction, square: Size = None) -> Fact:
    side = "cols" if slot.startswith("col") else "rows"
    two, one = getattr(fact, side)
    norms = (n.least(two, limit * limit, square), one) if slot.endswith("2") else (two, n.least(one, limit))
    return msgspec.structs.replace(fact, **{side: norms})


def _constant(constant: Constant) -> Fact:
    entries = [n.number(entry) for entry in constant.entries]
    unit = f.common(*(abs(e) for e in entries if e)) or Fraction(1)
    return (
        Fact(constant.type.shape, (min(entries), max(entries)), unit=unit)
        if entries
        else Fact(constant.type.shape)
    )


# ---- nodes ----
def _nodes(walked: Walked, body: tuple[Node, ...]) -> None:
    for node in body:
        match node:
            case Step():
                _step(walked, node)
            case Repeat():
                _repeat(walked, node)
            case StateWrite():
                _write(walked, node)
            case Requirement():
                _requirement(walked, node)


def _repeat(walked: Walked, repeat: Repeat) -> None:
    """Turn by turn, until a turn leaves what it began with: all later ones are equal to it."""
    for one in repeat.carried:
        walked.values[one.inner] = _value(walked, one.initial)
    for index in range(repeat.low, repeat.high):
        counted_turn(walked)
        before = [walked.values[one.inner] for one in repeat.carried]
        counted = len(walked.failures)
        _nodes(walked, repeat.body)
        for value, held in [(one.inner, _value(walked, one.next)) for one in repeat.carried]:
            walked.values[value] = held
        if before == [walked.values[one.inner] for one in repeat.carried]:
            rest = repeat.high - index
            walked.failures[counted:] = [(each, times * rest) for each, times in walked.failures[counted:]]
            break
    for one in repeat.carried:
        walked.values[one.final] = walked.values[one.inner]


def counted_turn(walked: Walked) -> None:
    """A repeat that does nothing takes time as well."""
    walked.turns += 1
    if walked.turns > 2 * MAX_STEPS:
        raise ReplayError("certificate.beyond", f"the plan has more than {MAX_STEPS} turns to follow")


def _value(walked: Walked, operand: Operand) -> Value:
    found = walked.values.get(operand.family if isinstance(operand, Member) else operand)
    if found is None:
        raise ReplayError("certificate.plan", "a step reads a value that nothing makes")
    return found


def _write(walked: Walked, write: StateWrite) -> None:
    """What is written is owed where it is promised to every later read."""
    key = write.state.family if isinstance(write.state, Member) else write.state
    promised, written = _value(walked, key).fact, _value(walked, write.value).fact
    fits = [n.within(written.range, promised.range)]
    for axis, side in ((-1, promised.rows), (-2, promised.cols)):
        fits += [
            limit is None or (x is not None and x <= limit)
            for limit, x in zip(side, f.norms(written, axis), strict=True)
        ]
    if not all(fits):
        raise ReplayError(
            "certificate.bound",
            "what is written to a state leaves what the state promises",
            f"%{write.value}",
        )
    if any(b.slot == "error" for s in walked.lock.documents.ir.states if s.value == key for b in s.bounds):
        raise ReplayError("certificate.beyond", "replay follows no errors, and a state states one")
    walked.owed.add(("bounds.state", write.value))


def _requirement(walked: Walked, node: Requirement) -> None:
    if "failure" in t.named_in(node.condition):
        return
    names = Names({f"%v{value}": one.fact for value, one in walked.values.items()})
    names.formats = {
        f"%v{v}": form_of(walked.lock, one.type) for v, one in walked.values.items() if one.type.format >= 0
    }
    _truly(node.condition, names, "a requirement of the plan")
    every = [node for stage in walked.lock.documents.ir.stages for node in _requirements(stage.body)]
    walked.owed.add(("bounds.requirement", -1 - next(i for i, one in enumerate(every) if one is node)))


def _requirements(body: tuple[Node, ...]) -> list[Requirement]:
    found: list[Requirement] = []
    for node in body:
        found += (
            _requirements(node.body)
            if isinstance(node, Repeat)
            else [node]
            if isinstance(node, Requirement)
            else []
        )
    return found


def _truly(condition: Expr, names: Names, what: str) -> None:
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


# ---- one step ----
def record(walked: Walked, key: str) -> Any:
    if key not in walked.records:
        walked.records[key] = record_of(walked.lock, key)
    return walked.records[key]


def component_of(walked: Walked, step: Step) -> Component | None:
    key = step.use.key if step.use is not None else CLEAR if step.party else ""
    found = record(walked, key) if key else None
    if key and not isinstance(found, Component):
        raise ReplayError("certificate.plan", f"the lock holds no component `{key}`")
    return found


def _step(walked: Walked, step: Step) -> None:
    number = walked.number[id(step)]
    walked.steps += 1
    if walked.steps > MAX_STEPS:
        raise ReplayError("certificate.beyond", f"the plan has more than {MAX_STEPS} steps to follow")
    operator, component = record(walked, step.operator), component_of(walked, step)
    if step.structural and (not isinstance(operator, Operator) or "structural" not in operator.fields):
        raise ReplayError("certificate.plan", "a step is said to move entries, and its operator computes")
    if not isinstance(operator, Operator) or len(step.operands) != len(operator.operands) or not step.results:
        raise ReplayError("certificate.plan", f"the lock holds no operator `{step.operator}` for this step")
    values = [_value(walked, operand) for operand in step.operands]
    view = View(walked, step, operator, component, values, _names(walked, step, operator, component, values))
    derived = [_derived(view, spec) for spec in operator.results]
    view.names.facts |= {spec.name: fact for spec, fact in zip(operator.results, derived, strict=True)}
    stored = [_stored(view, i, fact) for i, fact in enumerate(derived)]
    _judge(view, derived)
    facts = _stated(walked, number, stored)
    reached = [held.fact.range for held in values] + [fact.range for fact in facts]
    before = walked.reach.get(number, reached)
    walked.reach[number] = [n.hull(x, y) for x, y in zip(before, reached, strict=True)]
    for spec, result, type_, fact in zip(operator.results, step.results, step.types, facts, strict=True):
        _put(walked, result, type_, fact, _placed(view, spec))
    walked.ran.append(view)
    walked.first = step.results[0] if walked.first < 0 else walked.first


class View(msgspec.Struct):
    walked: Walked
    step: Step
    operator: Operator
    component: Component | None
    values: list[Value]
    names: Names

    def clear(self) -> bool:
        """Whether a party computes on values that it knows, or entries only move."""
        use, moves = self.step.use, self.step.structural or "structural" in self.operator.fields
        return moves or (self.component is not None and (use is None or use.key == CLEAR))

    def form(self, position: int) -> Format:
        return form_of(self.walked.lock, self.step.types[position])


def _names(
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
def _derived(view: View, spec: OperandSpec) -> Fact:
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
        return fact if up is None else _with_norm(fact, slot, up, t.square_above(limit, names))
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


def _stored(view: View, position: int, fact: Fact) -> Fact:
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
    return _with_bounds(fact, tuple(b for b in view.step.assumes if b.result == position))


def _stated(walked: Walked, number: int, shown: list[Fact]) -> list[Fact]:
    """The narrowest that the certificate states of this step's results and that follows from what was worked out; the walk
    goes on with the statement. All that follow count as used: a wider one may be of a turn of which replay knows more than
    the verifier did."""
    best: tuple[Fraction, list[Fact]] | None = None
    for place, rows in enumerate(walked.stated[number]):
        known = [_claimed(row, fact, number) for row, fact in zip(rows, shown, strict=False)]
        follows = [fact for fact in known if fact is not None]
        if not len(rows) == len(shown) == len(follows):
            continue
        walked.used.add((number, place))
        width = sum((n.largest(fact.range) or Fraction(0) for fact in follows), Fraction(0))
        if best is None or width < best[0]:
            best = width, follows
    if best is None:
        raise ReplayError(
            "certificate.facts", "no statement about its results follows from its operands", f"step {number}"
        )
    return best[1]


def _claimed(row: Row, shown: Fact, number: int) -> Fact | None:
    """What a row states, None where that does not follow."""

    def size(text: str) -> Size:
        return n.number(text) if text else None

    try:
        low, high, unit = size(row.low), size(row.high), size(row.unit)
        rows, cols = (size(row.row2), size(row.row1)), (size(row.col2), size(row.col1))
    except (ValueError, ZeroDivisionError):
        raise ReplayError("certificate.facts", "it states a number that is none", f"step {number}") from None
    if (low is None) != (high is None) or (unit is not None and unit <= 0):
        raise ReplayError(
            "certificate.facts", "it states half a range, or a grid of no width", f"step {number}"
        )
    found = None if low is None or high is None else (low, high)
    on_grid = unit is None or (shown.unit is not None and (shown.unit / unit).denominator == 1)
    follows = [n.within(shown.range, found), on_grid]
    for axis, stated in ((-1, rows), (-2, cols)):
        if stated != f.OPEN:
            follows += [
                y is None or (x is not None and x <= y)
                for x, y in zip(f.norms(shown, axis), stated, strict=True)
            ]
    return f.settled(Fact(shown.shape, found, rows, cols, unit, shown.peak)) if all(follows) else None


# ---- what a step owes ----
def _judge(view: View, derived: list[Fact]) -> None:
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
        walked.told |= {("bounds.contradiction", result, _bound_text(b)) for b in own}
    for one in (view.operator, *(() if component is None else (component,))):
        for clause in one.requires:
            _truly(clause.expr, view.names, f"what `{one.name}` requires")
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
        _truly(
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


def _placed(view: View, spec: OperandSpec) -> Placement:
    """Who has a result: as its protocol says, at the step's party, as stated, or where the operands lie."""
    step, component = view.step, view.component
    if component is not None and component.protocol is not None and step.use is not None:
        roles = dict(step.use.roles)
        own = next((one.placement for one in component.protocol.outputs if one.name == spec.name), ("", None))
        match own:
            case "public", _:
                return Placement("public")
            case "as", Apply(fn=holding, args=args):
                names = [arg.name for arg in args if isinstance(arg, Ref)]
                return Placement("shared", tuple(roles.get(name, name) for name in names), holding)
            case _, Ref(name=role):
                return Placement("party", (roles.get(role, role),))
            case _:
                return Placement()
    if step.party:
        return Placement("party", (step.party,))
    if step.stated_holding.kind != "unplaced":
        return step.stated_holding
    strength = ("public", "unplaced", "party", "shared")
    return max(
        (v.place for v in view.values),
        key=lambda place: strength.index(place.kind),
        default=Placement("public"),
    )


# ---- failures ----
def _failures(walked: Walked) -> None:
    """The chances of all steps that may fail, added up over all runs, within every budget that the plan or policy states."""
    documents, failing = (
        walked.lock.documents,
        [(each, times) for each, times in walked.failures if each != 0],
    )
    limits = [
        one.condition
        for stage in documents.ir.stages
        for one in _requirements(stage.body)
        if "failure" in t.named_in(one.condition)
    ]
    budget = None if documents.policy is None else documents.policy.fields.get("failure_budget")
    limits += [] if budget is None else [Apply("<=", (Ref("failure"), budget))]
    if failing and not limits:
        raise ReplayError("certificate.bound", "steps may fail, and nothing says how often they may")
    runs = 1
    for what in ("requests", "max_new_tokens") if documents.experiment is not None and failing else ():
        runs *= max(1, int(dict(documents.experiment.budget).get(what, "1"))) if documents.experiment else 1
    total = n.total(*(n.product(each, Fraction(times * runs)) for each, times in failing))
    for limit in limits:
        if total is None or not t.holds(limit, Names(exact={"failure": total})):
            raise ReplayError("certificate.bound", "steps fail more often than is allowed")
        walked.owed.add(("bounds.failure", -1))
