"""What is proved by its form alone is proved by the narration as well."""

from __future__ import annotations

import msgspec
import pytest

from pllm_lang.ir import protocol as ir
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.narrations.held import disclosing_protocol, local_protocol
from pllm_lang.verify.protocol.prove import prove_protocol
from pllm_lang.verify.protocol.silent import is_silent

TYPE = ir.TensorType(ir.Ring(1 << 32), (2, 3))
ALONE = local_protocol("silu", (TYPE,), (False,), (TYPE,), ("client",))
TOGETHER = local_protocol("add", (TYPE, TYPE), (True, False), (TYPE,), ("p0", "p1"))
TWO_RESULTS = local_protocol("quantize", (TYPE,), (False,), (TYPE, TYPE), ("client",))


@pytest.mark.parametrize("protocol", [ALONE, TOGETHER, TWO_RESULTS])
def test_a_silent_protocol_is_proved(protocol: ir.Protocol) -> None:
    assert is_silent(protocol)
    report = prove_protocol(protocol)
    assert report.verdict is Verdict.PROVED
    assert report.findings == ()
    assert all(view.fresh == () for view in report.views)


def changed(protocol: ir.Protocol, **fields: object) -> ir.Protocol:
    return msgspec.structs.replace(protocol, **fields)


def _input(holding: ir.Holding) -> tuple[ir.Input, ...]:
    return (msgspec.structs.replace(ALONE.inputs[0], holding=holding),)


NOT_SILENT = {
    "a message": disclosing_protocol(TYPE, "client", ("server",)),
    "nobody computes it": changed(ALONE, body=()),
    "computed twice": changed(ALONE, body=ALONE.body * 2),
    "another value than it means": changed(
        ALONE, outputs=(msgspec.structs.replace(ALONE.outputs[0], meaning=ir.Ref("a0")),)
    ),
    "no meaning": changed(ALONE, outputs=(msgspec.structs.replace(ALONE.outputs[0], meaning=None),)),
    "rounded": changed(ALONE, outputs=(msgspec.structs.replace(ALONE.outputs[0], error=1),)),
    "an operand that it does not have": changed(ALONE, inputs=_input(ir.Clear(("server",)))),
    "a result that another party has": changed(
        ALONE,
        parties=(*ALONE.parties, ir.Party("server")),
        inputs=_input(ir.Public()),
        outputs=(msgspec.structs.replace(ALONE.outputs[0], holding=ir.Clear(("client", "server"))),),
    ),
    "a public result": changed(
        ALONE, outputs=(msgspec.structs.replace(ALONE.outputs[0], holding=ir.Public()),)
    ),
}


@pytest.mark.parametrize("name", sorted(NOT_SILENT))
def test_anything_else_is_looked_at(name: str) -> None:
    assert not is_silent(NOT_SILENT[name])
