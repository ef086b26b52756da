"""A component's narration for one step of a plan: its formats, parameters and shapes put in, and kept for equal steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from pllm_lang.catalog.expr import Expr, ListOf, Num, Ref, Text
from pllm_lang.catalog.facts import Exact
from pllm_lang.catalog.formats import GRIDDED
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Component, Format, Operator, ParamSpec
from pllm_lang.exact.number import exact
from pllm_lang.ir import protocol as p
from pllm_lang.ir.lower.protocol import LoweredProtocol, Setting, lower_protocol
from pllm_lang.ir.plan import Step, TensorType
from pllm_lang.verify.narrations.held import Held


class Lowerer:
    """Narrations lowered so far, by component, operator (what the text has to compute) and setting."""

    def __init__(self, library: Library, formats: Sequence[Format]) -> None:
        self.library, self.formats = library, formats
        self.kept: dict[tuple[str, str, Setting], LoweredProtocol] = {}

    def lower(
        self,
        step: Step,
        component: Component,
        operator: Operator,
        types: Sequence[TensorType],
        operands: Sequence[Held],
    ) -> LoweredProtocol:
        setting = self.setting(step, component, operator, types, operands)
        assert step.use is not None
        key = (step.use.key, step.operator, setting)
        if key not in self.kept:
            self.kept[key] = lower_protocol(component, operator, self.library, setting)
        return self.kept[key]

    def setting(
        self,
        step: Step,
        component: Component,
        operator: Operator,
        types: Sequence[TensorType],
        operands: Sequence[Held],
    ) -> Setting:
        assert step.use is not None
        setting = _Parts({}, {}, {})
        for spec, type_, held in zip(operator.operands, types, operands, strict=True):
            if isinstance(spec.format, Ref) and spec.format.name in operator.format_vars:
                setting.formats.setdefault(spec.format.name, carried_format(self.formats[type_.format], held))
        # the operator's parameters win where the component has one of the same name, as in every clause of its record
        own = {spec.name for spec in operator.params}
        named = [pair for pair in step.use.params if pair[0] not in own]
        for specs, given in ((operator.params, step.params), (component.params, named)):
            kinds = {spec.name: spec for spec in specs}
            for name, value in given:
                self._put(setting, name, value, kinds.get(name))
        shapes = tuple((spec.name, type_.shape) for spec, type_ in zip(operator.operands, types, strict=True))
        return Setting(
            tuple(sorted(setting.formats.items())),
            tuple(sorted(setting.exact.items())),
            shapes,
            tuple(sorted(setting.words.items())),
            tuple(self._scales(step, operator, types, operands)),
        )

    def _scales(
        self, step: Step, operator: Operator, types: Sequence[TensorType], operands: Sequence[Held]
    ) -> Iterator[tuple[str, int]]:
        """Fraction bits of operands and results: those of their formats, whole numbers none; an exact result has those of the
        residues that a protocol left it in, and says nothing of what it is to be left in."""
        typed = (*zip(operator.operands, types, strict=True), *zip(operator.results, step.types, strict=True))
        for spec, type_ in typed:
            if self.formats[type_.format].kind in GRIDDED:
                yield spec.name, self.formats[type_.format].frac
        for spec, type_, held in zip(operator.operands, types, operands, strict=True):
            if self.formats[type_.format].kind == "exact" and held.scale is not None:
                yield spec.name, held.scale

    def _put(self, setting: _Parts, name: str, value: Expr, spec: ParamSpec | None) -> None:
        match value:
            case Num():
                setting.exact[name] = exact(value.value)
            case Ref() if value.name.startswith("%f"):
                setting.formats[name] = self.formats[int(value.name[2:])]
            case Ref() if value.name in ("true", "false") and spec is not None and spec.kind == "boolean":
                setting.exact[name] = int(value.name == "true")
            case _:
                setting.words[name] = plain_text(value)


class _Parts(msgspec.Struct):
    formats: dict[str, Format]
    exact: dict[str, Exact]
    words: dict[str, str]


def plain_text(value: Expr) -> str:
    """A parameter as text, so that equal parameters are equal."""
    match value:
        case Ref():
            return value.name
        case Text() | Num():
            return value.value
        case ListOf():
            return "[" + ", ".join(map(plain_text, value.items)) + "]"
        case _:
            return msgspec.json.encode(value).decode()


def carried_format(format_: Format, held: Held) -> Format:
    """The format of an operand; an exact result lies in the ring that its protocol left it in."""
    number = held.type.number
    if (
        format_.kind != "exact"
        or not isinstance(number, p.Ring)
        or isinstance(held.holding, p.Clear | p.Public)
    ):
        return format_
    modulus = number.modulus
    low, high = str(-(modulus // 2)), str((modulus - 1) // 2)
    return Format("exact", "ring", low, high, 0, str(modulus), (modulus - 1).bit_length())
