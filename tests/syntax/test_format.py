"""The formatter keeps the meaning, all comments, and its own layout."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from pllm_lang.syntax.format import format_source, print_file
from pllm_lang.syntax.layout import WIDTH
from pllm_lang.syntax.lexer import lex
from pllm_lang.syntax.nodes import File
from pllm_lang.syntax.parse import Parsed, parse, tools
from pllm_lang.syntax.print_expr import print_expr
from pllm_lang.text.source import make_source
from tests.strategies.syntax import content, exprs, files


def read(text: str) -> Parsed:
    parsed = parse(make_source("t.pllm", text))
    assert parsed.findings == (), (text, parsed.findings)
    return parsed


def fmt(text: str) -> str:
    return format_source(read(text))


@given(files)
def test_a_tree_written_and_read_is_the_same_tree(tree: File) -> None:
    assert content(read(print_file(tree)).file) == content(tree)


@given(exprs)
def test_an_expression_on_one_line_reads_the_same(expr: object) -> None:
    parsed = read(f"pllm 1\nconst a = {print_expr(expr)}\n")  # type: ignore[arg-type]
    assert content(parsed.file.decls[0].value) == content(expr)  # type: ignore[union-attr]


@st.composite
def untidy(draw: st.DrawFn) -> str:
    """A random file with its tokens spread at random over lines, and comments between them."""
    text = print_file(draw(files))
    between = st.sampled_from(
        [" ", " ", " ", "  ", "\t", "\n", "\n\n\n", " # c\n", "\n# d\n", "\n## e\n  ", "\r\n"]
    )
    gaps = draw(st.lists(between, max_size=30))
    parts: list[str] = []
    for index, (_, _, token) in enumerate(lex(tools()[0], text).tokens):
        parts += [token, gaps[index % len(gaps)] if gaps else " "]
    return "".join(parts)


def comments(parsed: Parsed) -> list[str]:
    return [text.rstrip() for _, text in parsed.comments]


@given(untidy())
@settings(max_examples=200)
def test_formatting_keeps_tree_documentation_and_comments(text: str) -> None:
    before = read(text)
    after = read(format_source(before))
    assert content(after.file) == content(before.file)
    assert comments(after) == comments(before)


@given(untidy())
@settings(max_examples=200)
def test_formatting_twice_changes_nothing_more(text: str) -> None:
    once = fmt(text)
    assert fmt(once) == once


@given(untidy())
def test_layout_has_no_tabs_trailing_blanks_or_blank_runs(text: str) -> None:
    lines = fmt(text).split("\n")
    assert all(line == line.rstrip() and "\t" not in line and "\r" not in line for line in lines)
    assert not any(a == b == "" for a, b in pairwise(lines))


NAMES = [
    "aaaaaaaaaaaaaaaaaaaaaaaa",
    "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
    "ccccccccccccccccccccccccc",
    "dddddddddddddd",
]
LONG = f"""pllm 1

import std.operators [{", ".join(NAMES)}, e]

operator f {{F}} ({": F[m, n], ".join(NAMES)}: F[m, n]) -> (z: F[m, n]) {{
  requires {" + ".join(NAMES)} <= {" * ".join(NAMES)} else "the ring holds it"
}}

plan p {{
  x = linear({", ".join(NAMES)}) using masked_linear(bits: 32) @ client
  m = encode([[{", ".join(map(str, range(60)))}]], to: fx)
}}
"""


def test_long_lines_wrap() -> None:
    wrapped = fmt(LONG)
    assert max(map(len, LONG.split("\n"))) > WIDTH >= max(map(len, wrapped.split("\n")))
    assert content(read(wrapped).file) == content(read(LONG).file)


def test_a_worked_example() -> None:
    text = """# above
pllm 1   # edition
import   std.formats[f32,q7]
const n=3

const m = 1/128
## Who may learn what.
policy p{ parties [client,server,]   # two


  forbids []
  # last
}
plan q under p { input x:f32[1,n] from client where abs(x)<=12
  ## The gate.
weight w:q7[n,n] public
weight w_up[0..<24]:q7[n,n] public
a, s=quantize(x,to:q7)@client
b = linear(a, # first
w) using masked(bits:32)
repeat i in 0..<24 carrying[b] { b=linear(b,w_up[i]) }
output b to client}
"""
    assert (
        fmt(text)
        == """# above
pllm 1  # edition

import std.formats [f32, q7]

const n = 3

const m = 1/128

## Who may learn what.
policy p {
  parties [client, server]  # two

  forbids []
  # last
}

plan q under p {
  input x: f32[1, n] from client where abs(x) <= 12
  ## The gate.
  weight w:            q7[n, n] public
  weight w_up[0..<24]: q7[n, n] public
  a, s = quantize(x, to: q7) @ client
  b = linear(a,  # first
    w) using masked(bits: 32)
  repeat i in 0..<24 carrying [b] {
    b = linear(b, w_up[i])
  }
  output b to client
}
"""
    )


def test_a_file_with_syntax_errors_stays_as_it_is() -> None:
    text = "pllm 1\nplan   p {\n  x == 3\n}\n"
    assert format_source(parse(make_source("t.pllm", text))) == text
