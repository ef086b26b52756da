"""Replay: the plan walked once, every range worked out from its operands, every bound that is owed asked again.

In: a lock that was read. The certificate states what is known of every result; each statement has to follow by the rules of
`facts.py` from what was stated, and so shown, before. Out: the obligations that the plan has by these rules. They have
to be the certificate's, no fewer and no more.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from pllm_lang.artifacts.lock_data import Lock, Row
from pllm_lang.artifacts.replay import facts as f
from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay import terms as t
from pllm_lang.artifacts.replay.derive import derive, names_of_step, store
from pllm_lang.artifacts.replay.givens import begin_with, fact_of_constant, put
from pllm_lang.artifacts.replay.owed import judge, truly
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.stated import chosen
from pllm_lang.artifacts.replay.terms import Names
from pllm_lang.artifacts.replay.walked import (
    MAX_STEPS,
    View,
    Walked,
    component_of,
    counted_turn,
    form_of,
    record,
    steps_of,
    value_of,
)
from pllm_lang.catalog.expr import Apply, Ref
from pllm_lang.catalog.records import OperandSpec, Operator
from pllm_lang.ir.plan import Member, Node, Placement, Repeat, Requirement, StateWrite, Step


def walk(lock: Lock) -> Walked:
    plan = lock.documents.ir
    every = [step for stage in plan.stages for step in steps_of(stage.body)]
    stated: dict[int, list[tuple[Row, ...]]] = defaultdict(list)
    for met in lock.documents.certificate.met:
        stated[met.step].append(met.results)
    number = {id(step): i for i, step in enumerate(every)}
    walked = Walked(lock, stated, set(), number, {}, set(), {}, [], {}, every)
    for given in (*plan.weights, *plan.inputs, *plan.states):
        begin_with(walked, given)
    for constant in plan.constants:
        put(walked, constant.value, constant.type, fact_of_constant(constant), Placement("public"))
    for stage in plan.stages:
        for given in stage.inputs:
            begin_with(walked, given)
        _nodes(walked, stage.body)
    if len(walked.used) < len(lock.documents.certificate.met):
        raise ReplayError("certificate.facts", "it states results that no step of the plan has")
    _failures(walked)
    return walked


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
        walked.values[one.inner] = value_of(walked, one.initial)
    for index in range(repeat.low, repeat.high):
        counted_turn(walked)
        before = [walked.values[one.inner] for one in repeat.carried]
        counted = len(walked.failures)
        _nodes(walked, repeat.body)
        for value, held in [(one.inner, value_of(walked, one.next)) for one in repeat.carried]:
            walked.values[value] = held
        if before == [walked.values[one.inner] for one in repeat.carried]:
            rest = repeat.high - index
            walked.failures[counted:] = [(each, times * rest) for each, times in walked.failures[counted:]]
            break
    for one in repeat.carried:
        walked.values[one.final] = walked.values[one.inner]


def _write(walked: Walked, write: StateWrite) -> None:
    """What is written is owed where it is promised to every later read."""
    key = write.state.family if isinstance(write.state, Member) else write.state
    promised, written = value_of(walked, key).fact, value_of(walked, write.value).fact
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
        found += (
            _requirements(node.body)
            if isinstance(node, Repeat)
            else [node]
            if isinstance(node, Requirement)
            else []
        )
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
    values = [value_of(walked, operand) for operand in step.operands]
    view = View(
        walked, step, operator, component, values, names_of_step(walked, step, operator, component, values)
    )
    derived = [derive(view, spec) for spec in operator.results]
    view.names.facts |= {spec.name: fact for spec, fact in zip(operator.results, derived, strict=True)}
    stored = [store(view, i, fact) for i, fact in enumerate(derived)]
    judge(view, derived)
    facts = chosen(walked, number, stored)
    reached = [held.fact.range for held in values] + [fact.range for fact in facts]
    before = walked.reach.get(number, reached)
    walked.reach[number] = [n.hull(x, y) for x, y in zip(before, reached, strict=True)]
    for spec, result, type_, fact in zip(operator.results, step.results, step.types, facts, strict=True):
        put(walked, result, type_, fact, _placed(view, spec))
    walked.ran.append(view)
    walked.first = step.results[0] if walked.first < 0 else walked.first


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
