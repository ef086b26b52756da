"""What somebody new types: help, a family of codes, a wrong code, an empty folder, a file of several plans."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from pllm_lang.catalog.load import shipped_library
from pllm_lang.cli.app import app
from pllm_lang.cli.library_text import library_text

TWO = """pllm 1

plan one {
  input x: index[4] from client where x in 0..3
  output x to client
}

plan two {
  input x: index[4] from client where x in 0..3
  output x to client
}
"""


def pllm(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments), standalone_mode=False)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.return_value or 0, result.output


def test_a_family_lists_its_codes_with_what_they_mean() -> None:
    status, text = pllm("explain", "blocks")
    assert status == 0
    assert text == "blocks.recursive  A block expands itself, directly or through others.\n"


def test_all_codes_are_listed_with_what_they_mean() -> None:
    lines = pllm("explain")[1].splitlines()
    assert len(lines) > 100
    assert all(len(line.split(maxsplit=1)) == 2 for line in lines)


@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_a_code_that_does_not_exist_cannot_be_chosen(option: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["check", option, "names.unusde", str(tmp_path)])
    assert result.exit_code == 2
    assert "there is no finding or family `names.unusde`" in result.output


def test_a_folder_without_plans_is_told_so(tmp_path: Path) -> None:
    status, text = pllm("check", str(tmp_path))
    assert status == 0
    assert "nothing was checked" in text


@pytest.mark.parametrize("command", ["show", "coverage", "cost", "graph", "compile"])
def test_one_of_several_plans_has_to_be_named(command: str, tmp_path: Path) -> None:
    path = tmp_path / "two.pllm"
    path.write_text(TWO, encoding="utf-8")
    assert pllm(command, str(path)) == (2, f"{path} holds one, two; name one, as in {path}:one\n")
    assert pllm(command, f"{path}:none") == (
        2,
        f"{path} holds no plan or experiment `none`; it holds one, two\n",
    )
    path.write_text("pllm 1\n", encoding="utf-8")
    assert pllm(command, str(path)) == (2, f"{path} holds no plan or experiment\n")


@pytest.mark.parametrize("command", ["show", "coverage", "graph"])
def test_the_plan_that_is_named_is_shown(command: str, tmp_path: Path) -> None:
    path = tmp_path / "two.pllm"
    path.write_text(TWO, encoding="utf-8")
    assert pllm(command, f"{path}:two")[0] == 0


def test_the_cost_of_a_plan_under_no_policy_asks_for_one_by_example(tmp_path: Path) -> None:
    path = tmp_path / "two.pllm"
    path.write_text(TWO, encoding="utf-8")
    status, text = pllm("cost", f"{path}:one")
    assert (status, "`one under two_party`" in text, "std.policies" in text) == (2, True, True)


@pytest.mark.parametrize(
    ("code", "meant"),
    [("bound", "bounds"), ("overflow", "bounds.overflow"), ("placment.leak", "placement.leak")],
)
def test_a_misspelt_code_is_asked_about(code: str, meant: str, tmp_path: Path) -> None:
    assert (
        pllm("explain", code)[1] == f"there is no finding with the code `{code}`; did you mean `{meant}`?\n"
    )
    result = CliRunner().invoke(app, ["check", "--select", f"names,{code}", str(tmp_path)])
    assert f"there is no finding or family `{code}`; did you mean `{meant}`?" in result.output


@pytest.mark.parametrize(
    ("name", "head", "line"),
    [
        (
            "masked_linear",
            "# masked_linear: component of std.components (import ",
            "component masked_linear = ",
        ),
        (
            "pllm/masked-linear",
            "# masked_linear: component of std.components (import ",
            "component masked_linear = ",
        ),
        ("std.policies.two_party", "# two_party: policy of std.policies (import ", "policy two_party {"),
        ("linear", "# linear: operator of std.operators (in scope without an import)", "  means y = "),
        (
            "single_evaluator",
            "# single_evaluator: policy of std.policies (import ",
            "## A client, a preparation party",
        ),
        ("laptop_24gib", "# laptop_24gib: target of std.targets (import ", "  memory: 24GiB"),
    ],
)
def test_a_name_of_the_library_is_shown_as_it_stands(name: str, head: str, line: str) -> None:
    status, text = pllm("explain", name)
    assert (status, text.startswith(head)) == (0, True), text
    assert any(one.startswith(line) for one in text.splitlines())
    assert text.endswith("}\n")


def test_every_declaration_of_the_library_can_be_shown_with_its_documentation() -> None:
    library = shipped_library()
    for key in library.keys(""):
        record, text = library.get(key), library_text(key)
        assert record is not None
        assert text is not None
        shown = " ".join(
            line.removeprefix("##").strip() for line in text.splitlines() if line.startswith("##")
        )
        assert " ".join(record.doc.split()) in shown, key


def test_a_module_of_the_library_lists_its_names() -> None:
    status, text = pllm("explain", "std.policies")
    assert status == 0
    names = [line.split()[0] for line in text.splitlines()]
    assert names == sorted(names)
    assert {"client_server", "two_party"} <= {*names}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("masked_liner", "the library has no `masked_liner`; did you mean `masked_linear`?\n"),
        ("std.polices", "the library has no `std.polices`; did you mean `std.policies`?\n"),
        ("beaver_mul", "the library has no `beaver_mul`; what begins so: beaver_multiply\n"),
        ("zzz", "there is no finding with the code `zzz`; `pllm explain` lists all codes\n"),
    ],
)
def test_a_name_that_the_library_has_not(name: str, said: str) -> None:
    assert pllm("explain", name) == (2, said)


def test_a_plan_is_not_replayed_but_compiled(tmp_path: Path) -> None:
    status, text = pllm("replay", str(tmp_path / "two.pllm"))
    assert (status, "`pllm compile " in text) == (2, True)


def test_help_says_where_to_begin_and_what_the_exit_status_means() -> None:
    told = " ".join(CliRunner().invoke(app, ["--help"]).output.split())
    assert "Begin with `pllm init`" in told
    assert "The exit status is 0, 1 where something was found or refused, 2 where" in told
    assert "1 where anything is, a warning too" in " ".join(
        CliRunner().invoke(app, ["check", "--help"]).output.split()
    )


def test_an_unknown_value_has_a_next_step(tmp_path: Path) -> None:
    path = tmp_path / "two.pllm"
    path.write_text(TWO.replace("output x", "output total", 1), encoding="utf-8")
    text = pllm("check", "--no-cache", str(path))[1]
    assert "no value `total` is defined here" in text
    assert (
        "help: give it a value in a step above, `total = ...`, or declare it as `input`, `weight` or `state`"
        in text
    )


def test_an_import_that_is_half_a_name_is_told_the_names_that_begin_so() -> None:
    text = "pllm 1\nimport std.methods [fixed_linear]\n"
    told = CliRunner().invoke(app, ["check", "-"], input=text, standalone_mode=False).output
    names = "fixed_linear_exact, fixed_linear_three_party, fixed_linear_two_party, "
    assert f"help: it declares {names}" in told


def test_a_party_that_a_policy_lacks_leads_to_a_policy_of_ones_own() -> None:
    text = """pllm 1
import std.formats [int8]
import std.policies [two_party]
plan p under two_party {
  input x: int8[4] from owner
  output x to p0
}
"""
    told = CliRunner().invoke(app, ["check", "-"], input=text, standalone_mode=False).output
    assert "help: its parties are p0, p1; a policy of your own can name others" in told


@pytest.mark.parametrize(
    ("written", "help"),
    [
        ("additive", "import it: `import std.holdings [additive]`"),
        ("aditive", "did you mean `additive`, of `std.holdings`?"),
    ],
)
def test_a_holding_that_is_not_imported_is_one_error(written: str, help: str) -> None:
    text = f"""pllm 1
import std.formats [fx64_18]
import std.protocols [additive_add]
import std.policies [two_party]
plan p under two_party {{
  input x: fx64_18[4] as {written}(p0, p1) where abs(x) <= 1
  y = add(x, x) using additive_add
  output y
}}
"""
    told = CliRunner().invoke(app, ["check", "-"], input=text, standalone_mode=False).output
    assert f"help: {help}" in told
    assert "1 error\n" in told


def test_a_misspelt_import_is_one_error() -> None:
    text = """pllm 1
import std.formats [int8, int23]
plan p {
  input x: int8[4] from client
  y = cast(x, to: int32) @ client
  z = cast(y, to: int32) @ client
  w = cast(y, to: int16) @ client
  output z to client
  output w to client
}
"""
    result = CliRunner().invoke(app, ["check", "--format", "concise", "-"], input=text, standalone_mode=False)
    assert "`std.formats` declares no `int23`" in result.output
    assert "no format `int16` is defined here" in result.output
    assert "no format `int32` is defined here" not in result.output
    assert "2 errors" in result.output


def test_the_summary_of_no_command_is_cut_off() -> None:
    text = CliRunner().invoke(app, ["--help"]).output
    commands = text.partition("Commands:")[2].splitlines()
    assert [line for line in commands if line.endswith("...")] == []


def test_the_cost_of_a_refused_plan_says_that_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.pllm"
    path.write_text(
        "pllm 1\nimport std.formats [int8]\nimport std.policies [two_party]\n"
        "import std.methods [integer_linear]\nplan p under two_party {\n"
        "  input x: int8[1, 4] from p0\n  weight w: int8[2, 4] public\n"
        "  y = linear(x, w) using integer_linear\n  output y to p0\n}\n",
        encoding="utf-8",
    )
    assert "the plan is refused" in pllm("cost", str(path))[1]
    assert "choose a component with a protocol, such as " in pllm("check", "--no-cache", str(path))[1]
