"""A holding in a narration that no import brings into scope, or that is misspelt: the help says where it is."""

from __future__ import annotations

import pytest

from pllm_lang.cli.checking import check_files

TEXT = """pllm 1

component example = "example/neg" {{
  kind: method
  version: "1"
  implements: neg
  roles: [p0, p1]
  protocol (x: ring(64)[n] as {holding}(p0, p1)) -> (y: ring(64)[n] as {holding}(p0, p1)) {{
    online {{
      p0: y.p0 = -x.p0
      p1: y.p1 = -x.p1
    }}
  }}
}}
"""


@pytest.mark.parametrize(
    ("holding", "help"),
    [
        ("additive", "import it: `import std.holdings [additive]`"),
        ("addtive", "did you mean `additive`?"),
        ("nothing_alike", ""),
    ],
)
def test_the_help_says_where_a_holding_is(holding: str, help: str) -> None:
    findings = check_files(["a.pllm"], "/nowhere", {"a.pllm": TEXT.format(holding=holding)}).findings
    assert {finding.help for finding in findings if "no holding" in finding.message} == {help}


def test_an_imported_one_is_found() -> None:
    text = TEXT.format(holding="additive").replace("pllm 1\n", "pllm 1\n\nimport std.holdings [additive]\n")
    assert check_files(["a.pllm"], "/nowhere", {"a.pllm": text}).findings == ()


def test_a_holding_of_another_file_is_no_module_of_the_library() -> None:
    own = "pllm 1\n\nholding mine {\n  kind: additive\n  n_parties: 2\n  threshold: 1\n  value: sum(pieces)\n}\n"
    texts = {"a.pllm": TEXT.format(holding="mine"), "own.pllm": own}
    findings = check_files(["a.pllm", "own.pllm"], "/nowhere", texts).findings
    assert {finding.help for finding in findings if "no holding" in finding.message} == {""}
