"""The one evaluator of record expressions: terms over facts, and three-valued conditions.

In come an expression and what its names stand for (`Env`); out come an interval or *unknown* (`term`), a
tensor's
facts (`tensor`), or true, false or unknown (`holds`). Rules: docs/design/facts.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from pllm_lang.catalog.bounds import Arg, known_facts, settle
from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.expr import Apply, Attr, Between, Expr, ListOf, Num, Ref
from pllm_lang.catalog.facts import MAX_KNOWN_ENTRIES, Exact, Facts, Interval, Known
from pllm_lang.catalog.forms import format_of, is_on_grid, nearest_form, raw_form, simplify
from pllm_lang.catalog.names import is_tensor, word
from pllm_lang.catalog.primitives.primitive import Param, Params, Primitive, accepts
from pllm_lang.catalog.primitives.table import PRIMITIVES
from pllm_lang.catalog.records import Format
from pllm_lang.catalog.slots import FORMAT_READS, SLOTS, SQUARED_SLOTS
from pllm_lang.catalog.tensor import (
    Shape,
    Tensor,
    TooManyOperationsError,
    bounded,
    n_rows,
    of_known,
    row_length,
    to_known,
)
from pllm_lang.exact import enclose, interval
from pllm_lang.exact.number import exact

COMPARISONS = ("<=", ">=", "<", ">", "==", "!=", "in")


# ---- terms: exact intervals ---------------------------------------------------------------------------


def term(expr: Expr, env: Env) -> Interval | None:
    """The interval that holds the value of `expr` in every run; of a tensor, of each of its entries."""
    if isinstance(expr, Num):
        return interval.point(exact(expr.value))
    if isinstance(expr, Ref):
        return _named(expr.name, env)
    if isinstance(expr, Apply):
        return _applied(expr, env)
    if isinstance(expr, Attr):
        found = tensor(expr, env)
        return None if found is None else found.facts.range
    return None


def exact_term(expr: Expr, env: Env) -> Exact | None:
    """The value of an expression over exact names only."""
    found = term(expr, env)
    return found.low if found is not None and found.low == found.high else None


def _named(name: str, env: Env) -> Interval | None:
    value = env.exact.get(name, env.context.get(name))
    if value is not None:
        return interval.point(value)
    facts = env.facts.get(name)
    if facts is not None:
        return facts.range
    return CONSTANTS.get(name)


CONSTANTS = {"true": interval.point(1), "false": interval.point(0), "pi": enclose.pi()}


def _applied(expr: Apply, env: Env) -> Interval | None:
    if len(expr.args) == 1 and not expr.named:
        slot = SLOTS.get(expr.fn)
        if slot is not None and is_tensor(expr.args[0], env):
            found = tensor(expr.args[0], env)
            return None if found is None else slot(found)
        read = FORMAT_READS.get(expr.fn)
        if read is not None:
            return _format_read(expr.args[0], read, env)
    if is_condition(expr):
        verdict = _condition(expr, env)
        return None if verdict is None else interval.point(int(verdict))
    if is_tensor(expr, env):
        found = tensor(expr, env)
        return None if found is None else found.facts.range
    return _scalar(expr, env)


def _scalar(expr: Apply, env: Env) -> Interval | None:
    operation = SCALARS.get((expr.fn, len(expr.args)))
    if operation is None:
        found = _primitive(expr, env)
        return None if found is None else found.facts.range
    values = [term(arg, env) for arg in expr.args]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    found = operation(*known)
    return None if found is None else interval.outward(found)


def _power(base: Interval, exponent: Interval) -> Interval | None:
    whole = exponent.low
    if whole != exponent.high or not isinstance(whole, int):
        return None
    return interval.int_power(base, whole)


def _itself(x: Interval) -> Interval:
    return x


SCALARS: dict[tuple[str, int], Callable[..., Interval | None]] = {
    ("+", 2): interval.add,
    ("-", 2): interval.sub,
    ("-", 1): interval.neg,
    ("+", 1): _itself,
    ("*", 2): interval.mul,
    ("/", 2): interval.div,
    ("^", 2): _power,
    ("min", 2): interval.minimum,
    ("max", 2): interval.maximum,
    ("abs", 1): interval.absolute,
    ("sqrt", 1): interval.sqrt,
}


def _format_read(expr: Expr, read: Callable[[Format], Exact | None], env: Env) -> Interval | None:
    found = format_of(expr, env)
    value = None if found is None else read(found)
    return None if value is None else interval.point(value)


# ---- tensors: facts through the table -----------------------------------------------------------------


def tensor(expr: Expr, env: Env) -> Arg | None:
    """Shape and facts of an expression over tensors; None where a shape does not fit or a name is unknown."""
    if isinstance(expr, Ref) and expr.name in env.facts:
        return Arg(env.shapes.get(expr.name, ()), env.facts[expr.name])
    if isinstance(expr, Attr) and isinstance(expr.base, Ref):
        name = f"{expr.base.name}.{expr.name}"
        return Arg(env.shapes.get(name, ()), env.facts[name]) if name in env.facts else None
    if isinstance(expr, Apply) and is_tensor(expr, env):
        return _primitive(expr, env)
    found = term(expr, env)
    return None if found is None else _scalar_arg(found)


def _scalar_arg(found: Interval) -> Arg:
    if found.low != found.high:
        return Arg((), Facts(range=found, error=0))
    value = Known((), (found.low,))
    return Arg((), Facts(range=found, error=0, value=value, unit=abs(found.low) or 1))


def _primitive(expr: Apply, env: Env) -> Arg | None:
    special = SPECIAL.get((expr.fn, len(expr.args)))
    if special is not None:
        return special(expr, env)
    rewritten = simplify(expr)
    return _from_table(expr, env) if rewritten is expr else tensor(rewritten, env)


def _from_table(expr: Apply, env: Env) -> Arg | None:
    found = lookup(expr, env)
    if found is None:
        return None
    primitive, params = found
    args: list[Arg] = []
    for operand in expr.args:
        arg = tensor(operand, env)
        if arg is None:
            return None
        args.append(arg)
    return apply_primitive(primitive, tuple(args), params)


def lookup(expr: Apply, env: Env) -> tuple[Primitive, Params] | None:
    """The primitive of a call with its parameters; None where there is none that takes these arguments."""
    primitive = PRIMITIVES.get(expr.fn)
    if primitive is None or not accepts(primitive, len(expr.args), (name for name, _ in expr.named)):
        return None
    params = parameters(expr, env)
    return None if params is None else (primitive, params)


def parameters(expr: Apply, env: Env) -> Params | None:
    """Named arguments as numbers, lists of numbers or words; None where one is unknown."""
    found: dict[str, Param] = {}
    for name, value in expr.named:
        read = _parameter(value, env)
        if read is None:
            return None
        found[name] = read
    return found


def _parameter(value: Expr, env: Env) -> Param | None:
    if isinstance(value, ListOf):
        items = [exact_term(item, env) for item in value.items]
        known = tuple(item for item in items if item is not None)
        return known if len(known) == len(items) else None
    if isinstance(value, Ref) and value.name in env.lists:
        return env.lists[value.name]
    number = exact_term(value, env)
    return number if number is not None else word(value, env)


def apply_primitive(primitive: Primitive, args: tuple[Arg, ...], params: Params) -> Arg | None:
    """One row of the table on facts: exactly where all operands are known, else by its facts column."""
    shape = primitive.shape(tuple(arg.shape for arg in args), params)
    if isinstance(shape, str):
        return None
    facts = _known_result(primitive, args, params, shape)
    if facts is None:  # no column hands on the value of its operand: what could not be executed is not known
        found = Facts() if primitive.facts is None else primitive.facts(args, params)
        facts = found if found.value is None else msgspec.structs.replace(found, value=None)
    return Arg(shape, settle(msgspec.structs.replace(facts, error=result_error(primitive, args, params))))


def result_error(primitive: Primitive, args: tuple[Arg, ...], params: Params) -> Exact | None:
    """How far the result is from its real-valued meaning; zero where nothing before or here rounds."""
    if not primitive.rounds and all(arg.facts.error == 0 for arg in args):
        return 0
    return None if primitive.error is None else primitive.error(args, params)


def _known_result(primitive: Primitive, args: tuple[Arg, ...], params: Params, shape: Shape) -> Facts | None:
    """What execution gives where every operand is known and the result is not too large to carry."""
    if primitive.execute is None or n_rows(shape) * row_length(shape) > MAX_KNOWN_ENTRIES:
        return None
    known: list[Tensor] = []
    for arg in args:
        if arg.facts.value is None:
            return None
        known.append(of_known(arg.facts.value))
    try:
        value = to_known(bounded(primitive.execute(tuple(known), params)))
    except (TooManyOperationsError, ArithmeticError):
        return None
    return None if value is None else known_facts(value)


# ---- forms that read a format or choose by exact names: written with the table's primitives --------------


def _raw(expr: Apply, env: Env) -> Arg | None:
    rewritten = raw_form(expr, env)
    return None if rewritten is None else tensor(rewritten, env)


def _nearest(expr: Apply, env: Env) -> Arg | None:
    rewritten = nearest_form(expr, env)
    found = tensor(rewritten, env)
    if found is None or rewritten is not expr.args[0] or is_on_grid(expr, env):
        return found
    # the grid of a float depends on the value: its rounding has no bound here
    return Arg(found.shape, msgspec.structs.replace(found.facts, error=None))


def _where(expr: Apply, env: Env) -> Arg | None:
    chosen = where_form(expr, env)
    return tensor(chosen, env) if chosen is not expr else _from_table(expr, env)


def where_form(expr: Apply, env: Env) -> Expr:
    """The branch of `where(c, a, b)` where `c` has exact names only; the expression itself otherwise."""
    if is_tensor(expr.args[0], env):
        return expr
    choice = exact_term(expr.args[0], env)
    return expr if choice is None else expr.args[1 if choice else 2]


SPECIAL: dict[tuple[str, int], Callable[[Apply, Env], Arg | None]] = {
    ("raw", 1): _raw,
    ("nearest", 2): _nearest,
    ("where", 3): _where,
}


# ---- conditions ---------------------------------------------------------------------------------------


def holds(expr: Expr, env: Env) -> bool | None:
    """Kleene's three values: proved, false for every run, or unknown (None)."""
    if isinstance(expr, Apply) and is_condition(expr):
        return _condition(expr, env)
    found = term(expr, env)
    return None if found is None else _truth(found)


def is_condition(expr: Apply) -> bool:
    """Whether a call is a comparison or a connective, with as many sides as it has."""
    if expr.fn == "not":
        return len(expr.args) == 1
    return expr.fn in ("and", "or") or (expr.fn in COMPARISONS and len(expr.args) == 2)


def _condition(expr: Apply, env: Env) -> bool | None:
    match expr.fn:
        case "and":
            return _all(holds(arg, env) for arg in expr.args)
        case "or":
            return _not(_all(_not(holds(arg, env)) for arg in expr.args))
        case "not":
            return _not(holds(expr.args[0], env))
        case "in":
            return _member(expr.args[0], expr.args[1], env)
        case _:
            return _compare(expr.fn, expr.args[0], expr.args[1], env)


def _truth(found: Interval) -> bool | None:
    if found.low == found.high:
        return found.low != 0
    return None if found.low <= 0 <= found.high else True


def _all(values: Iterable[bool | None]) -> bool | None:
    result: bool | None = True
    for value in values:
        if value is False:
            return False
        result = None if value is None else result
    return result


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _member(expr: Expr, collection: Expr, env: Env) -> bool | None:
    if isinstance(collection, ListOf):
        each = (_not(_compare("==", expr, item, env)) for item in collection.items)
        return _not(_all(each))
    if isinstance(collection, Between):
        below = _compare("<=", collection.low, expr, env)
        return _all((below, _compare("<=" if collection.closed else "<", expr, collection.high, env)))
    return None


def _compare(fn: str, left: Expr, right: Expr, env: Env) -> bool | None:
    if fn in (">", ">="):
        return _compare("<" if fn == ">" else "<=", right, left, env)
    if fn in ("==", "!="):
        same = _same(left, right, env)
        return same if fn == "==" else _not(same)
    x, y = term(left, env), term(right, env)
    if x is None or y is None:
        return None
    if (x.high < y.low) or (x.high == y.low and fn == "<="):
        return True
    if x.low > y.high or (x.low == y.high and fn == "<"):
        return False
    if x.low >= 0 and y.low >= 0 and (_rooted(left) or _rooted(right)):
        return _compare_squares(fn, left, right, env)
    return None


def _compare_squares(fn: str, left: Expr, right: Expr, env: Env) -> bool | None:
    """The same comparison of nonnegative terms without rounding their roots."""
    x, y = square_high(left, env), _square_low(right, env)
    if x is None or y is None:
        return None
    return True if x < y or (x == y and fn == "<=") else None


def _same(left: Expr, right: Expr, env: Env) -> bool | None:
    x, y = term(left, env), term(right, env)
    if x is None and y is None:
        first, second = word(left, env), word(right, env)
        return None if first is None or second is None else first == second
    if x is None or y is None:
        return None
    if x.low == x.high == y.low == y.high:
        return True
    return False if x.high < y.low or y.high < x.low else None


def _rooted(expr: Expr) -> bool:
    if not isinstance(expr, Apply):
        return False
    return _plain(expr) == "sqrt" or expr.fn in SQUARED_SLOTS or any(_rooted(arg) for arg in expr.args)


def _plain(expr: Apply) -> str:
    """The function's name without the module of an operator that is called the same."""
    return expr.fn.rpartition(".")[2]


def square_high(expr: Expr, env: Env) -> Exact | None:
    """An upper bound of `expr^2` for a nonnegative term; exact for products of norms and roots."""
    if isinstance(expr, Apply):
        if expr.fn in SQUARED_SLOTS and len(expr.args) == 1:
            found = tensor(expr.args[0], env)
            return None if found is None else SQUARED_SLOTS[expr.fn](found)
        if _plain(expr) == "sqrt" and len(expr.args) == 1:
            inner = term(expr.args[0], env)
            return None if inner is None or inner.low < 0 else inner.high
        if expr.fn == "*" and len(expr.args) == 2:
            left, right = (square_high(arg, env) for arg in expr.args)
            return None if left is None or right is None else left * right
        if expr.fn == "min" and len(expr.args) == 2:
            sides = [square_high(arg, env) for arg in expr.args]
            return min((side for side in sides if side is not None), default=None)
    found = term(expr, env)
    return None if found is None or found.low < 0 else found.high * found.high


def _square_low(expr: Expr, env: Env) -> Exact | None:
    if isinstance(expr, Apply) and _plain(expr) == "sqrt" and len(expr.args) == 1:
        inner = term(expr.args[0], env)
        return None if inner is None or inner.low < 0 else inner.low
    if isinstance(expr, Apply) and expr.fn == "*" and len(expr.args) == 2:
        left, right = (_square_low(arg, env) for arg in expr.args)
        return None if left is None or right is None else left * right
    found = term(expr, env)
    return None if found is None or found.low < 0 else found.low * found.low
