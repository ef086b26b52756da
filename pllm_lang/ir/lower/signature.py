"""Result types of one call, from the operator's signature and, where it states formats, the component's.

In: an operator with the types of its operands and its parameters. Out: the types of its results, or what
does not fit and at which operand. Inference is the catalog's (`catalog/infer.py`); it is asked once for
each combination of operator, types and parameters.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from pllm_lang.catalog import expr as ex
from pllm_lang.catalog.infer import Inferred, Problem, Type, declared_formats, infer
from pllm_lang.catalog.infer import Params as Known
from pllm_lang.catalog.records import Component, Format, Operator
from pllm_lang.exact.number import Exact, exact
from pllm_lang.ir.lower.context import Context
from pllm_lang.ir.lower.types import intern_format
from pllm_lang.ir.plan import TensorType

Types: TypeAlias = tuple[TensorType, ...]
Params: TypeAlias = tuple[tuple[str, ex.Expr], ...]


class Misfit(msgspec.Struct, frozen=True):
    """Why the operands do not fit: in one sentence, and the operand it speaks of ("" for none)."""

    sort: Literal["shape", "format"]
    message: str
    operand: str


def infer_types(
    ctx: Context, key: str, operator: Operator, operands: Types, params: Params
) -> Types | Misfit:
    """The results' types in the record's order; no operand is `UNKNOWN`."""
    question = (key, operands, params)
    answer = ctx.signatures.get(question)
    if answer is None:
        answer = ctx.signatures[question] = _infer(ctx, operator, operands, params)
    return answer


def _infer(ctx: Context, operator: Operator, operands: Types, params: Params) -> Types | Misfit:
    formats = ctx.formats
    typed = {
        spec.name: Type(formats[kind.format], kind.shape)
        for spec, kind in zip(operator.operands, operands, strict=True)
    }
    known = known_params(ctx, params)
    known.formats |= declared_formats(operator, ctx.library.format)
    found = infer(operator, typed, known)
    if isinstance(found, Inferred):
        return tuple(_entered(ctx, found.results[spec.name]) for spec in operator.results)
    shapes = {name: Type(None, kind.shape) for name, kind in typed.items()}
    again = infer(operator, shapes, known)
    same = isinstance(again, Problem) and again.message == found.message
    return Misfit("shape" if same else "format", found.message, found.operand)


def _entered(ctx: Context, kind: Type) -> TensorType:
    assert kind.format is not None
    return TensorType(intern_format(ctx, kind.format), kind.shape)


def known_params(ctx: Context, params: Params) -> Known:
    """Parameters of the IR by what they are, as the catalog reads them."""
    known = Known()
    for name, value in params:
        match value:
            case ex.Num():
                known.exact[name] = exact(value.value)
            case ex.Ref(name="true" | "false"):
                known.exact[name] = int(value.name == "true")
            case ex.Ref() if value.name.startswith("%f"):
                known.formats[name] = ctx.formats[int(value.name[2:])]
            case ex.Ref():
                known.words[name] = value.name
            case ex.Text():
                known.words[name] = value.value
            case ex.ListOf():
                known.lists[name] = _numbers(value)
            case _:
                pass
    return known


def _numbers(value: ex.ListOf) -> tuple[Exact, ...]:
    return tuple(exact(item.value) for item in value.items if isinstance(item, ex.Num))


def given_types(
    ctx: Context, operator: Operator, component: Component, params: Params, operands: Types, types: Types
) -> Types:
    """The results' types where the component states the format it gives, else as inferred.

    It may name a declared format, a format parameter of its own, or a format variable of the operator.
    """
    if not component.gives:
        return types
    formats = _variables(ctx, operator, operands) | known_params(ctx, params).formats
    given: list[TensorType] = []
    for spec, kind in zip(operator.results, types, strict=True):
        stated = component.gives.get(spec.name)
        form = _stated_format(ctx, stated, formats) if isinstance(stated, ex.Ref) else None
        given.append(kind if form is None else TensorType(intern_format(ctx, form), kind.shape))
    return tuple(given)


def _variables(ctx: Context, operator: Operator, operands: Types) -> dict[str, Format]:
    """The formats that the operator's variables stand for: each that of the first operand that has it."""
    found: dict[str, Format] = {}
    for spec, kind in zip(operator.operands, operands, strict=True):
        if isinstance(spec.format, ex.Ref) and spec.format.name in operator.format_vars:
            found.setdefault(spec.format.name, ctx.formats[kind.format])
    return found


def _stated_format(ctx: Context, stated: ex.Ref, formats: dict[str, Format]) -> Format | None:
    """A format parameter of the component, or a declared format; None for a holding."""
    record = formats.get(stated.name) or ctx.library.get(stated.name)
    return record if isinstance(record, Format) else None
