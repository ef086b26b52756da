"""Whatever the syntax tree, opening a project gives findings, never an exception, and the same ones again."""

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pllm_lang.catalog.load import open_project
from pllm_lang.catalog.read.fields import FIELDS
from pllm_lang.syntax import nodes as n
from pllm_lang.syntax.parse import Parsed
from pllm_lang.text.source import Source
from tests.strategies import syntax as trees

known_words = st.sampled_from(
    ["linear", "add", "method", "schedule", "policy", "client", "x", "y", "F", "semi_honest"]
)
known_names = st.builds(n.Name, st.just(0), st.just(0), known_words)
values = known_names | st.builds(n.ListExpr, st.just(0), st.just(0), trees.tuples(known_names)) | trees.exprs


def word(text: str) -> n.Word:
    return n.Word(0, 0, text)


@st.composite
def records(draw: st.DrawFn) -> n.Record:
    """A record of a known kind whose fields are mostly known ones."""
    kind = draw(st.sampled_from(sorted(set(FIELDS) - {"format", "operator", "policy"})))
    names = st.sampled_from([spec.name for spec in FIELDS[kind]]).map(word)
    fields = st.builds(n.Field, st.just(0), st.just(0), names, values, st.just(""))
    body = draw(trees.tuples(fields | trees.items, most=5))
    return n.Record(0, 0, kind, draw(trees.words), draw(trees.strings), None, body)


@st.composite
def formats(draw: st.DrawFn) -> n.Format:
    constructor = st.sampled_from(["int", "fixed", "ring", "float", "index", "label", "boolean"])
    callee = n.Name(0, 0, draw(constructor))
    named = st.builds(
        n.Entry, st.just(0), st.just(0), st.sampled_from(["modulus", "ring", "low", "exponent"]), values
    )
    call = n.Call(0, 0, callee, draw(trees.tuples(trees.numbers | named | values)))
    return n.Format(0, 0, draw(trees.words), call, ())


files = st.builds(
    n.File, st.just(n.Number(0, 0, "1")), st.lists(records() | formats() | trees.decls, max_size=5).map(tuple)
)


def open_tree(file: n.File, memo: Any = None) -> tuple[Any, ...]:
    def parse(source: Source) -> Parsed:
        return Parsed(source, file, (), ())

    path = Path(__file__).with_name("never_written.pllm")
    opened = open_project([str(path)], str(path.parent), {str(path): "pllm 1\n"}, parse, memo)
    keys = [key for key in opened.library.keys("") if key.startswith("./")]
    return opened.findings, [(opened.library.get(key), opened.library.digest_of(key)) for key in keys]


@given(files)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_tree_raises_and_a_memo_changes_nothing(file: n.File) -> None:
    first = open_tree(file)
    memo: Any = {}
    assert open_tree(file, memo) == first
    assert open_tree(file, memo) == first
