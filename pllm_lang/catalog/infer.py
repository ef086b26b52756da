"""Types of one use of an operator: format variables, shape variables, results.

In come an operator, its operands' formats and shapes and its parameters; out come the results' formats and
shapes with everything that was bound on the way, or a problem in one sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from pllm_lang.catalog import formats
from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term
from pllm_lang.catalog.expr import AnyRank, Apply, Expr, Num, Ref
from pllm_lang.catalog.facts import UNKNOWN, Exact
from pllm_lang.catalog.primitives.elementwise import written
from pllm_lang.catalog.records import Format, OperandSpec, Operator
from pllm_lang.catalog.shapes import meaning_shape
from pllm_lang.catalog.tensor import Shape


class Type(msgspec.Struct, frozen=True, array_like=True):
    """A format and a concrete shape; `format` None where the value has no format yet (a bare number)."""

    format: Format | None
    shape: Shape


class Params(msgspec.Struct):
    """A use's parameters by what they are; defaults already filled in."""

    exact: dict[str, Exact] = {}
    formats: dict[str, Format] = {}
    lists: dict[str, tuple[Exact, ...]] = {}
    words: dict[str, str] = {}


class Inferred(msgspec.Struct, frozen=True):
    """`results` by name; `env` holds every name that clauses may use, without facts."""

    results: dict[str, Type]
    env: Env


class Problem(msgspec.Struct, frozen=True):
    """Why the operands do not fit, and which one (or "")."""

    message: str
    operand: str = ""


def infer(operator: Operator, operands: Mapping[str, Type], params: Params) -> Inferred | Problem:
    """Bind the operator's variables from `operands` (by name) and give its results' types."""
    env = Env(
        exact=dict(params.exact),
        formats=dict(params.formats),
        lists=dict(params.lists),
        words=dict(params.words),
    )
    for spec in operator.operands:
        given = operands.get(spec.name)
        if given is None:
            return Problem(f"{operator.name} needs the operand {spec.name}", spec.name)
        problem = _bind_format(operator, spec, given, env) or _bind_shape(spec, given.shape, env)
        if problem is not None:
            return problem
        _place(env, spec.name, given)
    for spec in operator.operands:
        problem = _check_shape(spec, operands[spec.name].shape, env)
        if problem is not None:
            return problem
    return _results(operator, env)


def declared_formats(operator: Operator, find: Callable[[str], Format | None]) -> dict[str, Format]:
    """The declared formats that a signature names, by the name it has for them; what `infer` looks them up in."""
    forms = (spec.format for spec in (*operator.operands, *operator.results))
    found = {form.name: find(form.name) for form in forms if isinstance(form, Ref) and "." in form.name}
    return {name: format for name, format in found.items() if format is not None}


def _results(operator: Operator, env: Env) -> Inferred | Problem:
    results: dict[str, Type] = {}
    for spec in operator.results:
        shape = _meant_shape(operator, spec, env) if is_open(operator, spec) else _shape(spec, env)
        if isinstance(shape, Problem):
            return shape
        problem = None if is_open(operator, spec) else _other_meaning(operator, spec, shape, env)
        if problem is not None:
            return problem
        format = _format(spec.format, env)
        if format is None:
            return Problem(f"the format of {operator.name}'s result {spec.name} is open", spec.name)
        results[spec.name] = Type(format, shape)
    for name, type in results.items():
        _place(env, name, type)
    return Inferred(results, env)


def is_open(operator: Operator, spec: OperandSpec) -> bool:
    """Whether a result's shape is a variable that no operand binds: it is the shape of its meaning."""
    bound = {dim.name for o in operator.operands for dim in o.shape if isinstance(dim, AnyRank)}
    return any(isinstance(dim, AnyRank) and dim.name not in bound for dim in spec.shape)


def _meant_shape(operator: Operator, spec: OperandSpec, env: Env) -> Shape | Problem:
    shape = _shape_of_meaning(operator, spec, env)
    if shape is None:
        return Problem(f"the shape of {operator.name}'s result {spec.name} is open", spec.name)
    return Problem(f"{operator.name}: {shape}", spec.name) if isinstance(shape, str) else shape


def _other_meaning(operator: Operator, spec: OperandSpec, shape: Shape, env: Env) -> Problem | None:
    """A record that declares one shape of a result and means another."""
    meant = _shape_of_meaning(operator, spec, env)
    if not isinstance(meant, tuple) or meant == shape:
        return None
    told = (
        f"{operator.name} declares {spec.name} as {written(shape)}, and by its meaning it is {written(meant)}"
    )
    return Problem(told, spec.name)


def _shape_of_meaning(operator: Operator, spec: OperandSpec, env: Env) -> Shape | str | None:
    meaning = next((clause.expr for clause in operator.means if clause.name == spec.name), None)
    if meaning is None:
        return None
    return meaning_shape(meaning, msgspec.structs.replace(env, facts=dict.fromkeys(env.shapes, UNKNOWN)))


def _place(env: Env, name: str, type: Type) -> None:
    env.shapes[name] = type.shape
    if type.format is not None:
        env.formats[name] = type.format


def _bind_format(operator: Operator, spec: OperandSpec, given: Type, env: Env) -> Problem | None:
    if given.format is None or not isinstance(spec.format, Ref):
        return None
    name = spec.format.name
    if name not in operator.format_vars:
        if name in env.formats and not same_values(env.formats[name], given.format):
            return Problem(
                f"{spec.name} is of format {env.formats[name].name}, not {given.format.name}", spec.name
            )
        return _check_kind(spec, given.format, env.formats.get(name) or formats.STANDARD.get(name))
    bound = env.formats.setdefault(name, given.format)
    if same_values(bound, given.format):
        return None
    others = [o.name for o in operator.operands if o.format == spec.format and o.name in env.shapes]
    first = others[0] if others else name
    return Problem(
        f"{operator.name} takes {first} and {spec.name} in one format; "
        f"{first} is {bound.name} and {spec.name} is {given.format.name}",
        spec.name,
    )


def _check_kind(spec: OperandSpec, given: Format, wanted: Format | None) -> Problem | None:
    if wanted is None or wanted.kind in ("exact", given.kind) or given.kind == "exact":
        return None
    if wanted.kind in ("index", "label") and given.kind in ("int", "index", "label"):
        return None
    return Problem(f"{spec.name} is of format {wanted.name}, not {given.name}", spec.name)


def same_values(a: Format, b: Format) -> bool:
    """Whether two formats have the same values, whatever their names."""
    plain_a = msgspec.structs.replace(a, name="", doc="", origin=formats.EXACT.origin)
    return plain_a == msgspec.structs.replace(b, name="", doc="", origin=formats.EXACT.origin)


def _bind_shape(spec: OperandSpec, shape: Shape, env: Env) -> Problem | None:
    """Bind variables that stand alone; `...s` takes what the other dimensions leave."""
    pattern = spec.shape
    spread = [i for i, dim in enumerate(pattern) if isinstance(dim, AnyRank)]
    fixed = len(pattern) - len(spread)
    if len(spread) > 1 or len(shape) < fixed or (not spread and len(shape) != fixed):
        return Problem(f"{spec.name} has the shape {written(shape)}, not {pattern_text(pattern)}", spec.name)
    at = spread[0] if spread else len(pattern)
    middle = len(shape) - fixed
    if spread:
        name = getattr(pattern[at], "name", "")
        rest = shape[at : at + middle]
        bound = env.lists.setdefault(name, rest)
        if bound != rest:
            other = written(tuple(int(n) for n in bound))
            return Problem(
                f"{spec.name} has the shape {written(shape)}, where ...{name} is {other}", spec.name
            )
    for i, dim in enumerate(pattern):
        if isinstance(dim, Ref):
            env.exact.setdefault(dim.name, shape[i if i < at else i + middle - 1])
    return None


def _check_shape(spec: OperandSpec, shape: Shape, env: Env) -> Problem | None:
    wanted = _shape(spec, env)
    if isinstance(wanted, Problem):
        return wanted
    if wanted == shape:
        return None
    return Problem(
        f"{spec.name} has the shape {written(shape)}; {pattern_text(spec.shape)} is {written(wanted)} here",
        spec.name,
    )


def _shape(spec: OperandSpec, env: Env) -> Shape | Problem:
    shape: list[int] = []
    for dim in spec.shape:
        if isinstance(dim, AnyRank):
            shape.extend(int(n) for n in env.lists.get(dim.name, ()))
            continue
        size = exact_term(dim, env)
        if size is None:
            return Problem(f"the size {dim_text(dim)} of {spec.name} is not known", spec.name)
        if not isinstance(size, int) or size < 0:
            return Problem(
                f"the size {dim_text(dim)} of {spec.name} is {size}, not a whole number", spec.name
            )
        shape.append(size)
    return tuple(shape)


def _format(expr: Expr, env: Env) -> Format | None:
    if not isinstance(expr, Ref):
        return None
    return env.formats.get(expr.name) or formats.STANDARD.get(expr.name)


def pattern_text(pattern: tuple[Expr, ...]) -> str:
    return "[" + ", ".join(dim_text(dim) for dim in pattern) + "]"


def dim_text(expr: Expr) -> str:
    """A shape expression as a person writes it."""
    if isinstance(expr, AnyRank):
        return f"...{expr.name}"
    if isinstance(expr, Ref):
        return expr.name
    if isinstance(expr, Num):
        return expr.value
    if isinstance(expr, Apply) and len(expr.args) == 2:
        return f"{dim_text(expr.args[0])}{expr.fn}{dim_text(expr.args[1])}"
    return "?"
