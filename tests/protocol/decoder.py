"""A decoder as a composition: masked linear layers between the client's own steps, prefill and decode."""

from __future__ import annotations

from pllm_lang.ir import protocol as ir
from pllm_lang.verify.protocol.inlining import Composition, Instance
from tests.protocol.library import Z64, masked_linear, parties, ref, t

ROLES = tuple((p, p) for p in ("client", "preparation", "inference"))
HIDDEN, FFN = 8192, 28672
LINEARS = (
    ("qkv", "h", HIDDEN, 10240),
    ("o", "attended", HIDDEN, HIDDEN),
    ("gate", "g_in", HIDDEN, FFN),
    ("up", "g_in", HIDDEN, FFN),
    ("down", "act", FFN, HIDDEN),
)


def local(fn: str, rows: ir.Dim, widths: tuple[int, ...], out: int) -> ir.Protocol:
    """A step of the client in the clear."""
    names = [f"a{i}" for i in range(len(widths))]
    inputs = tuple(
        ir.Input(n, t((rows, width)), ir.Clear(("client",))) for n, width in zip(names, widths, strict=True)
    )
    value = ir.Call(fn, tuple(ref(n) for n in names), t((rows, out)))
    output = ir.Output("y", t((rows, out)), ir.Clear(("client",)), value)
    return ir.Protocol(fn, parties("client"), inputs, (output,), (ir.Assign("client", "y", value),))


def decoder(layers: int, distinct: bool = False) -> Composition:
    """Prefill over m rows and one decode step; with `distinct` every layer has its own sizes."""
    steps: list[Instance] = []
    inputs = [
        ir.Input("x:prefill", t(("m", HIDDEN)), ir.Clear(("client",))),
        ir.Input("x:decode", t((1, HIDDEN)), ir.Clear(("client",))),
    ]
    for stage, rows in (("prefill", "m"), ("decode", 1)):
        before = f"x:{stage}"
        for layer in range(layers):
            before = _layer(steps, inputs, stage, rows, layer, before, FFN + 8 * layer * distinct)
    outputs = tuple(
        ir.Output(before_, t((rows, HIDDEN)), ir.Clear(("client",)))
        for before_, rows in ((f"out{layers - 1}:prefill", "m"), (f"out{layers - 1}:decode", 1))
    )
    return Composition(
        "decoder", parties("client", "preparation", "inference"), tuple(inputs), outputs, tuple(steps)
    )


def _layer(
    steps: list[Instance], inputs: list[ir.Input], stage: str, rows: ir.Dim, layer: int, x: str, ffn: int
) -> str:
    def name(what: str) -> str:
        return f"{what}{layer}:{stage}"

    def own(fn: str, args: tuple[str, ...], widths: tuple[int, ...], out: int, result: str) -> None:
        wired = tuple((f"a{i}", a) for i, a in enumerate(args))
        steps.append(Instance(local(fn, rows, widths, out), (("client", "client"),), wired, (("y", result),)))

    def linear(what: str, source: str, k: int, n: int) -> None:
        weight = f"w_{what}{layer}"
        if stage == "prefill":
            inputs.append(ir.Input(weight, t((n, k)), ir.Public(), lifetime="weights"))
        protocol = masked_linear(Z64, (rows, k, n))
        steps.append(Instance(protocol, ROLES, (("x", source), ("w", weight)), (("y", name(what)),)))

    own("rms_norm", (x,), (HIDDEN,), HIDDEN, name("h"))
    linear("qkv", name("h"), HIDDEN, 10240)
    own("attention", (name("qkv"),), (10240,), HIDDEN, name("attended"))
    linear("o", name("attended"), HIDDEN, HIDDEN)
    own("norm", (x, name("o")), (HIDDEN, HIDDEN), HIDDEN, name("g_in"))
    linear("gate", name("g_in"), HIDDEN, ffn)
    linear("up", name("g_in"), HIDDEN, ffn)
    own("swiglu", (name("gate"), name("up")), (ffn, ffn), ffn, name("act"))
    linear("down", name("act"), ffn, HIDDEN)
    own("add", (x, name("down")), (HIDDEN, HIDDEN), HIDDEN, name("out"))
    return name("out")
