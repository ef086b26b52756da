"""Every narration of the library: proved, executed, and refused with a slip in it."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from pllm_lang.catalog.load import shipped_library
from pllm_lang.catalog.records import Component
from pllm_lang.ir import protocol as ir
from pllm_lang.ir.lower.protocol import lower_protocol
from pllm_lang.verify.narrations.check import check_component
from pllm_lang.verify.narrations.examples import settings
from pllm_lang.verify.protocol.execute import execute
from pllm_lang.verify.protocol.instances import with_rings, with_sizes
from pllm_lang.verify.protocol.sizes import symbols_of
from pllm_lang.verify.protocol.witness import output_right, random_inputs
from tests.narrations.slips import slips

LIBRARY = shipped_library()
NARRATED = {
    key: component
    for key in LIBRARY.keys("component")
    if (component := LIBRARY.component(key)) is not None and component.protocol is not None
}

# Slips that leave a protocol as right and as private as it was, each with the reason.
HARMLESS = {
    "arithmetic_garbling_silu_q7": {
        "to client as well: online 2": "the client may know operand, result and mask"
    },
    "binary_table": {"to client as well: online 2": "the client may know operands, result and mask"},
    "r03_crt": {"to client as well: online 2": "the client may know operands, result and mask"},
    "garbled_silu": {"to client as well: online 2": "the client may know operand and mask"},
    "crt_silu": {"to client as well: online 6": "the client may know operand and mask"},
    "masked_linear": {"to client as well: offline 4": "the client knows both masks and the public weights"},
    "arithmetic_to_boolean": {
        "sign 0 flipped: online 4": "modulo 2 a sum is a difference",
        "negated: online 3": "modulo 2 a number is its negative",
        "negated: online 4": "modulo 2 a number is its negative",
        "squared: online 3": "a bit is its square",
        "squared: online 4": "a bit is its square",
    },
    "freivalds_matmul": {
        "left out: online 2": "nobody cheats here, so the check has nothing to find",
        "doubled: online 2": "twice zero is zero",
        "negated: online 2": "minus zero is zero",
        "squared: online 2": "the square of zero is zero",
        "result to server": "the operands are public, so anybody may have the product",
    },
    "replicated_reveal": {"to p2 as well: online 0": "p2 holds that piece"},
    "replicated_reveal_to_client": {"to p2 as well: online 2": "p2 holds that piece"},
}


def test_the_issue_s_protocols_are_there() -> None:
    assert len(NARRATED) >= 26
    wanted = {
        "masked_linear", "additive_share", "additive_add", "additive_reveal", "beaver_multiply", "beaver_matmul",
        "replicated_share", "replicated_multiply", "replicated_matmul", "replicated_reveal", "cast_two_party_local",
        "cast_masked", "additive_to_replicated", "arithmetic_to_boolean", "freivalds_matmul", "garbled_silu", "crt_silu",
        "transfer_select", "encrypted_linear",
    }  # fmt: skip
    assert wanted <= {component.name for component in NARRATED.values()}


@pytest.mark.parametrize("key", sorted(NARRATED))
def test_proved(key: str) -> None:
    checked = check_component(key, NARRATED[key], LIBRARY)
    assert checked.findings == ()
    assert checked.examples


@pytest.mark.parametrize("key", sorted(NARRATED))
def test_executed_from_the_text(key: str) -> None:
    """At random operands and draws, every result is what the operator means, at three entries an axis."""
    for protocol in lowered(NARRATED[key]):
        if protocol.outputs[0].scale_bits:
            continue
        symbols = {s for i in protocol.inputs for d in i.type.shape for s in symbols_of(d)}
        small = with_sizes(protocol, dict.fromkeys(symbols, 3))
        for seed in range(3):
            rng = Random(seed)
            inputs = random_inputs(small, rng)
            run = execute(small, {}, inputs, lambda _, rng=rng: rng)
            assert run.aborted == ()
            assert all(output_right(small, output.name, inputs, run) for output in small.outputs)


SMALL = sorted(
    key
    for key, component in NARRATED.items()
    if not component.primitive and not component.reveals and component.implements[0] != "std.operators.cast"
)


@pytest.mark.parametrize("modulus", [4, 8])
@pytest.mark.parametrize("key", SMALL)
def test_executed_over_small_rings(key: str, modulus: int) -> None:
    """The same text modulo 4 and 8, with two entries an axis: a hundred runs each."""
    protocol = lowered(NARRATED[key])[0]
    symbols = {s for i in protocol.inputs for d in i.type.shape for s in symbols_of(d)}
    small = with_rings(with_sizes(protocol, dict.fromkeys(symbols, 2)), lambda _: ir.Ring(modulus))
    for seed in range(100):
        rng = Random(seed)
        inputs = random_inputs(small, rng)
        run = execute(small, {}, inputs, lambda _, rng=rng: rng)
        assert all(output_right(small, output.name, inputs, run) for output in small.outputs)


@pytest.mark.parametrize("name", ["cast_masked", "cast_two_party_local"])
def test_a_cut_is_within_one_unit(name: str) -> None:
    """2^range bounds the value; the chance of a wrap is 2^(40 - 128), the mask hides and then comes off."""
    protocol = with_sizes(lowered(NARRATED[f"std.protocols.{name}"])[0], {"s": 1})
    limit, cut = 1 << protocol.inputs[0].range_bits, protocol.outputs[0].scale_bits
    ring = protocol.outputs[0].type.number
    assert isinstance(ring, ir.Ring)
    assert cut == 18
    for seed in range(200):
        rng = Random(seed)
        value = rng.randrange(1 - limit, limit)
        inputs = random_inputs(protocol, rng)
        share = inputs["x.p0", 1]
        inputs["x.p1", 1] = type(share)((1,), ((value - share.entries[0]) % share.modulus,), share.modulus)
        outputs = execute(protocol, {}, inputs, lambda _, rng=rng: rng).outputs[0]
        total = (outputs["p0", "y.p0"].entries[0] + outputs["p1", "y.p1"].entries[0]) % ring.modulus
        total -= ring.modulus if 2 * total > ring.modulus else 0
        assert abs(total - value / 2**cut) <= 1


def lowered(component: Component):
    operator = LIBRARY.operator(component.implements[0])
    found = [
        lower_protocol(component, operator, LIBRARY, setting) for setting in settings(component, operator)
    ]
    usable = [one.protocol for one in found if one.protocol is not None and not one.findings]
    assert usable
    return usable


@pytest.mark.parametrize("key", sorted(NARRATED))
def test_a_slip_is_refused(key: str) -> None:
    component = NARRATED[key]
    harmless = HARMLESS.get(component.name, {})
    broken = [(what, copy) for what, copy in slips(component) if what not in harmless]
    accepted = [what for what, copy in broken if not check_component(key, copy, LIBRARY).findings]
    assert accepted == []
    assert len(broken) >= 8


@pytest.mark.parametrize("name", sorted(HARMLESS))
def test_what_is_called_harmless_is_proved(name: str) -> None:
    key, component = next((k, c) for k, c in NARRATED.items() if c.name == name)
    copies = dict(slips(component))
    assert all(not check_component(key, copies[what], LIBRARY).findings for what in HARMLESS[name])


RESTS_ON = {
    "nothing further": {
        "additive_add", "additive_reveal", "replicated_share", "replicated_add", "replicated_reveal",
        "replicated_reveal_to_client", "masked_reveal", "additive_to_replicated", "freivalds_matmul", "open_gather",
        "cast_two_party_local", "additive_subtract", "additive_public_linear", "replicated_subtract",
        "replicated_to_additive",
    },
    "prf": {
        "masked_linear", "additive_share", "beaver_multiply", "beaver_matmul", "replicated_multiply",
        "replicated_matmul", "cast_masked",
    },
    "bit_decomposition": {"arithmetic_to_boolean"},
    "garbled_table": {"garbled_silu", "binary_table"},
    "garbled_arithmetic": {"crt_silu", "r03_crt", "arithmetic_garbling_silu_q7"},
    "oblivious_transfer": {"transfer_select"},
    "homomorphic_encryption": {"encrypted_linear"},
}  # fmt: skip


def test_proofs_rest_on_exactly_what_the_soundness_page_lists() -> None:
    found: dict[str, set[str]] = {}
    for key, component in NARRATED.items():
        checked = check_component(key, component, LIBRARY)
        names = {assumption.split(" ")[0] for assumption in checked.assumptions} or {"nothing further"}
        for name in names:
            found.setdefault(name, set()).add(component.name)
        rests = {reason for report in checked.reports for c in report.correctness for reason in c.rests_on}
        assert bool(rests) == (component.name == "cast_two_party_local")
    assert found == RESTS_ON
    page = (Path(__file__).parent.parent.parent / "docs" / "soundness.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    assert all(any(f"`{name}`" in row or name in row for row in rows) for name in RESTS_ON)
