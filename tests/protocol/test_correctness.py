"""Every library protocol, executed from its data, computes its operator: exhaustively where small, else at
random."""

from __future__ import annotations

from random import Random

import pytest

from pllm_lang.ir import protocol as ir
from pllm_lang.verify.protocol.execute import execute
from pllm_lang.verify.protocol.instances import with_sizes
from pllm_lang.verify.protocol.witness import meaning_inputs, output_right, random_inputs
from tests.protocol import library as lib
from tests.protocol.enumeration import Run
from tests.protocol.primitives import LIBRARY

EXACT = {name: p for name, p in LIBRARY.items() if not p.outputs[0].scale_bits}
SIZES = {"m": 2, "k": 3, "n": 2}


@pytest.mark.parametrize("name", sorted(EXACT))
@pytest.mark.parametrize("seed", range(6))
def test_random_values(name: str, seed: int) -> None:
    protocol = with_sizes(EXACT[name], SIZES)
    inputs = random_inputs(protocol, Random(seed))
    run = execute(protocol, {}, inputs, _source(seed))
    assert run.aborted == ()
    assert all(output_right(protocol, o.name, inputs, run) for o in protocol.outputs)


def _source(seed: int):
    rng = Random(1000 + seed)
    return lambda _: rng


MAKERS = {
    "masked_linear": lambda r: lib.masked_linear(r, (1, 1, 1)),
    "additive_share": lambda r: lib.additive_share(r, 1),
    "additive_add": lambda r: lib.additive_add(r, 1),
    "additive_reveal": lambda r: lib.additive_reveal(r, 1),
    "replicated_share": lambda r: lib.replicated_share(r, 1),
    "replicated_reveal": lambda r: lib.replicated_reveal(r, 1),
    "additive_to_replicated": lambda r: lib.additive_to_replicated(r, 1),
    "beaver_multiply": lambda r: lib.beaver(r, (1,)),
    "beaver_matmul": lambda r: lib.beaver_matmul(r, (1, 1, 1)),
    "replicated_multiply": lambda r: lib.replicated_multiply(r, (1,)),
    "replicated_matmul": lambda r: lib.replicated_matmul(r, (1, 1, 1)),
}


@pytest.mark.parametrize("modulus", [4, 8])
@pytest.mark.parametrize("name", sorted(MAKERS))
def test_over_small_rings(name: str, modulus: int) -> None:
    """Every input and draw where that is up to 2^18 runs; else a thousand at random."""
    protocol = MAKERS[name](ir.Ring(modulus))
    bits = (modulus.bit_length() - 1) * _variables(protocol)
    if bits <= 18:
        assert Run(protocol, 1, 1 << 18).outputs_hold()
        return
    for seed in range(1000):
        inputs = random_inputs(protocol, Random(seed))
        assert output_right(
            protocol, protocol.outputs[0].name, inputs, execute(protocol, {}, inputs, _source(seed))
        )


def _variables(protocol: ir.Protocol) -> int:
    pieces = sum(len(i.holding.pieces) if isinstance(i.holding, ir.Shared) else 1 for i in protocol.inputs)
    return pieces + sum(isinstance(s, ir.Draw) for s in protocol.body)


@pytest.mark.parametrize(
    "name",
    [
        "masked_linear",
        "additive_share",
        "additive_add",
        "replicated_share",
        "replicated_reveal",
        "additive_to_replicated",
    ],
)
def test_views_over_small_rings(name: str) -> None:
    """What is proved for every ring and size is independent by enumeration at one entry modulo 4."""
    protocol = MAKERS[name](ir.Ring(4))
    run = Run(protocol, 1, 1 << 18)
    assert all(run.independent(frozenset([p.name])) for p in protocol.parties)


@pytest.mark.parametrize("seed", range(200))
def test_masked_truncation_is_within_one_unit(seed: int) -> None:
    protocol = with_sizes(lib.masked_truncation(), {"n": 1})
    rng = Random(seed)
    value = rng.randrange(1 - (1 << 20), 1 << 20)
    assert abs(_truncated(protocol, value, rng) - value / 2**16) <= 1


@pytest.mark.parametrize("seed", range(200))
def test_local_truncation_is_within_one_unit(seed: int) -> None:
    """A wrap has probability 2^-24 an entry: none in 200 runs from fixed seeds."""
    protocol = with_sizes(lib.local_truncation(), {"n": 1})
    rng = Random(seed)
    value = rng.randrange(1 - (1 << 40), 1 << 40)
    assert abs(_truncated(protocol, value, rng) - value / 2**16) <= 1


def _truncated(protocol: ir.Protocol, value: int, rng: Random) -> int:
    inputs = random_inputs(protocol, rng)
    first = inputs["x.p0", 1].entries[0]
    inputs["x.p1", 1] = type(inputs["x.p0", 1])((1,), ((value - first) % 2**64,), 2**64)
    assert meaning_inputs(protocol, inputs, 1)["x"].entries[0] == value % 2**64
    outputs = execute(protocol, {}, inputs, lambda _: rng).outputs[0]
    total = (outputs["p0", "z.p0"].entries[0] + outputs["p1", "z.p1"].entries[0]) % 2**64
    return total - 2**64 if total >= 2**63 else total
