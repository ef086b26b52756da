"""Replay: the operands and results of a step are of the shapes and formats that its operator's signature has.

In: a step with the types of its operands, and the numbers, lists and formats of its parameters. One format variable is one
format, one size is one size; `...s` takes what the other sizes leave; a result's shape follows, unless only its meaning gives
it (then `derive` compares). ReplayError where a type is another one.
"""

from __future__ import annotations

import msgspec

from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay import terms as t
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.terms import Names
from pllm_lang.catalog.expr import NOWHERE, AnyRank, Ref
from pllm_lang.catalog.records import Format, OperandSpec, Operator

Shape = tuple[int, ...]
Typed = tuple[Shape, Format]
COUNTED = ("int", "index", "label", "exact")


def fits(operator: Operator, operands: list[Typed], results: list[Typed], names: Names, where: str) -> None:
    """`names` holds the step's parameters, and the sizes that its operands bound where no parameter is called so."""
    variables: dict[str, Format] = {}
    specs = (*operator.operands, *operator.results)
    for place, (spec, (shape, form)) in enumerate(zip(specs, (*operands, *results), strict=True)):
        given, wanted = place < len(operands), _shape(spec, names)
        sized = min(shape, default=0) >= 0 and (wanted == shape or (wanted is None and not given))
        if not sized or not _is_format(spec, form, operator, variables, names, given):
            text = f"`{spec.name}` of `{operator.name}` has another {'format' if sized else 'shape'}"
            raise ReplayError("certificate.plan", text, where)


def _shape(spec: OperandSpec, names: Names) -> Shape | None:
    """None where it is not known by what the operands bind."""
    found: list[int] = []
    for dim in spec.shape:
        if type(dim) is AnyRank:
            if dim.name not in names.lists:
                return None
            found += [int(one) for one in names.lists[dim.name]]
            continue
        size = names.exact.get(dim.name) if isinstance(dim, Ref) else t.exact(dim, names)
        if size is None or size.denominator != 1 or size < 0:
            return None
        found.append(int(size))
    return tuple(found)


def _is_format(
    spec: OperandSpec,
    form: Format,
    operator: Operator,
    variables: dict[str, Format],
    names: Names,
    given: bool,
) -> bool:
    """A variable is one format; a parameter is the format given; a word names a kind. A result without a format of its own
    may get one from its component, and a declared format is known by its numbers alone. Exact places are whole numbers."""
    name = spec.format.name if isinstance(spec.format, Ref) else ""
    if name in operator.format_vars:
        return _same(variables.setdefault(name, form), form)
    if name in names.formats and any(param.name == name for param in operator.params):
        return given or _same(names.formats[name], form)
    match name:
        case "index" | "label":
            places = names.facts[spec.name].unit if given else 1
            return form.kind in COUNTED and (form.kind != "exact" or n.divides(1, places))
        case "boolean":
            return form.kind in ("boolean", "exact")
        case _:
            return True


def _same(one: Format, other: Format) -> bool:
    """The same numbers, whatever they are called."""
    return one is other or _plain(one) == _plain(other)


def _plain(form: Format) -> Format:
    return msgspec.structs.replace(form, name="", doc="", origin=NOWHERE)
