"""What the parser builds, with places."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllm_lang.syntax import nodes as n
from pllm_lang.syntax.format import print_file
from pllm_lang.syntax.nodes import File
from pllm_lang.syntax.parse import parse
from pllm_lang.text.source import make_source
from tests.strategies.syntax import files


def read(text: str) -> File:
    parsed = parse(make_source("t.pllm", text))
    assert parsed.findings == ()
    return parsed.file


def statements(text: str) -> tuple[n.Stmt, ...]:
    (plan,) = read(f"pllm 1\nplan p {{\n{text}\n}}\n").decls
    assert isinstance(plan, n.Plan)
    return plan.body


def value(text: str) -> n.Expr:
    (const,) = read(f"pllm 1\nconst c = {text}\n").decls
    assert isinstance(const, n.Const)
    return const.value


def shape(expr: object) -> object:
    """An expression as nested lists, operators first."""
    match expr:
        case n.Binary():
            return [expr.op, shape(expr.left), shape(expr.right)]
        case n.Unary():
            return [expr.op, shape(expr.operand)]
        case n.Range():
            return [".." if expr.closed else "..<", shape(expr.low), shape(expr.high)]
        case n.Paren():
            return shape(expr.inner)
        case n.Call():
            return ["call", shape(expr.callee), *(shape(arg) for arg in expr.args)]
        case n.Index():
            return ["index", shape(expr.base), *(shape(item) for item in expr.items)]
        case n.Attribute():
            return [".", shape(expr.base), expr.name]
        case n.Entry():
            return [f"{expr.name}:", shape(expr.value)]
        case n.Spread() | n.Name():
            return expr.id
        case n.Number() | n.Quantity() | n.String():
            return expr.text
        case n.ListExpr():
            return [shape(item) for item in expr.items]
        case _:
            raise AssertionError(expr)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b * c", ["+", "a", ["*", "b", "c"]]),
        ("a - b - c", ["-", ["-", "a", "b"], "c"]),
        ("-a^2", ["-", ["^", "a", "2"]]),
        ("a^-b^c", ["^", "a", ["-", ["^", "b", "c"]]]),
        ("2^(bits - 1)", ["^", "2", ["-", "bits", "1"]]),
        ("not a < b and c or d", ["or", ["and", ["not", ["<", "a", "b"]], "c"], "d"]),
        ("a in [1, 2]", ["in", "a", ["1", "2"]]),
        ("0..<n + 1", ["..<", "0", ["+", "n", "1"]]),
        ("1..2", ["..", "1", "2"]),
        ("f(x, to: q7)[i].scale", [".", ["index", ["call", "f", "x", ["to:", "q7"]], "i"], "scale"]),
        ("F[...s, 3*d]", ["index", "F", "s", ["*", "3", "d"]]),
        ("24GiB", "24GiB"),
        ("1e-6", "1e-6"),
        ("1_000.5e3", "1_000.5e3"),
        ("50ms", "50ms"),
        ("2e3", "2e3"),
    ],
)
def test_precedence_and_literals(text: str, expected: object) -> None:
    assert shape(value(text)) == expected


def test_places_are_absolute_for_lines_and_relative_inside_them() -> None:
    text = "pllm 1\nplan p {\n  y = f(x)\n}\n"
    (plan,) = read(text).decls
    assert isinstance(plan, n.Plan)
    (step,) = plan.body
    assert isinstance(step, n.Step)
    assert text[plan.at : plan.at + plan.end] == "plan p {\n  y = f(x)\n}"
    assert text[step.at : step.at + step.end] == "y = f(x)"
    assert text[step.at + step.value.start : step.at + step.value.end] == "f(x)"
    assert text[plan.at + plan.name.start : plan.at + plan.name.end] == "p"


def places(tree: object, base: int = 0) -> list[tuple[int, int, object]]:
    """Every node with its absolute stretch."""
    if isinstance(tree, tuple):
        return [found for part in tree for found in places(part, base)]
    if not isinstance(tree, msgspec.Struct):
        return []
    found: list[tuple[int, int, object]] = []
    if isinstance(tree, n.Anchor):
        base = tree.at
        found = [(tree.at, tree.at + tree.end, tree)]
    elif isinstance(tree, n.Node):
        found = [(base + tree.start, base + tree.end, tree)]
    return found + [place for name in tree.__struct_fields__ for place in places(getattr(tree, name), base)]


@given(files)
def test_every_name_and_literal_lies_where_its_place_says(tree: File) -> None:
    text = print_file(tree)
    for start, end, node in places(read(text)):
        assert 0 <= start <= end <= len(text)
        if isinstance(node, n.Word | n.Name):
            assert text[start:end] == node.id
        elif isinstance(node, n.Number | n.Quantity | n.String):
            assert text[start:end] == node.text


@given(files, st.integers(1, 50))
def test_a_line_that_moves_keeps_its_content(tree: File, lines: int) -> None:
    text = print_file(tree)
    near = read(text)
    far = read(text.replace("pllm 1\n", "pllm 1\n" + "\n" * lines, 1))
    for left, right in zip(near.decls, far.decls, strict=True):
        assert (left.name if hasattr(left, "name") else None) == (
            right.name if hasattr(right, "name") else None
        )
        assert left.at + lines == right.at
        assert left.end == right.end


def test_documentation_belongs_to_what_follows() -> None:
    text = """pllm 1
## A plan.
## Two lines.
plan p {
  ## The input.
  input x: f32[1]

  ## Not this: a blank line follows.

  weight w: f32[1] public  ## nor this: it stands behind something
  state s: f32[1]
}
policy q {
  # plain
  ## A field.
  security: { statistical: 40 }
}
"""
    plan, policy = read(text).decls
    assert isinstance(plan, n.Plan)
    assert plan.doc == "A plan.\nTwo lines."
    assert [getattr(stmt, "doc", None) for stmt in plan.body] == ["The input.", "", ""]
    assert isinstance(policy, n.Policy)
    assert isinstance(policy.body[0], n.Field)
    assert policy.body[0].doc == "A field."


def test_keywords_are_names_where_only_a_name_fits() -> None:
    (step,) = statements("  x = from + to(per: by, plan: policy.stage)")
    assert isinstance(step, n.Step)
    assert shape(step.value) == [
        "+",
        "from",
        ["call", "to", ["per:", "by"], ["plan:", [".", "policy", "stage"]]],
    ]


def test_line_ends_do_not_matter() -> None:
    wide = "pllm 1\nplan p { input x: f32[2] from a y = f(x) using m @ a output y to a }"
    (plan,) = read(wide).decls
    assert isinstance(plan, n.Plan)
    assert [type(stmt).__name__ for stmt in plan.body] == ["Input", "Step", "Output"]
    assert [type(c).__name__ for c in plan.body[1].clauses] == ["Using", "At"]  # type: ignore[union-attr]


def test_comments_are_kept_with_their_places() -> None:
    text = "# a\npllm 1 # b\n## c\nconst n = 1\n"
    parsed = parse(make_source("t", text))
    assert parsed.comments == ((0, "# a"), (11, "# b"), (15, "## c"))
    assert all(text.startswith(comment, at) for at, comment in parsed.comments)
