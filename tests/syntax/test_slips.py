"""Common slips: one message each, with the place and a next step, and the rest of the file is still read."""

import pytest

from pllm_lang.syntax.parse import Parsed, parse
from pllm_lang.text.finding import Finding
from pllm_lang.text.source import make_source


def read(text: str) -> Parsed:
    return parse(make_source("t", text))


def one(text: str) -> tuple[Finding, str]:
    """The only finding of a text, and the stretch it lies on."""
    findings = read(text).findings
    assert len(findings) == 1, [(f.code, f.message) for f in findings]
    return findings[0], text[findings[0].span.start : findings[0].span.end]


def in_plan(line: str) -> str:
    return f"pllm 1\nplan p {{\n  input a: f32[2] from c\n  {line}\n  output a to c\n}}\n"


def in_record(line: str) -> str:
    return f'pllm 1\ncomponent k = "a/b" {{\n  kind: method\n  {line}\n  version: "1"\n}}\n'


@pytest.mark.parametrize(
    ("text", "code", "at", "message"),
    [
        (in_plan('x = f("abc)'), "unclosed_string", '"abc)', "this string is not closed"),
        (in_plan("x = f('abc')"), "wrong_quotes", "'", "strings are written with `\"`, not with `'`"),
        (in_plan("x = f(a) // twice"), "comment_sign", "//", "a comment begins with `#`, not with `//`"),
        (
            in_record('model: huggingface("c.json") |> fuse_qkv'),
            "misplaced",
            "|>",
            "passes stand in the declaration of a model",
        ),
        (in_plan("-- a comment"), "comment_sign", "--", "a comment begins with `#`, not with `--`"),
        (in_plan("x = f(a);"), "stray_character", ";", "`;` has no meaning here"),
        (
            in_plan("requires a ≤ 3"),
            "stray_character",
            "≤",
            "`≤` (less-than or equal to) has no meaning here",
        ),
        (in_plan("x = f(a,\xa0b)"), "stray_character", "\xa0", "U+00A0 (no-break space) has no meaning here"),
        (in_plan("requires a < 3 && b < 3"), "stray_character", "&", "`&` has no meaning here"),
        (in_plan("x = 7 % 2"), "stray_character", "%", "`%` has no meaning here"),
        (in_plan("repeat i in 0...9 { x = f(i) }"), "bad_range", "...", "`...` does not make a range here"),
        (in_plan("repeat i in 0..=9 { x = f(i) }"), "bad_range", "..=", "`..=` does not make a range here"),
        (in_plan("repeat i in 0.. { x = f(i) }"), "bad_range", "..", "`..` does not make a range here"),
        (in_plan("x = a[0:2]"), "bad_range", ":", "a range is written `low..<high`, not with `:`"),
        (in_plan("x = f(a, b"), "unclosed_bracket", "(", "this `(` is not closed"),
        (in_plan("x = f(a[1, b)"), "unclosed_bracket", "[", "this `[` is closed by `)`"),
        (in_plan("input b: f32[2 from c"), "unclosed_bracket", "[", "this `[` is not closed"),
        (in_plan("x = f(a))"), "unopened_bracket", ")", "this `)` closes nothing"),
        (in_plan("x = f(a b)"), "missing_comma", "b", "a `,` is missing before `b`"),
        (in_record("budget: { a: 1 b: 2 }"), "missing_comma", "b:", "a `,` is missing before `b:`"),
        (in_plan("x = f(a, bits = 3)"), "equals_for_colon", "=", "after `bits` a `:` is needed, not `=`"),
        (
            in_record("takes = x"),
            "equals_for_colon",
            "=",
            "after `takes` a `:` is needed, not `=`",
        ),
        (in_plan("input b = f32[2]"), "equals_for_colon", "=", "after `b` a `:` is needed, not `=`"),
        (in_plan("x: f(a)"), "colon_for_equals", ":", "after `x` a `=` is needed, not `:`"),
        ("pllm 1\nconst a: 3\n", "colon_for_equals", ":", "after `a` a `=` is needed, not `:`"),
        (
            in_record("implements linear"),
            "missing_colon",
            "implements",
            "after `implements` a `:` is missing",
        ),
        (
            in_record("implements : linear"),
            "missing_colon",
            ":",
            "the `:` belongs directly behind `implements`",
        ),
        (in_plan("input b f32[2]"), "missing_colon", "b", "after `b` a `:` is missing"),
        (in_plan("output b: to c"), "stray_colon", ":", "no `:` belongs behind `b` here"),
        ("pllm 1\nconst a 3\n", "missing_equals", "a", "after `a` a `=` is missing"),
        ("pllm 1\ncomponent k {\n}\n", "missing_identifier", "k", "the component `k` has no identifier"),
        (in_plan("x == f(a)"), "wrong_equals", "==", "a step is written with one `=`"),
        (in_plan("x := f(a)"), "wrong_equals", ":=", "`:=` is written `=`"),
        (in_plan("requires a = 3"), "wrong_equals", "=", "a comparison is written with `==`"),
        (in_plan("requires a => 3"), "wrong_equals", "=>", "`=>` is written `>=`"),
        (in_plan("x = 2 ** 3"), "power_sign", "**", "a power is written `^`"),
        (in_plan("x ="), "missing_value", "=", "after `=` a value is missing"),
        (in_plan("x = a +"), "missing_value", "+", "after `+` a value is missing"),
        (in_plan("x = f(a,) + * b"), "missing_value", "+", "after `+` a value is missing"),
        (in_plan("x = a."), "missing_value", ".", "after `.` a name is missing"),
        (in_record("domain: ="), "missing_value", "domain:", "after `domain:` a value is missing"),
        (
            in_plan("output = f(a)"),
            "keyword_as_name",
            "output",
            "`output` begins a statement here and cannot be a name",
        ),
        (in_plan("wieght w: f32[2]"), "misspelt_keyword", "wieght", "`wieght` is not a keyword"),
        (in_plan("x = f(a) usng m"), "misspelt_keyword", "usng", "`usng` is not a keyword"),
        (in_plan("repaet i in 0..3 { x = f(i) }"), "misspelt_keyword", "repaet", "`repaet` is not a keyword"),
        ("pllm 1\npolcy p {\n  parties [a]\n}\n", "misspelt_keyword", "polcy", "`polcy` is not a keyword"),
        ("pllm 1\nplan {\n  output a\n}\n", "missing_name", "plan", "after `plan` a name is missing"),
        ("pllm 1\nplan p\n  output a\n}\n", "missing_block", "p", "the block of this `plan` is missing"),
        ("pllm 1\nblock b () -> y {\n}\n", "missing_parentheses", "y", "results stand in parentheses"),
        (in_plan("ensures a < 3"), "misplaced", "ensures", "`ensures` has no meaning here"),
        (in_record("input x: f32"), "misplaced", "input", "`input` has no meaning here"),
        ("pllm 1\ninput x: f32[2]\n", "misplaced", "input", "`input` has no meaning here"),
        (in_plan("plan q { x = f(a) }"), "misplaced", "plan", "a `plan` cannot stand inside a block"),
        ("const a = 1\npllm 1\n", "misplaced", "pllm", "the edition stands at the top of the file"),
        ("pllm one\n", "bad_edition", "pllm", "the edition is a number"),
        ("pllm 2\n", "unsupported_edition", "2", "edition 2 of the language is not known here"),
        (
            "const a = 1\n",
            "missing_edition",
            "",
            "the file does not say in which edition of the language it is written",
        ),
        (in_plan("x = f(a) 3"), "unexpected", "3", "`3` does not fit here, after `)`"),
        (in_plan("policy: mine"), "misplaced", "policy:", "a policy stands in the head of the plan"),
        (in_plan("weight w: f32[2] secret"), "unexpected", "secret", "after `secret` a party is missing"),
    ],
)
def test_one_slip_gets_its_message(text: str, code: str, at: str, message: str) -> None:
    finding, stretch = one(text)
    assert (finding.code, stretch, finding.message) == (f"syntax.{code}", at, message)


@pytest.mark.parametrize(
    ("text", "help"),
    [
        (in_plan("policy: mine"), "write `plan name under mine {`"),
        (in_plan("weight w: f32[2] secret from server"), "a list is needed here: write `[server]`"),
        (in_plan("weight w: f32[2] secret"), "say who must not learn it: `secret from [party]`"),
        (in_plan("let x = f(a)"), "a step is `y = operator(x)`, without `let`"),
        (in_plan("return a"), "a plan gives its results by `output y to client`"),
        (in_plan("for i in 0..3 {}"), "write `repeat layer in 0..<24 carrying [h] {`"),
        ("pllm 1\nfrom std.formats import f32\n", "write `import std.formats [int8]`"),
        ("pllm 1\nimport std.nn\nconst a = 1\n", "an import lists its names: `import std.formats [int8]`"),
    ],
)
def test_what_other_languages_write_is_told_in_this_one(text: str, help: str) -> None:
    assert one(text)[0].help == help


@pytest.mark.parametrize(
    "line",
    [
        "x == f(a)",
        "x = f(a, b",
        "x = f('abc')",
        "wieght w: f32[2]",
        "x =",
        "output = f(a)",
        "x = f(a b)",
        "x = 7 % 2",
    ],
)
def test_the_lines_around_a_slip_are_kept(line: str) -> None:
    (plan,) = read(in_plan(line)).file.decls
    kinds = [type(stmt).__name__ for stmt in plan.body]  # type: ignore[union-attr]
    assert kinds[0] == "Input"
    assert kinds[-1] == "Output"


def test_several_slips_are_found_in_one_run() -> None:
    text = """pllm 1
plan p {
  x == f(a)
  y = f(a, b
  repeat i in 0..3 carying [x] {
    z: g(i)
  }
  output = 3
}
policy q {
  parties = [a]
}
"""
    source = make_source("t", text)
    found = [(source.line_column(f.span.start)[0], f.code.split(".")[1]) for f in parse(source).findings]
    assert found == [
        (3, "wrong_equals"),
        (4, "unclosed_bracket"),
        (5, "misspelt_keyword"),
        (6, "colon_for_equals"),
        (8, "keyword_as_name"),
        (11, "unexpected"),
    ]


MISSING_BRACE = """pllm 1
plan a {
  input x: f32[2] from c
  repeat i in 0..<3 {
    x = f(x)
  output x to c
}

plan b {
  output y to c
}
"""


def test_a_missing_brace_is_blamed_by_layout_and_costs_one_message() -> None:
    finding, stretch = one(MISSING_BRACE)
    assert finding.code == "syntax.unclosed_block"
    assert finding.message == "the block of this `repeat` is not closed"
    assert (stretch, finding.span.start) == ("{", MISSING_BRACE.index("{\n    x"))
    labels = [MISSING_BRACE[label.span.start : label.span.end] for label in finding.labels]
    assert labels == ["plan", "}"]
    assert [decl.name.id for decl in read(MISSING_BRACE).file.decls] == ["a", "b"]  # type: ignore[union-attr]


def test_a_missing_brace_at_the_end_of_the_file() -> None:
    finding, stretch = one("pllm 1\nplan a {\n  output x to c\n")
    assert (finding.code, stretch) == ("syntax.unclosed_block", "{")


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        (in_plan("x == f(a)"), in_plan("x = f(a)")),
        (in_plan("x = f(a b)"), in_plan("x = f(a, b)")),
        (in_plan("x = f(a, bits = 3)"), in_plan("x = f(a, bits: 3)")),
        (in_plan("x: f(a)"), in_plan("x = f(a)")),
        (in_plan("wieght w: f32[2]"), in_plan("weight w: f32[2]")),
        (in_plan("x = f(a, b"), in_plan("x = f(a, b)")),
        (in_plan("input b : f32"), in_plan("input b: f32")),
        (in_plan("x = 2 ** 3"), in_plan("x = 2 ^ 3")),
        ("const a = 1\n", "pllm 1\n\nconst a = 1\n"),
    ],
)
def test_the_fix_makes_the_text_right(text: str, fixed: str) -> None:
    finding, _ = one(text)
    (edit,) = finding.fixes[0].edits
    repaired = text[: edit.span.start] + edit.text + text[edit.span.end :]
    assert repaired.replace(" ", "") == fixed.replace(" ", "")
    assert read(repaired).findings == ()
