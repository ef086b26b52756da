"""The names that a step's clauses may use, and the view of the step that the rules get.

In: a step with the facts, types and placements of its operands. Out: a `StepView`, its environment filled from the
operator's signature, the parameters of operator and component, and the derived facts of the results.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pllm_lang.catalog.apply import Inferred, Params, Problem, Type, infer, result_facts
from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term
from pllm_lang.catalog.expr import Apply, Expr, ListOf, Num, Ref, Text
from pllm_lang.catalog.facts import Exact, Facts, Known
from pllm_lang.catalog.formats import ulp
from pllm_lang.catalog.infer import declared_formats
from pllm_lang.catalog.records import Component, Format, Operator, ParamSpec
from pllm_lang.exact.number import exact, ratio
from pllm_lang.ir.plan import UNKNOWN, ComponentUse, Placement, Step, TensorType
from pllm_lang.verify.view import CLEAR, PlanView, StepView

_BOOLEANS = {"true": 1, "false": 0}


def make_view(
    plan: PlanView,
    step: Step,
    facts: Sequence[Facts],
    types: Sequence[TensorType],
    places: Sequence[Placement],
) -> StepView | None:
    """The step as the rules see it; None where a type error has left it without types."""
    operator = plan.library.operator(step.operator)
    env = None if operator is None else _environment(plan, step, operator, types)
    if operator is None or env is None:
        return None
    names = [spec.name for spec in operator.operands]
    env.facts = dict(zip(names, facts, strict=False))
    component = component_of(plan, step)
    n_parties = party_count(places, step.use)
    if n_parties is not None:
        env.context["n_parties"] = n_parties
    if component is not None and step.use is not None:
        add_parameters(env, step.use, component, plan)
    derived = result_facts(operator, env, component)
    if component is not None and "rounds" in component.fields:
        derived |= _unchanged(operator, env)
    env.facts |= derived
    in_order = tuple(derived[spec.name] for spec in operator.results)
    return StepView(step, operator, component, env, tuple(types), tuple(places), in_order, n_parties)


def _unchanged(operator: Operator, env: Env) -> dict[str, Facts]:
    """Known results that lie on the grid of their format: a method that rounds to a neighbour leaves them as they are."""
    found = result_facts(operator, env)
    return {
        name: facts
        for name, facts in found.items()
        if facts.value is not None and _fits(facts.value, env, name)
    }


def _fits(value: Known, env: Env, name: str) -> bool:
    step = ulp(env.formats[name])
    return step is not None and all(ratio(entry, step).denominator == 1 for entry in value.entries)


def component_of(plan: PlanView, step: Step) -> Component | None:
    """The component that covers a step: the one it names, or `clear` at the party it names."""
    key = step.use.key if step.use is not None else CLEAR if step.party else ""
    return plan.library.component(key) if key else None


def party_count(places: Iterable[Placement], use: ComponentUse | None = None) -> int | None:
    """How many parties hold the shared operands, else how many are bound to the component's roles; None for neither."""
    counts = [len(place.parties) for place in places if place.kind == "shared"]
    if counts or use is None or not use.roles:
        return max(counts, default=None)
    return len({party for _, party in use.roles})


def _environment(plan: PlanView, step: Step, operator: Operator, types: Sequence[TensorType]) -> Env | None:
    if UNKNOWN in types or UNKNOWN in step.types:
        return None
    operands = {
        spec.name: Type(plan.format_of(type_), type_.shape)
        for spec, type_ in zip(operator.operands, types, strict=False)
    }
    params = parameters(step.params, operator.params, plan)
    params.formats |= declared_formats(operator, plan.library.format)
    inferred = infer(operator, operands, params)
    if isinstance(inferred, Problem):
        return None
    return _with_results(inferred, plan, step, operator)


def _with_results(inferred: Inferred, plan: PlanView, step: Step, operator: Operator) -> Env:
    env = inferred.env
    for spec, type_ in zip(operator.results, step.types, strict=True):
        env.formats[spec.name] = plan.format_of(type_)
        env.shapes[spec.name] = type_.shape
    return env


def parameters(given: Iterable[tuple[str, Expr]], specs: Iterable[ParamSpec], plan: PlanView) -> Params:
    """Parameter values by what they are: numbers, formats, lists, words."""
    kinds = {spec.name: spec.kind for spec in specs}
    params = Params()
    for name, value in given:
        _put(params, name, value, kinds.get(name, ""), plan.plan.formats)
    return params


def _put(params: Params, name: str, value: Expr, kind: str, formats: Sequence[Format]) -> None:
    match value:
        case Num():
            params.exact[name] = exact(value.value)
        case Ref() if kind == "boolean":
            params.exact[name] = _BOOLEANS[value.name]
        case Ref() if value.name.startswith("%f"):
            params.formats[name] = formats[int(value.name[2:])]
        case Ref():
            params.words[name] = value.name
        case Text():
            params.words[name] = value.value
        case ListOf():
            params.lists[name] = tuple(_numbers(value))
        case _:
            found = exact_term(value, Env())
            if found is not None:
                params.exact[name] = found
            elif isinstance(value, Apply):  # a component with its parameters is told by its name
                params.words[name] = value.fn


def _numbers(values: ListOf) -> Iterable[Exact]:
    for item in values.items:
        found = exact_term(item, Env())
        if found is not None:
            yield found


def add_parameters(env: Env, use: ComponentUse, component: Component, plan: PlanView) -> None:
    """Put the component's parameters beside the operator's names, which win where both have one."""
    specs = [spec for spec in component.params if spec.name not in env.facts]
    own = {spec.name for spec in specs}
    params = parameters([pair for pair in use.params if pair[0] in own], specs, plan)
    bound = {*params.exact, *params.formats, *params.lists, *params.words}
    env.unbound = (env.unbound | {spec.name for spec in specs}) - bound
    env.exact = params.exact | env.exact
    env.formats = params.formats | env.formats
    env.lists = params.lists | env.lists
    env.words = params.words | env.words
