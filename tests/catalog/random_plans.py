"""Random plans as data: a few operators in a row, facts flowing forward, every step executed exactly beside
them.

A plan is made from a seed and aims at one operator. Its inputs are exact tensors; their facts are true and
mostly
tight, so that bounds are attained and a bound that is too small by one step shows.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod
from random import Random

import msgspec

from pllm_lang.catalog.apply import Inferred, Params, Type, execute, infer, result_facts
from pllm_lang.catalog.bounds import known_facts, settle
from pllm_lang.catalog.evaluate import holds
from pllm_lang.catalog.expr import AnyRank, Apply, Expr, ListOf, Num, Ref
from pllm_lang.catalog.facts import UNKNOWN, Exact, Facts, Interval, Known
from pllm_lang.catalog.formats import BOOLEAN, INDEX
from pllm_lang.catalog.records import Clause, Format, OperandSpec, Operator, ParamSpec
from pllm_lang.catalog.tensor import Shape, Tensor, ends, entries, of_known
from tests.catalog.containment import violations
from tests.catalog.library import FIXED, operators
from tests.catalog.uses import FIXED_SIZES, LISTS, NUMBERS, POSITIVE, TABLES

EIGHTH_TURN = 286_602
"""A position that turns the first pair by a quarter of pi and whole turns, to 1e-7: rotation's bound is
attained there."""


class Value(msgspec.Struct):
    tensor: Tensor
    facts: Facts
    format: Format | None


class Ran(msgspec.Struct):
    """One executed step: which rules spoke, and what they wrongly excluded."""

    operator: str
    rules: frozenset[str]
    broken: list[str]


MAX_BITS = 3_000
SPECIAL = (
    0,
    0,
    1,
    -1,
    40,
    -40,
    Fraction(-127846, 100000),
    Fraction(-3, 4),
    Fraction(-7525, 10000),
    Fraction(1, 2**12),
)


def bare(name: str, *operands: str) -> Operator:
    """An operator that is one primitive which no operator of the library uses."""
    x = tuple(OperandSpec(o, Ref("F"), (AnyRank("s"),)) for o in operands)
    y = OperandSpec("y", Ref("F"), (AnyRank("s"),))
    meaning = Clause(Apply(name, tuple(Ref(o) for o in operands)), "y")
    return Operator(f"bare {name}", "tests", ("F",), x, (), (y,), (meaning,))


BARE = {
    operator.name: operator
    for operator in (
        *(bare(name, "x") for name in ("cos", "sin", "floor", "abs")),
        *(bare(name, "x", "z") for name in (">", ">=", "!=")),
    )
}


def all_operators() -> dict[str, Operator]:
    return {**operators(), **BARE}


def run_plan(seed: int, target: Operator, ops: dict[str, Operator]) -> list[Ran]:
    """Up to three random steps, then the target."""
    random = Random(f"{seed}:{target.name}")
    dims = {
        "b": 2,
        "v": 4,
        "e": 3,
        "d": 4,
        "k": 3,
        "h": 2,
        "u": 3,
        "m": random.choice([1, 2]),
        "n": random.choice([1, 2, 3]),
    }
    dims["t"] = random.choice([1, 2, 3])
    pool: list[Value] = []
    ran: list[Ran] = []
    for operator in (*random.choices(list(ops.values()), k=random.choice([0, 0, 1, 3])), target):
        found = run_step(random, operator, dims, pool)
        if found is not None:
            ran.append(found)
    return ran


def run_step(random: Random, operator: Operator, dims: dict[str, int], pool: list[Value]) -> Ran | None:
    dims = dims | FIXED_SIZES.get(operator.name, {})
    lead = random.choice([(), (2,), (3,), (2, 2)]) if operator.name not in RANK_TWO else (2, 3)
    given = {spec.name: operand(random, operator, spec, dims, lead, pool) for spec in operator.operands}
    types = {name: Type(FIXED if v.format is None else v.format, v.tensor.shape) for name, v in given.items()}
    inferred = infer(operator, types, parameters(random, operator))
    assert isinstance(inferred, Inferred), (operator.name, inferred)
    env = inferred.env
    env.facts = dict.fromkeys(given, UNKNOWN)
    if any(holds(clause.expr, env) is False for clause in operator.requires):
        return None
    found = execute(operator, env, {name: v.tensor for name, v in given.items()})
    if found is None or any(too_large(t) for t in found.values()):
        return None
    env.facts = {name: v.facts for name, v in given.items()}
    claimed = result_facts(operator, env)
    broken = [f"{r}: {b}" for r, tensor in found.items() for b in violations(claimed[r], tensor)]
    pool += [Value(tensor, claimed[r], None) for r, tensor in found.items()]
    return Ran(operator.name, rules_of(operator), broken)


RANK_TWO = ("permute", "slice", "concat", "reshape")


def operand(
    random: Random,
    operator: Operator,
    spec: OperandSpec,
    dims: dict[str, int],
    lead: Shape,
    pool: list[Value],
) -> Value:
    shape = tuple(
        n for dim in spec.shape for n in (lead if isinstance(dim, AnyRank) else (size_of(dim, dims),))
    )
    name = getattr(spec.format, "name", "")
    plain = name not in ("index", "boolean") and POSITIVE.get(operator.name) != spec.name
    fitting = [v for v in pool if v.tensor.shape == shape and v.format is None]
    if plain and fitting and random.random() < 0.6:
        return random.choice(fitting)
    choose, form = entry_source(random, operator, spec, dims)
    known = Known(shape, tensor_entries(random, prod(shape), choose))
    return Value(of_known(known), facts_of(random, known), form)


def size_of(dim: Expr, dims: dict[str, int]) -> int:
    return int(dim.value) if isinstance(dim, Num) else dims[getattr(dim, "name", "")]


def entry_source(random: Random, operator: Operator, spec: OperandSpec, dims: dict[str, int]):
    name = getattr(spec.format, "name", "")
    if operator.name.startswith("rotary_") and name == "index":
        return (lambda: random.choice([0, 1, 5, EIGHTH_TURN, EIGHTH_TURN])), INDEX
    if name == "index":
        top = dims[TABLES[operator.name]] if operator.name in TABLES else 9
        return (lambda: random.randrange(top)), INDEX
    if name == "boolean":
        return (lambda: random.randrange(2)), BOOLEAN
    if POSITIVE.get(operator.name) == spec.name:
        return (lambda: random.choice([1, 2, Fraction(1, 4), 9])), None
    return (lambda: random.choice(SPECIAL) if random.random() < 0.4 else random.randint(-6, 6)), None


def tensor_entries(random: Random, count: int, choose) -> tuple[Exact, ...]:
    if random.random() < 0.4:
        return (choose(),) * count
    pair = (choose(), choose())
    if random.random() < 0.5:
        return tuple(random.choice(pair) for _ in range(count))
    return tuple(choose() for _ in range(count))


def facts_of(random: Random, known: Known) -> Facts:
    """True facts, mostly tight; sometimes only the range, or a wider one."""
    full = settle(known_facts(known))
    assert full.range is not None
    kind = random.randrange(4)
    if kind == 0:
        return Facts(range=full.range, error=0)
    if kind == 1:
        return Facts(range=Interval(full.range.low - 1, full.range.high), error=0)
    return msgspec.structs.replace(full, value=None)


def parameters(random: Random, operator: Operator) -> Params:
    params = Params()
    for spec in operator.params:
        match spec.kind:
            case "format":
                params.formats[spec.name] = FIXED
            case "boolean":
                params.exact[spec.name] = random.randrange(2)
            case "word":
                assert isinstance(spec.allowed, ListOf)
                params.words[spec.name] = getattr(random.choice(spec.allowed.items), "name", "")
            case "shape":
                params.lists[spec.name] = random.choice([(3, 2), (6,), (1, 2, 3)])
            case "list":
                params.lists[spec.name] = LISTS[operator.name]
            case _:
                params.exact[spec.name] = number(random, operator, spec)
    return params


def number(random: Random, operator: Operator, spec: ParamSpec) -> Exact:
    if spec.name == "eps":
        return Fraction(1, 2**60)
    fixed = NUMBERS.get((operator.name, spec.name))
    if fixed is not None:
        return random.choice(fixed)
    return random.randint(1, 3) if spec.kind == "integer" else random.choice([1, Fraction(1, 2), 3])


def too_large(x: Tensor) -> bool:
    return any(
        max(ends(e).high.numerator.bit_length(), ends(e).high.denominator.bit_length()) > MAX_BITS
        for e in entries(x)
    )


def rules_of(operator: Operator) -> frozenset[str]:
    """The range rules that speak of a step: primitives of its meanings, and its own claims."""
    names = {name for clause in operator.means for name in primitives_in(clause.expr)}
    return frozenset(names | {claim_name(operator, i) for i in range(len(operator.ensures))})


def claim_name(operator: Operator, position: int) -> str:
    return f"{operator.name} ensures {position}"


def primitives_in(expr: Expr) -> set[str]:
    if not isinstance(expr, Apply):
        return set()
    name = {"nearest": "round_to", "raw": "/"}.get(expr.fn, expr.fn)
    if name == "-" and len(expr.args) == 1:
        name = "neg"
    if name == "*" and expr.args[0] == expr.args[1]:
        name = "^"
    return {name}.union(*(primitives_in(arg) for arg in expr.args))
