"""Every operator of the library: what is claimed of its results holds for its exact execution."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pllm_lang.catalog.apply import claim, execute, meet_claim, result_facts, run
from pllm_lang.catalog.bounds import known_facts, settle
from pllm_lang.catalog.evaluate import holds
from pllm_lang.catalog.expand import expand
from pllm_lang.catalog.expr import Apply, Num, Ref
from pllm_lang.catalog.facts import UNKNOWN, Facts, Interval
from pllm_lang.catalog.forms import simplify
from pllm_lang.catalog.shapes import meaning_shape
from pllm_lang.catalog.tensor import of_known, to_known
from pllm_lang.exact.number import normal
from pllm_lang.resources import stdlib_dir
from tests.catalog.cases import facts_about
from tests.catalog.containment import TOLERANCE, largest_distance, violations
from tests.catalog.library import operators
from tests.catalog.polynomials import same_values, value_of
from tests.catalog.uses import Use, uses

NAMES = sorted(operators())
quick = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))

ARITHMETIC = [
    "add",
    "sub",
    "mul",
    "neg",
    "scale",
    "matmul",
    "linear",
    "sum",
    "polynomial",
    "truncate",
    "rescale",
    "quantize",
    "dequantize",
    "cast",
    "encode",
    "share",
    "reveal",
    "compare",
    "select",
    "gather",
    "split",
    "concat",
    "permute",
    "transpose",
    "reshape",
    "slice",
]
FUNCTIONS = [
    "exp",
    "reciprocal",
    "inv_sqrt",
    "subtract_row_max",
    "silu",
    "gelu",
    "gelu_tanh",
    "relu",
    "sigmoid",
    "tanh",
    "softmax",
    "rms_norm",
    "layer_norm",
    "rotary_embedding",
    "attention_scores",
    "attention_values",
    "causal_mask",
    "kv_cache_append",
    "kv_cache_read",
    "repeat_kv",
    "gated_multiply",
    "top_k",
    "embedding",
]


def test_the_library_has_what_a_dense_decoder_needs() -> None:
    assert set(ARITHMETIC + FUNCTIONS) <= set(NAMES)


def test_every_operator_defines_every_result() -> None:
    for operator in operators().values():
        assert {c.name for c in operator.means} == {r.name for r in operator.results}, operator.name


def test_every_operator_with_ensures_says_why() -> None:
    """A proof note stands as a comment above each group of claims."""
    for module in ("operators", "nn", "experts", "recurrent"):
        lines = (stdlib_dir() / f"{module}.pllm").read_text().splitlines()
        for before, line in pairwise(lines):
            if line.strip().startswith("ensures"):
                assert before.strip().startswith(("#", "ensures")), line


def executed(use: Use):
    values = {name: of_known(known) for name, known in use.values.items()}
    env = msgspec.structs.replace(use.inferred.env, facts=dict.fromkeys(values, UNKNOWN))
    assume(all(holds(clause.expr, env) is not False for clause in use.operator.requires))
    found = execute(use.operator, env, values)
    assume(found is not None)
    assert found is not None
    return found


def facts_env(use: Use, facts: dict[str, Facts]):
    return msgspec.structs.replace(use.inferred.env, facts=facts)


@pytest.mark.parametrize("name", NAMES)
@quick
@given(data=st.data())
def test_result_facts_contain_the_execution(name, data) -> None:
    use = data.draw(uses(operators()[name]))
    found = executed(use)
    facts = {n: settle(data.draw(facts_about(known))) for n, known in use.values.items()}
    claimed = result_facts(use.operator, facts_env(use, facts))
    for result, tensor in found.items():
        assert violations(claimed[result], tensor) == [], result


INEXACT = ("truncate", "gelu", "gelu_tanh")
"""Rounded, or with an irrational factor that hides a zero."""


@pytest.mark.parametrize("name", NAMES)
@quick
@given(data=st.data())
def test_known_operands_give_known_results(name, data) -> None:
    """Steps on known values are evaluated exactly; where the value is carried on, it is the executed one."""
    use = data.draw(uses(operators()[name]))
    found = executed(use)
    claimed = result_facts(use.operator, facts_env(use, {n: known_facts(k) for n, k in use.values.items()}))
    for result, tensor in found.items():
        value = claimed[result].value
        assert violations(claimed[result], tensor) == []
        if value is not None:
            assert value == to_known(tensor)
        elif name not in INEXACT:
            assert to_known(tensor) is None, "an exact result is known"


@pytest.mark.parametrize("name", [n for n in NAMES if operators()[n].ensures])
@quick
@given(data=st.data())
def test_every_ensures_holds_by_itself(name, data) -> None:
    """Each claim alone, on exact facts of the operands, whatever the table finds."""
    use = data.draw(uses(operators()[name]))
    found = executed(use)
    env = facts_env(use, {n: known_facts(known) for n, known in use.values.items()})
    env.facts |= dict.fromkeys(found, UNKNOWN)
    for clause in use.operator.ensures:
        read = claim(clause)
        assert read is not None
        if read.slot == "error":
            continue
        wide = Facts(range=Interval(-(10**9), 10**9))
        claimed = settle(meet_claim(wide, read, env))
        assert claimed != wide, "a claim without a bound"
        assert violations(claimed, found[read.result]) == []


@pytest.mark.parametrize("name", NAMES)
@quick
@given(data=st.data())
def test_inferred_shapes_are_those_of_the_meaning(name, data) -> None:
    use = data.draw(uses(operators()[name]))
    env = facts_env(use, dict.fromkeys(use.values, UNKNOWN))
    for clause in use.operator.means:
        assert meaning_shape(clause.expr, env) == use.inferred.results[clause.name].shape
    for result, tensor in executed(use).items():
        assert tensor.shape == use.inferred.results[result].shape


@pytest.mark.parametrize("name", NAMES)
@quick
@given(data=st.data())
def test_polynomials_of_meanings_equal_their_execution(name, data) -> None:
    use = data.draw(uses(operators()[name]))
    values = {n: of_known(known) for n, known in use.values.items()}
    env = facts_env(use, dict.fromkeys(use.values, UNKNOWN))
    for clause in use.operator.means:
        found = expand(clause.expr, env)
        if found is not None:
            result = run(clause.expr, env, values)
            assert result is not None
            assert same_values(value_of(found, values), result)


POLYNOMIAL = (
    "add sub neg mul scale matmul linear sum polynomial share reveal transpose permute reshape slice split"
)


@pytest.mark.parametrize("name", POLYNOMIAL.split())
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_ring_operators_have_polynomials(name, data) -> None:
    """So that a protocol can be proved to compute them."""
    use = data.draw(uses(operators()[name]))
    env = facts_env(use, dict.fromkeys(use.values, UNKNOWN))
    assert all(expand(clause.expr, env) is not None for clause in use.operator.means)


EXACT_OPERANDS = {"index", "boolean"}


@pytest.mark.parametrize("name", NAMES)
@quick
@given(data=st.data())
def test_propagated_errors_cover_the_meaning(name, data) -> None:
    """Operands off by at most their error: the result is off from the unrounded meaning by at most the
    bound."""
    use = data.draw(uses(operators()[name]))
    facts, computed = {}, {}
    for spec in use.operator.operands:
        known = use.values[spec.name]
        plain = getattr(spec.format, "name", "") in EXACT_OPERANDS
        error = 0 if plain else data.draw(st.sampled_from([0, Fraction(1, 64), Fraction(1, 8)]))
        signs = data.draw(
            st.lists(st.integers(-2, 2), min_size=len(known.entries), max_size=len(known.entries))
        )
        moved = tuple(normal(v + error * Fraction(s, 2)) for v, s in zip(known.entries, signs, strict=True))
        computed[spec.name] = type(known)(known.shape, moved)
        about = settle(data.draw(facts_about(computed[spec.name])))
        facts[spec.name] = msgspec.structs.replace(about, error=error)
    claimed = result_facts(use.operator, facts_env(use, facts))
    off = executed(msgspec.structs.replace(use, values=computed))
    for clause in use.operator.means:
        bound = claimed[clause.name].error
        if bound is None or rounds(clause.expr):
            continue
        right = executed(use)[clause.name]
        assert largest_distance(off[clause.name], right) <= bound + TOLERANCE


def rounds(expr: object) -> bool:
    """Whether a meaning rounds: its own execution is then not the real value."""
    if getattr(expr, "fn", "") in ("nearest", "round_to"):
        return True
    return any(rounds(arg) for arg in getattr(expr, "args", ()))


def test_arguments_are_not_evaluated_twice_differently() -> None:
    """`x * x` is read as a square everywhere."""
    assert simplify(Apply("*", (Ref("x"), Ref("x")))) == Apply("^", (Ref("x"), Num("2")))
