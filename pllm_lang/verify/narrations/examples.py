"""Which formats and parameters a protocol of the library is proved for.

A narration is written for every format and size. Sizes stay symbols, so one proof is for all of them; formats and
numbers are taken as examples: whole numbers in a ring, fixed point with its product, a cast that cuts, a table's Q7.
A step of a plan is proved for its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term, holds
from pllm_lang.catalog.expr import Between, ListOf, Ref, Text
from pllm_lang.catalog.facts import Exact
from pllm_lang.catalog.records import Component, Format, Operator, ParamSpec
from pllm_lang.ir.lower.protocol import Setting
from pllm_lang.ir.lower.protocol.setting import literal

MAX_EXAMPLES = 8
USUAL_NUMBER = 16


def _ring(bits: int) -> Format:
    half = 1 << (bits - 1)
    return Format(f"ring({bits})", "ring", str(-half), str(half - 1), 0, str(1 << bits), bits)


def _fixed(bits: int, frac: int) -> Format:
    half = 1 << (bits - 1)
    return Format(f"fixed({bits}, {frac})", "fixed", str(-half), str(half - 1), frac, str(1 << bits), bits)


_Q7 = Format("q7", "fixed", "-128", "128", 7, "", 16)
_Q14 = Format("q14", "fixed", "-16384", "16384", 14, "", 16)

FORMATS = (
    (_ring(64), _ring(64)),
    (_fixed(64, 16), _fixed(64, 32)),
    (_fixed(128, 36), _fixed(128, 18)),
    (_Q7, _Q14),
)
"""(format variables, format parameters), tried in this order."""


def settings(component: Component, operator: Operator | None) -> Iterator[Setting]:
    """Examples that the record's own requirements do not exclude."""
    specs = (*component.params, *(operator.params if operator else ()))
    numbers = [spec for spec in specs if spec.kind in ("integer", "real", "ratio")]
    words = tuple((s.name, _word(s)) for s in specs if s.kind in ("word", "text", "boolean", "component"))
    for of_variables, of_params in FORMATS:
        formats = {spec.name: of_params for spec in specs if spec.kind == "format"}
        formats |= dict.fromkeys(operator.format_vars if operator else (), of_variables)
        for values in islice(product(*map(_values, numbers)), MAX_EXAMPLES):
            exact = tuple((spec.name, value) for spec, value in zip(numbers, values, strict=True))
            if _admitted(component, operator, formats, dict(exact)):
                yield Setting(tuple(formats.items()), exact, (), words)


def _word(spec: ParamSpec) -> str:
    return (
        spec.default.name
        if isinstance(spec.default, Ref)
        else spec.default.value
        if isinstance(spec.default, Text)
        else ""
    )


def _values(spec: ParamSpec) -> list[Exact]:
    """Every value of a short list, else the default, else the nearest to a usual number."""
    if isinstance(spec.allowed, ListOf):
        found = [exact_term(item, Env()) for item in spec.allowed.items]
        return [value for value in found if value is not None]
    default = None if spec.default is None else exact_term(spec.default, Env())
    return [_usual(spec) if default is None else default]


def _usual(spec: ParamSpec) -> Exact:
    match spec.allowed:
        case Between():
            low, high = exact_term(spec.allowed.low, Env()), exact_term(spec.allowed.high, Env())
            return USUAL_NUMBER if low is None or high is None else min(max(low, USUAL_NUMBER), high)
        case _:
            return USUAL_NUMBER


def _admitted(
    component: Component, operator: Operator | None, formats: dict[str, Format], exact: dict[str, Exact]
) -> bool:
    env = Env(exact=dict(exact), formats=dict(formats))
    for spec in (*(operator.operands if operator else ()), *(operator.results if operator else ())):
        if isinstance(spec.format, Ref) and spec.format.name in formats:
            env.formats[spec.name] = formats[spec.format.name]
    for name, given in component.gives.items():
        if isinstance(given, Ref) and given.name in formats:
            env.formats[name] = formats[given.name]
    return all(holds(clause.expr, env) is not False for clause in component.requires)


def told(setting: Setting, params: bool = True) -> str:
    """The example in a few words: `F = fixed(64, 16), range = 40`."""
    parts = [f"{name} = {format_.name}" for name, format_ in setting.formats]
    parts += [f"{name} = {literal(value).value}" for name, value in setting.exact] if params else []
    return ", ".join(parts)
