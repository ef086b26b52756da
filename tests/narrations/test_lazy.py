"""The prover loads only where something is to be proved; whole decoders are proved within a second."""

import subprocess
import sys
import time
from pathlib import Path

from tests.corpus_harness import checked

ROOT = Path(__file__).parent.parent.parent
LOADED = """
import sys
from pllm_lang.cli.checking import check_files
check_files([sys.argv[1]], ".")
print(" ".join(sorted(m for m in sys.modules if m.startswith(("pllm_lang.verify.protocol", "pllm_lang.verify.narrations", "numpy")))))
"""


def loaded(example: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", LOADED, str(ROOT / "examples" / f"{example}.pllm")],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return run.stdout.strip()


def test_a_plan_under_no_policy_needs_no_prover() -> None:
    assert loaded("gated_mlp") == ""


def test_a_plan_under_a_policy_needs_it_and_nothing_else() -> None:
    names = loaded("first_look").split()
    assert "pllm_lang.verify.narrations.plan" in names
    assert "numpy" not in names


def test_80_layers_of_prefill_and_decode(tmp_path: Path) -> None:
    """Views, flow and knowledge of 80 layers in two stages, with all other checks of the plan."""
    path = tmp_path / "deep.pllm"
    path.write_text(decoder(80), encoding="utf-8")
    start = time.process_time()
    found = checked(path)
    spent = time.process_time() - start
    assert found.findings == ()
    assert all(report.accepted for report in found.reports)
    assert spent < 4  # about 0.6 s of it views, on a machine of 2024; the rest parses and walks the plan


def test_one_bad_layer_of_many_is_found(tmp_path: Path) -> None:
    path = tmp_path / "deep.pllm"
    text = decoder(80)
    place = text.rindex("masked_linear(bits: 32)")
    path.write_text(text[:place] + text[place:].replace("bits: 32", "bits: 32, preparation: inference", 1))
    codes = {finding.code for finding in checked(path).findings}
    assert "placement.leak" in codes


def decoder(layers: int) -> str:
    weights = "".join(
        f"  weight {name}[0..<{layers}]: weight8[{n}, {k}] public where abs({name}) <= 127\n"
        for name, n, k in (("wo", 64, 64), ("wg", 128, 64), ("wu", 128, 64), ("wd", 64, 128))
    )
    return (
        HEAD
        + weights
        + "".join(
            STAGE.replace("STAGE", s).replace("ROWS", str(r)).replace("LAYERS", str(layers))
            for s, r in STAGES
        )
        + "}\n"
    )


STAGES = (("prefill", 16), ("decode", 1))
HEAD = """pllm 1

import std.formats [f32, act8, weight8, q7]
import std.components [masked_linear, binary_table]
import std.policies [single_evaluator]

plan deep under single_evaluator {
"""
STAGE = """
  stage STAGE {
    input h: f32[ROWS, 64] from client where abs(h) <= 12
    repeat layer in 0..<LAYERS carrying [h] {
      a, sa = quantize(h, to: act8, per: row) @ client
      o = linear(a, wo[layer]) using masked_linear(bits: 32)
      of = rescale(o, by: outer(sa, wo[layer].scale), to: f32) @ client
      c = clamp(of, low: -12, high: 12) @ client
      b, sb = quantize(c, to: act8, per: row) @ client
      gate = linear(b, wg[layer]) using masked_linear(bits: 32)
      up = linear(b, wu[layer]) using masked_linear(bits: 32)
      g = rescale(gate, by: outer(sb, wg[layer].scale), to: q7, saturate: true) @ client
      u = rescale(up, by: outer(sb, wu[layer].scale), to: q7, saturate: true) @ client
      m = gated_multiply(g, u) using binary_table
      d, sd = quantize(m, to: act8, per: row) @ client
      y = linear(d, wd[layer]) using masked_linear(bits: 32)
      yf = rescale(y, by: outer(sd, wd[layer].scale), to: f32) @ client
      h = clamp(yf, low: -12, high: 12) @ client
    }
    output h to client
  }
"""
