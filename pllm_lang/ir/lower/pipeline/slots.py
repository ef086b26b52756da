"""The slots of a pipeline: which component does which operator, and what else it is composed of.

In: the pipeline that an experiment names, with its arguments, and the parties of the experiment. Out: `Slots`, and
findings. A pipeline is data: which fields it has decides, never its name. Slots for operators hold methods; the other
slots hold a kernel backend, who prepares, who verifies, who keeps state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from pllm_lang.catalog import expr as ex
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Component, Format, ParamSpec, Policy, Record
from pllm_lang.ir.lower.admits import admits, allowed_text
from pllm_lang.ir.plan import ComponentUse
from pllm_lang.ir.words import show_expr

Report = Callable[[str, str, str], None]
"""Takes code, message and help of what is wrong with the pipeline."""

METHOD = "method"
REST, OUTSIDE = "everything_else", "outside_layers"
FORMATS = ("activations", "weights")
UNASKED = ("profile", "runtime", "source", *FORMATS)
"""Fields that hold no component."""


class Slots(msgspec.Struct, frozen=True):
    """`methods` gives an operator's key the component that does it; `outside` does the same operators before the first and
    after the last layer of a stage, None where the layers' component does; `rest` does every operator that no slot names.

    `activations` and `weights` are the formats that a linear layer of real numbers is quantised to, None where it is not.
    `named` has every component by its slot.
    """

    methods: dict[str, ComponentUse]
    outside: ComponentUse | None = None
    rest: ComponentUse | None = None
    activations: Format | None = None
    weights: Format | None = None
    named: tuple[tuple[str, ComponentUse], ...] = ()


def read_slots(use: ComponentUse, library: Library, policy: Policy | None, report: Report) -> Slots | None:
    """The slots of `use`; None where it is no pipeline of the library, which was reported when the name was read."""
    record = library.get(use.key)
    if not isinstance(record, Record) or record.kind != "pipeline":
        report("experiments.pipeline", "the experiment names no pipeline", "write `pipeline: name`")
        return None
    reading = _Reading(library, policy, record, _arguments(record, use, report), report)
    named = tuple(_components(reading))
    special = dict(named)
    return Slots(
        methods=_methods(reading, named),
        outside=special.get(OUTSIDE),
        rest=special.get(REST),
        activations=_format(reading, "activations"),
        weights=_format(reading, "weights"),
        named=named,
    )


class _Reading(msgspec.Struct):
    library: Library
    policy: Policy | None
    record: Record
    arguments: dict[str, ex.Expr]
    report: Report


def _arguments(record: Record, use: ComponentUse, report: Report) -> dict[str, ex.Expr]:
    """The pipeline's parameters with their values."""
    given = dict(use.params)
    for name in given:
        if name not in {spec.name for spec in record.params}:
            known = ", ".join(f"`{spec.name}`" for spec in record.params) or "none"
            fixed = f"; its `{name}` is fixed, for another one declare a pipeline of your own with the same fields"
            help = f"it takes {known}{fixed if name in record.fields else ''}"
            report("params.unknown", f"`{record.name}` has no parameter `{name}`", help)
    values = {spec.name: given.get(spec.name, spec.default) for spec in record.params}
    for name, value in values.items():
        if value is None:
            report("params.missing", f"`{record.name}` needs `{name}`", f"write `{record.name}({name}: ...)`")
    return {name: value for name, value in values.items() if value is not None}


# ---- components ----
def _components(reading: _Reading) -> Iterator[tuple[str, ComponentUse]]:
    for slot, value in reading.record.fields.items():
        if slot in UNASKED:
            continue
        if slot == "slots" and isinstance(value, ex.MapOf):
            for name, _ in value.entries:
                text = f"the slot `{name}` of `{reading.record.name}` is none that a check knows"
                reading.report("experiments.pipeline", text, "leave it out, or use a field of pipelines")
            continue
        for one in value.items if isinstance(value, ex.ListOf) else (value,):
            found = _component(reading, slot, one)
            if found is not None:
                yield slot, found


def _component(reading: _Reading, slot: str, value: ex.Expr) -> ComponentUse | None:
    value = _put_in(value, reading)
    key = value.fn if isinstance(value, ex.Apply) else value.name if isinstance(value, ex.Ref) else ""
    component = reading.library.component(key)
    if component is None:
        text = f"the slot `{slot}` of `{reading.record.name}` holds no component"
        reading.report("experiments.pipeline", text, f"write `{slot}: name` with a component's name")
        return None
    named = value.named if isinstance(value, ex.Apply) else ()
    given = {name: _put_in(one, reading) for name, one in named}
    _unknown(component, given, reading.report)
    params = tuple(_params(component, given, reading.report))
    return ComponentUse(key, params, tuple(_roles(reading, slot, component, given)))


def _put_in(value: ex.Expr, reading: _Reading) -> ex.Expr:
    """The argument that the pipeline was given, where `value` is one of its parameters."""
    return reading.arguments.get(value.name, value) if isinstance(value, ex.Ref) else value


def _unknown(component: Component, given: Iterable[str], report: Report) -> None:
    known = [*(spec.name for spec in component.params), *component.roles]
    for name in given:
        if name not in known:
            text = f"`{component.name}` has no parameter `{name}`"
            report("params.unknown", text, f"it takes {', '.join(known)}" if known else "it takes none")


def _params(component: Component, given: dict[str, ex.Expr], report: Report) -> Iterator[tuple[str, ex.Expr]]:
    for spec in component.params:
        value = given.get(spec.name, spec.default)
        if value is None:
            text = f"`{component.name}` needs `{spec.name}`"
            report("params.missing", text, f"write `{component.name}({spec.name}: ...)` in the pipeline")
        elif not _admitted(spec, value):
            text = f"`{spec.name}` of `{component.name}` is {spec.kind}{allowed_text(spec.allowed)}; {show_expr(value)} is not"
            report("params.out_of_range", text, "choose another value in the pipeline")
        else:
            yield spec.name, value


def _admitted(spec: ParamSpec, value: ex.Expr) -> bool:
    """Whether the value is of the parameter's kind and range; a default is."""
    number = isinstance(value, ex.Num)
    if spec.kind in ("integer", "real", "ratio") and not (
        number and (spec.kind != "integer" or value.value.removeprefix("-").isdecimal())
    ):
        return False
    return value == spec.default or spec.allowed is None or admits(spec.allowed, value)


def _roles(
    reading: _Reading, slot: str, component: Component, given: dict[str, ex.Expr]
) -> Iterator[tuple[str, str]]:
    """Each role with its party: the one written, else the party of the same name. Kernels run wherever a step does."""
    own = {spec.name for spec in component.params}
    for role in component.roles if slot != "kernels" else ():
        written = None if role in own else given.get(role)
        party = written.name.rsplit(".", 1)[-1] if isinstance(written, ex.Ref) else role
        if reading.policy is None or party in reading.policy.parties:
            yield role, party
            continue
        known = ", ".join(reading.policy.parties)
        text = f"`{slot}: {component.name}` of `{reading.record.name}` needs a party `{party}`, and `{reading.policy.name}` has none"
        reading.report(
            "experiments.pipeline",
            text,
            f"choose a policy that has it, or another pipeline; its parties are {known}",
        )


# ---- operators ----
def _methods(reading: _Reading, named: Iterable[tuple[str, ComponentUse]]) -> dict[str, ComponentUse]:
    """The component of each operator. The slot of an operator covers that operator; a method in another slot covers all
    that it implements."""
    found: dict[str, tuple[str, ComponentUse]] = {}
    for slot, use in named:
        component = reading.library.component(use.key)
        if component is None or slot in (REST, OUTSIDE):
            continue
        if component.kind != METHOD:
            continue
        for operator in _covered(reading, slot, component):
            if operator in found:
                _twice(reading, operator, found[operator], (slot, use))
            else:
                found[operator] = slot, use
    return {operator: use for operator, (_, use) in found.items()}


def _covered(reading: _Reading, slot: str, component: Component) -> tuple[str, ...]:
    own = tuple(key for key in component.implements if key.rsplit(".", 1)[-1] == slot)
    if own:
        return own
    if any(key.rsplit(".", 1)[-1] == slot for key in reading.library.keys("operator")):
        text = f"`{component.name}` stands in the slot `{slot}` of `{reading.record.name}` and does not implement it"
        done = ", ".join(key.rsplit(".", 1)[-1] for key in component.implements) or "nothing"
        reading.report("experiments.pipeline", text, f"it implements {done}")
        return ()
    return component.implements


def _twice(
    reading: _Reading, operator: str, first: tuple[str, ComponentUse], second: tuple[str, ComponentUse]
) -> None:
    names = " and ".join(f"`{use.key.rsplit('.', 1)[-1]}` ({slot})" for slot, use in (first, second))
    text = f"`{reading.record.name}` gives `{operator.rsplit('.', 1)[-1]}` to two components: {names}"
    reading.report(
        "experiments.pipeline", text, "keep one of the two: exactly one component does an operator"
    )


def _format(reading: _Reading, name: str) -> Format | None:
    value = reading.record.fields.get(name)
    if value is None:
        return None
    found = reading.library.format(value.name) if isinstance(value, ex.Ref) else None
    if found is None:
        text = f"`{name}` of `{reading.record.name}` is no format"
        reading.report("experiments.pipeline", text, f"write `{name}: act8`, or another format's name")
        return None
    if name == "weights" and found.scale not in ("", "row"):
        text = f"weights are quantised with a scale for each row, and `{found.name}` has one for each {found.scale}"
        reading.report("experiments.pipeline", text, "take `weight8`, or a format with `scale: row`")
        return None
    return found
