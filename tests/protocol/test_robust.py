"""No protocol, however broken, makes the prover raise: it ends in a verdict."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from pllm_lang.ir import protocol as ir
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.protocol.prove import prove_protocol
from tests.protocol.generator import random_protocol
from tests.protocol.primitives import LIBRARY


def damaged(protocol: ir.Protocol, rng: Random) -> ir.Protocol:
    """Statements dropped, doubled, swapped, renamed, moved to other parties, given other shapes."""
    body = list(protocol.body)
    parties = [p.name for p in protocol.parties]
    for _ in range(rng.randrange(1, 4)):
        place = rng.randrange(len(body))
        st = body[place]
        roll = rng.randrange(6)
        if roll == 0 and len(body) > 1:
            del body[place]
        elif roll == 1:
            body.insert(rng.randrange(len(body)), st)
        elif roll == 2:
            other = rng.randrange(len(body))
            body[place], body[other] = body[other], body[place]
        elif roll == 3 and isinstance(st, ir.Assign):
            body[place] = msgspec.structs.replace(st, party=rng.choice(parties))
        elif roll == 4 and isinstance(st, ir.Send):
            body[place] = msgspec.structs.replace(
                st, sender=rng.choice(parties), receivers=(rng.choice(parties),)
            )
        elif isinstance(st, ir.Draw):
            number = rng.choice((ir.Ring(2), ir.Ring(6), ir.Integer(5), st.type.number))
            shape = rng.choice(((), (2,), (3, 2), ("q",), st.type.shape))
            body[place] = msgspec.structs.replace(st, type=ir.TensorType(number, shape))
    if rng.random() < 0.3:
        body = [ir.Repeat(rng.choice((0, 2, "times")), tuple(body))]
    return msgspec.structs.replace(protocol, body=tuple(body))


@pytest.mark.parametrize("seed", range(150))
def test_random_damage(seed: int) -> None:
    rng = Random(seed)
    base = rng.choice([*LIBRARY.values(), random_protocol(rng)[0]])
    report = prove_protocol(damaged(base, rng))
    assert report.verdict in Verdict
    assert msgspec.json.encode(report)


@pytest.mark.parametrize("nested", [140, 400, 3000])
def test_functions_inside_each_other(nested: int) -> None:
    """Each line is made of the one before, twice: a tree of 2^nested leaves when it is written out."""
    ring = ir.TensorType(ir.Ring(2**64), (2,))
    body: list[ir.Statement] = [ir.Assign("a", "y0", ir.Ref("x"))]
    for number in range(nested):
        before = ir.Ref(f"y{number}")
        both = ir.Mul(ir.Call("f", (before,), ring), ir.Call("g", (before,), ring))
        body.append(ir.Assign("a", f"y{number + 1}", both))
    body.append(ir.Send("a", ("b",), f"y{nested}"))
    protocol = ir.Protocol(
        "deep",
        (ir.Party("a"), ir.Party("b")),
        (ir.Input("x", ring, ir.Clear(("a",))),),
        (),
        tuple(body),
    )
    report = prove_protocol(protocol, (("b",),))
    assert report.verdict is not Verdict.PROVED
    assert len(msgspec.json.encode(report)) < 50_000
