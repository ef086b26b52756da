"""Replay: the plan walked once, every range worked out from its operands, every bound that is owed asked again.

In: a lock that was read. The certificate states what is known of every result; each statement has to follow by the rules of
`facts.py` from what was stated, and so shown, before. Out: the obligations that the plan has by these rules. They have
to be the certificate's, no fewer and no more.
"""

from __future__ import annotations

from pllm_lang.artifacts.lock_data import Lock
from pllm_lang.artifacts.replay import facts as f
from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay import terms as t
from pllm_lang.artifacts.replay.derive import claims_of, derive, names_of_step, store
from pllm_lang.artifacts.replay.givens import begin_with, fact_of_constant, put
from pllm_lang.artifacts.replay.members import has_its_members
from pllm_lang.artifacts.replay.owed import carrier_of, judge, requirements, truly
from pllm_lang.artifacts.replay.refusal import ReplayError, need
from pllm_lang.artifacts.replay.signature import fits
from pllm_lang.artifacts.replay.stated import Stated, all_met, chosen, statements
from pllm_lang.artifacts.replay.states import begin_as_promised
from pllm_lang.artifacts.replay.terms import Names
from pllm_lang.artifacts.replay.walked import (
    CLEAR,
    MAX_STEPS,
    Claim,
    Judged,
    Said,
    Value,
    Walked,
    component_key,
    component_of,
    counted_turn,
    form_of,
    most_runs,
    number_of,
    record,
    steps_of,
    value_of,
)
from pllm_lang.catalog.expr import Apply, Ref
from pllm_lang.catalog.records import OperandSpec, Operator
from pllm_lang.ir.plan import Node, Placement, Repeat, Requirement, StateWrite, Step

ANY_FAILURE = 1 << 64
"""What allows so much limits nothing."""


def walk(lock: Lock) -> Walked:
    plan = lock.documents.ir
    for form in plan.formats:
        if abs(form.frac) > n.MAX_BITS:
            raise ReplayError("certificate.plan", f"`{form.name}` has more fraction bits than are followed")
        low, high = t.held_by(form) or (0, 0)
        need(low <= high, "certificate.plan", f"`{form.name}` holds no number")
    has_its_members(plan)
    every = [step for stage in plan.stages for step in steps_of(stage.body)]
    stated = statements(lock.documents.certificate.met)
    walked = Walked(lock, every, {id(step): i for i, step in enumerate(every)}, stated)
    for given in (*plan.weights, *plan.inputs, *plan.states):
        begin_with(walked, given)
    begin_as_promised(walked)
    for constant in plan.constants:
        fact = fact_of_constant(constant, form_of(lock, constant.type))
        put(walked, constant.value, constant.type, fact, Placement("public"))
    for stage in plan.stages:
        for given in stage.inputs:
            begin_with(walked, given)
        _nodes(walked, stage.body)
    if len(walked.used) < len(lock.documents.certificate.met):
        turns: dict[int, list[list[f.Fact]]] = {number: [] for number in stated}
        for step, view in walked.ran:
            turns[walked.number[id(step)]].append(view.shown)
        all_met(stated, walked.used, turns)
    _failures(walked)
    return walked


# ---- nodes ----
def _nodes(walked: Walked, body: tuple[Node, ...]) -> None:
    for node in body:
        if isinstance(node, Step):
            _step(walked, node)
        elif isinstance(node, Repeat):
            _repeat(walked, node)
        elif isinstance(node, StateWrite):
            _write(walked, node)
        else:
            _requirement(walked, node)


def _repeat(walked: Walked, repeat: Repeat) -> None:
    """Turn by turn, until a turn leaves what it began with: all later ones are equal to it."""
    for one in repeat.carried:
        walked.values[one.inner] = value_of(walked, one.initial)
    for index in range(repeat.low, repeat.high):
        counted_turn(walked)
        before = [walked.values[one.inner] for one in repeat.carried]
        counted = len(walked.failures)
        _nodes(walked, repeat.body)
        for value, held in [(one.inner, value_of(walked, one.next)) for one in repeat.carried]:
            alike = held.type == walked.values[value].type
            need(alike, "certificate.plan", "a turn hands on another type than it was handed", f"%{value}")
            walked.values[value] = held
        if before == [walked.values[one.inner] for one in repeat.carried]:
            rest = repeat.high - index
            walked.failures[counted:] = [(each, times * rest) for each, times in walked.failures[counted:]]
            break
    for one in repeat.carried:
        walked.values[one.final] = walked.values[one.inner]


def _write(walked: Walked, write: StateWrite) -> None:
    """What is written is owed where it is promised to every later read."""
    key = number_of(write.state)
    kept, held = value_of(walked, key), value_of(walked, write.value)
    promised, written = kept.fact, held.fact
    if kept.type != held.type:
        raise ReplayError(
            "certificate.plan", "what is written to a state is of another type", f"%{write.value}"
        )
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
    truly(node.condition, names, "a requirement of the plan")
    every = [node for stage in walked.lock.documents.ir.stages for node in _requirements(stage.body)]
    walked.owed.add(("bounds.requirement", -1 - next(i for i, one in enumerate(every) if one is node)))


def _requirements(body: tuple[Node, ...]) -> list[Requirement]:
    found: list[Requirement] = []
    for node in body:
        if type(node) is Repeat:
            found += _requirements(node.body)
        elif type(node) is Requirement:
            found.append(node)
    return found


# ---- one step ----
def _step(walked: Walked, step: Step) -> None:
    """A step on operands of which the same is known was judged before: all that the judgement looks at is in the key, but for the
    records, the formats and the policy, which are one for the lock. (Values are one where they are equal; `alike` keeps them.)
    """
    number = walked.number[id(step)]
    if len(walked.ran) >= MAX_STEPS:
        raise ReplayError("certificate.beyond", f"the plan has more than {MAX_STEPS} steps to follow")
    values = [value_of(walked, operand) for operand in step.operands]
    stated = walked.stated.get(number)
    if stated is None:
        raise ReplayError("certificate.facts", "nothing is stated of its results", f"step {number}")
    alike = walked.judged.setdefault((step.operator, *map(id, values)), [])
    judged_by = (
        *(step.params, step.types, step.use, step.party, step.assumes),
        *(step.stated_holding, step.structural, id(stated)),
    )
    view = next((one for by, one in alike if by == judged_by), None)
    if view is None:
        view = _judged(walked, step, values, stated, f"step {number}")
        alike.append((judged_by, view))
    walked.ran.append((step, view))
    walked.names[number] = view.names
    walked.used.add((number, view.used))
    results = step.results
    walked.values.update(zip(results, view.results, strict=True))
    walked.owed.update([(code, results[place]) for code, place in view.owed])
    walked.told.update([(code, results[place], text) for code, place, text in view.told])
    walked.failures += [(each, 1) for each in view.failing]
    reached = [held.fact.range for held in (*values, *view.results)]
    if number in walked.reach:  # another turn
        reached = list(map(n.hull, walked.reach[number], reached))
        errors = list(map(n.least, walked.errors[number], view.errors))
    else:
        errors = view.errors
    walked.reach[number], walked.errors[number] = reached, errors


def _judged(walked: Walked, step: Step, values: list[Value], stated: Stated, where: str) -> Judged:
    said, lock = _said(walked, step), walked.lock
    if step.structural and not said.moves:
        raise ReplayError("certificate.plan", "a step is said to move entries, and its operator computes")
    operator, forms = said.operator, [form_of(lock, type_) for type_ in step.types]
    if len(values) != len(operator.operands) or not step.results:
        raise ReplayError("certificate.plan", f"the lock holds no operator `{step.operator}` for this step")
    in_clear = said.component is not None and component_key(step) == CLEAR
    names = names_of_step(walked, step, said, values, forms)
    taken = [(held.type.shape, form_of(lock, held.type)) for held in values]
    given = [(type_.shape, form) for type_, form in zip(step.types, forms, strict=True)]
    fits(operator, taken, given, names, where)
    view = Judged(said, values, names, step.structural or said.moves or in_clear, forms)
    view.modulus = carrier_of(lock, view)
    derived = [derive(view, place, type_, where) for place, type_ in enumerate(step.types)]
    names.facts |= {spec.name: fact for spec, fact in zip(operator.results, derived, strict=True)}
    stored = [store(view, step, place, fact, where) for place, fact in enumerate(derived)]
    judge(lock, view, step, derived, where)
    view.shown = stored
    facts, view.used = chosen(stated, stored, where)
    for spec, type_, fact in zip(operator.results, step.types, facts, strict=True):
        found = Value(type_, f.reshaped(fact, type_.shape), _placed(view, step, spec))
        view.results.append(walked.alike.setdefault(found, found))
    return view


def _said(walked: Walked, step: Step) -> Said:
    key = step.operator, component_key(step)
    found = walked.said.get(key)
    if found is None:
        operator, component = record(walked, step.operator), component_of(walked, step)
        if not isinstance(operator, Operator):
            raise ReplayError(
                "certificate.plan", f"the lock holds no operator `{step.operator}` for this step"
            )
        claims: dict[str, list[Claim]] = {}
        own = () if component is None else claims_of(component.ensures)
        for claim in (*claims_of(operator.ensures), *own):
            claims.setdefault(claim.result, []).append(claim)
        rounds = frozenset(claim.result for claim in own if claim.slot == "error")
        rests_on = () if component is None else (*component.rests_on, *operator.rests_on)
        means = {clause.name: clause.expr for clause in reversed(operator.means)}
        moves, owed = "structural" in operator.fields, requirements(operator, component)
        found = walked.said[key] = Said(operator, component, moves, means, claims, owed, rounds, rests_on)
    return found


def _placed(view: Judged, step: Step, spec: OperandSpec) -> Placement:
    """Who has a result: as its protocol says, at the step's party, as stated, or where the operands lie."""
    component = view.said.component
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
        (held.place for held in view.values),
        key=lambda place: strength.index(place.kind),
        default=Placement("public"),
    )


# ---- failures ----
def _failures(walked: Walked) -> None:
    """The chances of all steps that may fail, added up over all runs, within every budget that the plan or policy states."""
    documents = walked.lock.documents
    failing = [(each, times) for each, times in walked.failures if each != 0]
    limits = [
        one.condition
        for stage in documents.ir.stages
        for one in _requirements(stage.body)
        if "failure" in t.named_in(one.condition)
    ]
    budget = None if documents.policy is None else documents.policy.fields.get("failure_budget")
    limits += [] if budget is None else [Apply("<=", (Ref("failure"), budget))]
    if failing and all(t.holds(limit, t.failing(ANY_FAILURE)) for limit in limits):
        raise ReplayError("certificate.bound", "steps may fail, and nothing says how often they may")
    runs = most_runs(documents.experiment) if failing else 1
    total = n.total(*(n.product(each, times * runs) for each, times in failing))
    for limit in limits:
        if total is None or not t.holds(limit, t.failing(total)):
            raise ReplayError("certificate.bound", "steps fail more often than is allowed")
        walked.owed.add(("bounds.failure", -1))
