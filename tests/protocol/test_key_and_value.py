"""One name for a key and a value: whatever is sent under it is looked at by nobody, so the text has a finding."""

from __future__ import annotations

import pytest

from pllm_lang.ir import protocol as ir
from pllm_lang.verify.protocol.narration import narrate
from pllm_lang.verify.protocol.sizes import Sizes

TYPE = ir.TensorType(ir.Ring(4), (1,))
KEY = ir.KeyDraw("seed", ("p",))
VALUE = ir.Assign("p", "seed", ir.Ref("x"))
DRAW = ir.Draw("seed", TYPE, ("p",))


@pytest.mark.parametrize(
    ("body", "found"),
    [((KEY, VALUE), 1), ((VALUE, KEY), 1), ((KEY, DRAW), 1), ((DRAW, KEY), 1), ((DRAW,), 0), ((KEY,), 0)],
)
def test_a_name_is_a_key_s_or_a_value_s(body: tuple[ir.Statement, ...], found: int) -> None:
    given = (ir.Input("x", TYPE, ir.Clear(("p",))),)
    told = (*body, ir.Send("p", ("q",), "seed"))
    protocol = ir.Protocol("named", tuple(map(ir.Party, "pq")), given, (), told)
    assert [one.code for one in narrate(protocol, Sizes()).findings] == ["protocol.misfit"] * found
