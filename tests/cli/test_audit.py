"""`pllm audit` as a user calls it: of a plan, of a method by its name, and of what is neither."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from pllm_lang.cli.app import app

HEAD = """pllm 1

import std.formats [fx64_18]
import std.holdings [additive, replicated]
import std.published_functions [bolt_gelu, puma_gelu, shaft_bolt_gelu]

"""
PLAN = """plan act {
  input x: fx64_18[4, 64] from client as %s where abs(x) <= 30
  y = gelu(x) using %s
  z = gelu(y) using %s
  output z
}
"""
OWN = """component own = "example/own" {
  kind: method
  version: "2"
  implements: silu
  source: "a table of our own"
  requires max_abs(x) <= 4 else "the table ends there"
  intermediate p: raw(x)
  computes: max(x, 0)
  claims: { error: %s }
  ensures error(y) <= %s
  defects: [
    { versions: "<2", effect: "an old one" },
    { when: max_abs(x) > %s, effect: "the last entry is missing" },
  ]
}

plan act {
  input x: fx64_18[4] from client where abs(x) <= 2
  y = silu(x) using own
  output y
}
"""


def pllm(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["audit", *arguments], standalone_mode=False)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.return_value or 0, result.output


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "plan.pllm"


def test_a_plan_rests_on_its_published_methods(path: Path) -> None:
    path.write_text(HEAD + PLAN % ("replicated(p0, p1, p2)", "puma_gelu", "puma_gelu"))
    status, text = pllm(str(path))
    assert status == 0
    assert text.startswith(
        "published/puma-gelu 1: gelu, gelu_tanh (in y, z)\n  source       MP-SPDZ 3a0a7b1d, "
    )
    assert "  parties      3, semi-honest\n" in text
    assert (
        "  its bound    error(y) <= 0.0208 + 1200 * ulp(x): met; its formula of gelu is off by ~0.01991 to ~0.02"
        in text
    )
    assert text.endswith("act: 1 component audited, nothing known against them\n")


def test_a_plan_on_a_defective_method_is_told(path: Path) -> None:
    path.write_text(HEAD + PLAN % ("additive(p0, p1)", "bolt_gelu", "shaft_bolt_gelu"))
    status, text = pllm(f"{path}:act")
    assert status == 1
    assert "published/bolt-gelu 1: gelu, gelu_tanh (in y)" in text
    assert "published/shaft-bolt-gelu 1: gelu, gelu_tanh (in z)" in text
    assert (
        "  against it   it multiplies by |x| where the polynomial needs y, and is off by 16.38 at 0" in text
    )
    assert text.endswith("act: 2 components audited, 1 with something against it\n")


@pytest.mark.parametrize(
    ("claimed", "stated", "ends", "status", "told"),
    [
        ("0.3", "0.3", "3", 0, ["error 0.3: met", "error(y) <= 0.3: met", "does not apply: the last entry"]),
        ("0.28", "0.3", "3", 0, ["error 0.28: met"]),  # 0.2785 to two digits
        ("0.27", "0.3", "3", 1, ["error 0.27: not met"]),
        ("0.3", "0.27", "3", 1, ["error(y) <= 0.27: not met"]),
        ("0.3", "0.3", "1", 1, ["against it   not excluded: the last entry is missing where max_abs(x) > 1"]),
    ],
)
def test_own_records_are_audited_too(
    claimed: str, stated: str, ends: str, status: int, told: list[str], path: Path
) -> None:
    """SiLU is furthest from max(x, 0) at x = -1.278: 0.27846."""
    path.write_text(
        HEAD.replace("bolt_gelu, puma_gelu, shaft_bolt_gelu", "bolt_gelu") + OWN % (claimed, stated, ends)
    )
    found, text = pllm(str(path))
    assert all(one in text for one in told), text
    assert "does not apply: an old one" in text
    assert found == status


def test_a_plan_of_its_own_text_rests_on_nobody(path: Path) -> None:
    path.write_text(
        "pllm 1\nimport std.formats [int8]\nplan p {\n  input x: int8[4] from client where abs(x) <= 1\n"
        "  y = neg(x) @ client\n  output y\n}\n"
    )
    assert pllm(str(path)) == (0, "p: no component of it rests on a published claim\n")


@pytest.mark.parametrize("name", ["crypten_softmax", "published/crypten-softmax"])
def test_a_method_is_named_by_its_name_or_its_id(name: str) -> None:
    status, text = pllm(name)
    assert status == 0
    assert "  holds where  n <= 253: the sum of n exponentials reaches n" in text
    assert "  its bound    error(y) <= 1 (not derived: the record has no formula for it)" in text
    assert "  assumed      results of the approximation lie between 0 and 1" in text


PAGE = Path(__file__).parent.parent.parent / "docs" / "how-to" / "audit.md"


def test_the_page_shows_what_the_command_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = PAGE.read_text(encoding="utf-8")
    (tmp_path / "row.pllm").write_text(page.partition("```pllm\n")[2].partition("```")[0], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    shown = page.partition("$ pllm audit row.pllm:row\n")[2].partition("```")[0]
    assert pllm("row.pllm:row") == (0, shown)


def test_what_is_neither_a_file_nor_a_method_is_a_wrong_call(tmp_path: Path) -> None:
    assert pllm("puma_gellu") == (2, "the library has no method `puma_gellu`; did you mean `puma_gelu`?\n")
    assert pllm("nothing")[1].startswith("the library has no method `nothing`; a plan is named by its file, ")
    absent = tmp_path / "absent.pllm"
    assert pllm(str(absent)) == (2, f"no such file: {absent}\n")
