"""A meaning that the prover knows only by name is never called refuted: there is nothing to compare with."""

from pathlib import Path

from pllm_lang.cli.checking import check_files
from pllm_lang.text.finding import Verdict

TEXT = """pllm 1

component poly = "example/poly" {
  kind: method
  version: "1"
  implements: polynomial
  protocol (x: ring(64)[n] from client) -> (y: ring(64)[n] to client) {
    online {
      client: y = x * x
    }
  }
}
"""


def test_a_polynomial_of_unknown_coefficients_is_unproved(tmp_path: Path) -> None:
    path = str(tmp_path / "poly.pllm")
    found = check_files([path], str(tmp_path), {path: TEXT}).findings
    assert [(f.code, f.verdict) for f in found] == [("protocol.wrong_result", Verdict.UNPROVED)]
