"""Random syntax trees, and what two trees have in common besides places and parentheses.

Trees are built, not parsed: all places are 0. Every tree can be written as text.
"""

from typing import Any

import msgspec
from hypothesis import strategies as st

from pllm_lang.syntax import nodes as n
from pllm_lang.syntax.parse import tools

KEYWORDS = frozenset(text for text in tools()[1].table.literals if text.isidentifier())

idents = st.from_regex(r"\A[a-zA-Z_][a-zA-Z0-9_]{0,7}\Z").filter(lambda name: name not in KEYWORDS)
words = idents.map(lambda name: n.Word(0, 0, name))
names = idents.map(lambda name: n.Name(0, 0, name))
numbers = st.from_regex(r"\A[0-9]{1,5}(\.[0-9]{1,3})?(e[+-]?[0-9]{1,2})?\Z").map(lambda t: n.Number(0, 0, t))
quantities = st.from_regex(r"\A[0-9]{1,3}(\.[0-9])?(GiB|ms|B|kHz)\Z").map(lambda t: n.Quantity(0, 0, t))
strings = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters='"\\'),
    max_size=8,
).map(lambda text: n.String(0, 0, f'"{text}"'))
short_strings = st.sampled_from(["a", "b/c", r"\n", r"\"", "é"]).map(lambda text: n.String(0, 0, f'"{text}"'))
docs = st.sampled_from(["", "", "", "One line.", "Two\nlines.", "A\n\nB"])


def tuples(
    strategy: st.SearchStrategy[Any], least: int = 0, most: int = 3
) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(strategy, min_size=least, max_size=most).map(tuple)


def node(kind: type, *fields: Any, **named: Any) -> st.SearchStrategy[Any]:
    """A node or an anchor with all places 0."""
    return st.builds(kind, st.just(0), st.just(0), *fields, **named)


def _larger(expr: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    entry = node(n.Entry, idents, expr)
    operators = st.sampled_from(
        ["+", "-", "*", "/", "^", "<=", ">=", "==", "!=", "<", ">", "in", "and", "or"]
    )
    return st.one_of(
        node(n.ListExpr, tuples(expr)),
        node(n.MapExpr, tuples(entry)),
        node(n.Call, expr, tuples(expr | entry)),
        node(n.Index, expr, tuples(expr | node(n.Spread, idents))),
        node(n.Attribute, expr, idents),
        node(n.Unary, st.sampled_from(["+", "-", "not"]), expr),
        node(n.Binary, operators, expr, expr),
        node(n.Range, expr, expr, st.booleans()),
        node(n.Paren, expr),
    )


exprs: st.SearchStrategy[Any] = st.recursive(
    names | numbers | quantities | short_strings, _larger, max_leaves=8
)
lists = node(n.ListExpr, tuples(exprs))

clauses = st.one_of(
    node(n.From, words),
    node(n.To, words),
    node(n.Public),
    node(n.Secret, lists),
    node(n.As, exprs),
    node(n.At, words),
    node(n.Where, exprs),
)
params = node(n.Param, words, exprs, tuples(clauses, most=2), st.none() | exprs)
entries = node(n.Param, words, exprs, st.just(()), st.none() | exprs)
results = node(n.Param, words, exprs, tuples(clauses, most=2), st.none()) | node(n.Param, words, st.none())
type_vars = st.none() | node(n.TypeVars, tuples(words))
bundles = node(n.Bundle, words, words, tuples(words, 1))
needs = node(n.Needs, words)

fresh = st.one_of(
    node(n.Fresh, words, exprs, st.none() | words, words, st.none(), st.none() | exprs),
    node(n.Fresh, words, exprs, st.none() | words, st.none(), st.none() | lists, st.none() | exprs),
)
protocol_stmts = st.one_of(
    fresh,
    node(n.Local, words, exprs, exprs),
    node(n.Send, words, tuples(words, 1), tuples(exprs, 1)),
    bundles,
    needs,
)
phase_names = st.sampled_from(["offline", "online"]).map(lambda name: n.Word(0, 0, name))
protocols = node(
    n.Protocol,
    tuples(params, most=2),
    tuples(params, most=2),
    tuples(node(n.Phase, phase_names, tuples(protocol_stmts)), most=2),
)
requires = node(n.Requires, exprs, st.none() | short_strings)
items = st.one_of(
    node(n.Field, words, exprs, docs),
    requires,
    node(n.Ensures, exprs),
    node(n.Means, words, exprs),
    node(n.Intermediate, words, exprs),
    node(n.Params, tuples(entries)),
    node(n.Claim, short_strings, tuples(st.tuples(words, lists), most=2)),
    node(n.Learns, words, lists),
    node(n.Adversary, words, exprs, lists),
    node(n.Parties, lists),
    node(n.Forbids, lists),
    bundles,
    needs,
    protocols,
)
bodies = tuples(items)

targets = node(n.Target, words, st.none() | exprs)
step_clauses = node(n.Using, exprs) | node(n.At, words) | node(n.Assume, exprs)
simple_stmts = st.one_of(
    node(n.Input, words, exprs, tuples(clauses, most=2), docs),
    node(n.Weight, words, st.none() | exprs, exprs, tuples(clauses, most=2), docs),
    node(n.State, words, st.none() | exprs, exprs, tuples(clauses, most=2), docs),
    node(n.Step, tuples(targets, 1), exprs, tuples(step_clauses, most=2)),
    node(n.Output, words, tuples(clauses, most=2)),
    node(n.Facts, strings),
    requires,
)
stmts: st.SearchStrategy[Any] = st.recursive(
    simple_stmts,
    lambda inner: st.one_of(
        node(n.Repeat, words, exprs, st.none() | lists, tuples(inner)), node(n.Stage, words, tuples(inner))
    ),
    max_leaves=4,
)
plan_bodies = tuples(stmts)

import_names = node(n.ImportName, words, st.none() | words)
kinds = st.sampled_from(["holding", "primitive", "kernel", "stock", "sweep", "experiment", "target"])
decls: st.SearchStrategy[Any] = st.one_of(
    node(n.Import, tuples(words, 1), st.none(), tuples(import_names), docs),
    node(n.Import, st.just(()), strings, tuples(import_names), docs),
    node(n.Const, words, exprs, docs),
    node(n.Format, words, exprs, bodies, docs),
    node(n.Record, kinds, words, st.none() | strings, st.none() | words, bodies, docs),
    node(n.Record, st.just("component"), words, strings, st.none(), bodies, docs),
    node(n.Policy, words, st.none() | words, bodies, docs),
    node(n.Operator, words, type_vars, tuples(params), tuples(params), bodies, docs),
    node(n.Model, words, exprs, tuples(exprs, most=2), docs),
    node(n.Plan, words, st.none() | words, plan_bodies, docs),
    node(n.Block, words, type_vars, tuples(params), tuples(results, 1), plan_bodies, docs),
)
files = st.builds(n.File, st.just(n.Number(0, 0, "1")), tuples(decls))


def content(tree: Any) -> Any:
    """What a tree says, without places and parentheses."""
    if isinstance(tree, n.Paren):
        return content(tree.inner)
    if isinstance(tree, tuple):
        return tuple(content(part) for part in tree)
    if isinstance(tree, msgspec.Struct):
        places = ("start", "end", "at")
        fields = [name for name in tree.__struct_fields__ if name not in places]
        return (type(tree).__name__, *(content(getattr(tree, name)) for name in fields))
    return tree
