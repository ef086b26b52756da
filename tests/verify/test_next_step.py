"""What refusals propose: a component that takes the formats, the step where an error becomes unknown, sizes in units."""

from __future__ import annotations

from pathlib import Path

import pytest

from pllm_lang.cli.answer import found_in, with_tried_fixes
from pllm_lang.cli.call import Call
from pllm_lang.cli.config import find_settings
from pllm_lang.text.finding import Finding
from tests.corpus_harness import findings_of

HEAD = "pllm 1\nimport std.formats [fx64_16, int8, f32]\nimport std.methods [fixed_linear_exact, integer_linear]\n"


def told(tmp_path: Path, text: str) -> dict[str, tuple[str, str, tuple[str, ...]]]:
    """Message, help and notes by code."""
    path = tmp_path / "plan.pllm"
    path.write_text(HEAD + text, encoding="utf-8")
    return {f.code: (f.message, f.help, f.notes) for f in findings_of(path)}


def layer(format_: str, using: str = "") -> str:
    return f"""plan p {{
  input x: {format_}[1, 8] from client where abs(x) <= 3
  weight w: {format_}[4, 8] public where abs(w) <= 3
  y = linear(x, w) {using}
  output y to client
}}
"""


def test_a_step_without_component_is_shown_one_that_takes_its_formats(tmp_path: Path) -> None:
    whole = told(tmp_path, layer("int8"))["coverage.no_component"][1]
    fixed = told(tmp_path, layer("fx64_16"))["coverage.no_component"][1]
    assert whole.startswith("write `using integer_linear`, of `std.methods` (or ")
    assert fixed.startswith("write `using fixed_linear_exact`, of `std.methods` (or ")
    assert "integer_linear" not in fixed


def test_a_format_that_a_component_does_not_take_is_no_matter_of_ranges(tmp_path: Path) -> None:
    help = told(tmp_path, layer("fx64_16", "using integer_linear"))["coverage.requirement"][1]
    assert "no range of the inputs would do" in help


def test_a_method_for_fixed_point_without_a_ring_says_where_a_ring_comes_from(tmp_path: Path) -> None:
    help = told(tmp_path, layer("int8", "using fixed_linear_exact"))["bounds.intermediate"][1]
    assert help.startswith("take operands in a format with a ring")


def test_an_unknown_error_names_the_step_that_makes_it_unknown(tmp_path: Path) -> None:
    text = """component multiplier = "example/multiplier" {
  kind: method
  version: "1"
  implements: mul
}
plan p {
  input x: fx64_16[4] from client where abs(x) <= 3
  before = add(x, x) @ client
  s = mul(before, x) using multiplier
  y = add(s, s) @ client
  requires error(y) <= 1
  output y to client
}
"""
    notes = told(tmp_path, text)["bounds.requirement"][2]
    assert notes == ("the error becomes unknown at `s`: `multiplier` bounds none for these operands",)


def test_a_component_of_another_kind_is_no_method(tmp_path: Path) -> None:
    text = """component fast = "example/fast" {
  kind: metric
  version: "1"
}
"""
    found = told(tmp_path, text + layer("int8", "using fast"))["coverage.wrong_operator"][0]
    assert found == "`fast` does not implement `linear`; it implements nothing: it is a metric"


def test_small_machines_are_told_in_their_own_units(tmp_path: Path) -> None:
    text = """target tiny { isa: [avx2], memory: 24B, cores: 1 }
deployment here { kind: local, hosts: { client: tiny } }
experiment trial { plan: p, deployment: here }
"""
    message = told(tmp_path, text + layer("int8", "using integer_linear"))["target.capacity"][0]
    assert message == "`client` needs 72 bytes, and `tiny` has 24"


@pytest.mark.parametrize(
    ("written", "advice"),
    [
        ("24", "write `24GiB`, or `24B` where bytes are meant"),
        ("2113536", "write `2113536B`, or `2064KiB`, which is the same"),
        ("34359738368", "write `34359738368B`, or `32GiB`, which is the same"),
        ("1000003", "write `1000003B`"),
    ],
)
def test_a_size_without_a_unit_is_shown_as_what_it_is(tmp_path: Path, written: str, advice: str) -> None:
    text = f"target tiny {{ isa: [avx2], memory: {written}, cores: 1 }}\n"
    assert told(tmp_path, text)["records.wrong_value"][1] == advice


def test_all_features_of_a_component_are_needed_and_one_variant_of_a_kernel(tmp_path: Path) -> None:
    text = """component offload = "example/offload" {
  kind: method
  version: "1"
  implements: linear
  carrier: ring(32)
  host_features: ["gpu", "tee"]
}
target bare { isa: [sse2], memory: 24GiB, cores: 1 }
deployment here { kind: local, hosts: { client: bare } }
experiment trial { plan: p, deployment: here }
"""
    message = told(tmp_path, text + layer("int8", "using offload"))["target.feature"][0]
    assert message == "`offload` needs gpu and tee, which `bare` of `client` does not have"


def test_a_write_that_breaks_a_state_names_the_state(tmp_path: Path) -> None:
    text = """plan p {
  state best: int8[4] @ client where abs(best) <= 10
  stage first {
    input x: int8[4] from client where abs(x) <= 100
    best = x
  }
}
"""
    message = told(tmp_path, text)["bounds.state"][0]
    assert message == "the value written to `best` reaches 100, and the state promises 10"


def test_a_party_without_a_machine_is_told_who_has_one(tmp_path: Path) -> None:
    text = """target big { isa: [avx2], memory: 24GiB, cores: 1 }
deployment here { kind: local, hosts: { clinet: big } }
experiment trial { plan: p, deployment: here }
"""
    help = told(tmp_path, text + layer("int8", "@ client"))["target.no_host"][1]
    assert help == "add the party to `hosts:` of the deployment, which names `clinet`"


def test_a_product_written_with_at_is_told_the_operator(tmp_path: Path) -> None:
    text = "plan p {\n  input x: int8[1, 8] from client\n  weight w: int8[4, 8] public\n  y = x @ w\n  output y\n}\n"
    assert "`y = matmul(x, w)`" in told(tmp_path, text)["types.not_a_step"][1]
    party = told(tmp_path, text.replace("x @ w", "x @ client"))["types.not_a_step"][1]
    assert "a value has one name" in party


PIPELINE = Path(__file__).parent.parent / "corpus" / "experiments" / "pipeline"


def test_a_model_is_measured_and_not_stated() -> None:
    """Nobody writes `where` into the text of a model."""
    (found,) = (f for f in findings_of(PIPELINE / "ring_too_small.pllm") if f.code == "bounds.carrier")
    assert any("`pllm measure CHECKPOINT -o facts.json`" in note for note in found.notes)
    assert not any("where norm2" in note for note in found.notes)


def test_material_without_weights_is_told_the_digest_of_the_facts(tmp_path: Path) -> None:
    text = (PIPELINE / "other_weights.pllm").read_text(encoding="utf-8")
    for name in ("k520.json", "measured.json"):
        (tmp_path / name).write_bytes((PIPELINE / name).read_bytes())
    line = next(line for line in text.splitlines() if "weights:" in line)
    (tmp_path / "plan.pllm").write_text(text.replace(line + "\n", ""), encoding="utf-8")
    (found,) = (f for f in findings_of(tmp_path / "plan.pllm") if f.code == "material.binding")
    assert found.help.startswith('write `weights: "sha256:')


def test_a_slot_that_a_pipeline_fixes_is_told_so() -> None:
    (found,) = findings_of(PIPELINE / "fixed_slot.pllm")
    assert "its `linear` is fixed" in found.help


def test_a_published_system_is_named_apart_and_is_no_fix(tmp_path: Path) -> None:
    text = "plan p {\n  input x: fx64_16[2, 8] from client where abs(x) <= 3\n  y = %s(x)\n  output y to client\n}\n"
    gelu = told(tmp_path, text % "gelu")["coverage.no_component"][1]
    assert gelu.startswith(
        "write `using gelu_32`, of `std.methods` (or gelu_64, gelu_quadratic), or `@ party`"
    )
    assert "(published: bolt_gelu, bumblebee_gelu," in gelu
    softmax = told(tmp_path, text % "softmax")["coverage.no_component"][1]
    assert softmax.startswith(
        "write `@ party` to compute it in the clear, or `using` a method (published: crypten_softmax,"
    )
    fixes = [fix.title for one in fixed_findings(tmp_path) for fix in one.fixes]
    assert fixes == ["Compute it at `client`"]


def fixed_findings(folder: Path) -> list[Finding]:
    """The findings of `plan.pllm` with the fixes that hold."""
    call = Call(find_settings(str(folder)), (str(folder / "plan.pllm"),), named=(str(folder / "plan.pllm"),))
    found = found_in(call)
    errors = [one for one in found.kept if one.code == "coverage.no_component"]
    return list(with_tried_fixes(call, found, errors))
