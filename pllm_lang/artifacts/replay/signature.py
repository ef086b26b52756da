"""Replay: the operands and results of a step are of the shapes and formats that its operator's signature has.

In: a step with the types of its operands, and the numbers, lists and formats of its parameters. One format variable is one
format, one size is one size; `...s` takes what the other sizes leave; a result's shape follows, unless only its meaning gives
it (then `derive` compares). ReplayError where a type is another one.
"""

from __future__ import annotations

import msgspec

from pllm_lang.artifacts.replay import terms as t
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.terms import Names
from pllm_lang.catalog.expr import NOWHERE, AnyRank, Ref
from pllm_lang.catalog.records import Format, OperandSpec, Operator

Shape = tuple[int, ...]
Typed = tuple[Shape, Format]
COUNTED = ("int", "index", "label", "exact")


def fits(operator: Operator, operands: list[Typed], results: list[Typed], names: Names, where: str) -> None:
    """`names` holds the step's parameters; what is bound here is seen by nobody else."""
    own = Names(exact=dict(names.exact), lists=dict(names.lists), formats={})
    params = {spec.name: names.formats[spec.name] for spec in operator.params if spec.name in names.formats}
    sizes = {dim.name for spec in operator.operands for dim in spec.shape if isinstance(dim, Ref | AnyRank)}
    for name in sizes - {spec.name for spec in operator.params}:
        own.exact.pop(name, None)
        own.lists.pop(name, None)
    pairs = [*zip(operator.operands, operands, strict=True), *zip(operator.results, results, strict=True)]
    for spec, (shape, _) in pairs[: len(operands)]:
        _bind(spec, shape, own, where)
    for place, (spec, (shape, form)) in enumerate(pairs):
        wanted = _shape(spec, own)
        if wanted != shape and (wanted is not None or place < len(operands)):
            raise ReplayError(
                "certificate.plan", f"`{spec.name}` of `{operator.name}` has another shape", where
            )
        if not _is_format(spec, form, operator, own, params, place < len(operands)):
            raise ReplayError(
                "certificate.plan", f"`{spec.name}` of `{operator.name}` has another format", where
            )


def _bind(spec: OperandSpec, shape: Shape, names: Names, where: str) -> None:
    spread = [i for i, dim in enumerate(spec.shape) if isinstance(dim, AnyRank)]
    extra = len(shape) - len(spec.shape) + len(spread)
    if len(spread) > 1 or extra < 0 or (extra and not spread) or any(size < 0 for size in shape):
        raise ReplayError(
            "certificate.plan", f"`{spec.name}` has another rank than its operator takes", where
        )
    for i, dim in enumerate(spec.shape):
        if isinstance(dim, AnyRank):
            names.lists.setdefault(dim.name, shape[i : i + extra])
        elif isinstance(dim, Ref):
            names.exact.setdefault(dim.name, shape[i if not spread or i < spread[0] else i + extra - 1])


def _shape(spec: OperandSpec, names: Names) -> Shape | None:
    """None where it is not known by what the operands bind."""
    found: list[int] = []
    for dim in spec.shape:
        if isinstance(dim, AnyRank):
            if dim.name not in names.lists:
                return None
            found += [int(one) for one in names.lists[dim.name]]
            continue
        size = t.exact(dim, names)
        if size is None or size.denominator != 1 or size < 0:
            return None
        found.append(int(size))
    return tuple(found)


def _is_format(
    spec: OperandSpec, form: Format, operator: Operator, own: Names, params: dict[str, Format], given: bool
) -> bool:
    """A variable is one format; a parameter is the format given; a word names a kind. A result without a format of its own
    may get one from its component, and a declared format is known by its numbers alone."""
    name = spec.format.name if isinstance(spec.format, Ref) else ""
    if name in operator.format_vars:
        return _plain(own.formats.setdefault(name, form)) == _plain(form)
    if name in params:
        return given or _plain(params[name]) == _plain(form)
    match name:
        case "index" | "label":
            return form.kind in COUNTED
        case "boolean":
            return form.kind in ("boolean", "exact")
        case _:
            return True


def _plain(form: Format) -> Format:
    return msgspec.structs.replace(form, name="", doc="", origin=NOWHERE)
