"""After any edit, the incremental parse equals a fresh one."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pllm_lang.syntax import reparse as module
from pllm_lang.syntax.format import print_file
from pllm_lang.syntax.parse import Parsed, has_errors, parse
from pllm_lang.syntax.reparse import Change, reparse
from pllm_lang.text.source import Source, make_source
from tests.strategies.syntax import files

pieces = st.sampled_from(
    [
        "a",
        "b ",
        " ",
        "\n",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        "# c\n",
        "## d\n",
        "#",
        '"',
        ":",
        "=",
        "-",
        "1",
        ".",
        *(
            " + y",
            " using m",
            " @ p",
            "public",
            "w: 3",
            "y = f(x)\n",
            "\n  input z: f32[2]\n",
            " else",
            "## e",
        ),
    ]
)


def edited(text: str, change: Change, inserted: str) -> Source:
    return make_source("t", text[: change.start] + inserted + text[change.end :])


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, Change, str]:
    text = print_file(draw(files))
    start = draw(st.integers(0, len(text)))
    end = min(len(text), start + draw(st.sampled_from([0, 0, 0, 1, 2, 7, 30])))
    inserted = "".join(draw(st.lists(pieces, max_size=3)))
    return text, Change(start, end, len(inserted)), inserted


@given(edits())
@settings(max_examples=300)
def test_incremental_equals_fresh(edit: tuple[str, Change, str]) -> None:
    text, change, inserted = edit
    source = edited(text, change, inserted)
    assert reparse(parse(make_source("t", text)), source, change) == parse(source)


@given(files, st.data())
def test_a_chain_of_edits_equals_fresh(tree: object, data: st.DataObject) -> None:
    parsed = parse(make_source("t", print_file(tree)))  # type: ignore[arg-type]
    for _ in range(4):
        text = parsed.source.text
        start = data.draw(st.integers(0, len(text)))
        inserted = data.draw(pieces)
        change = Change(start, start, len(inserted))
        source = edited(text, change, inserted)
        parsed = reparse(parsed, source, change)
        assert parsed == parse(source)


TEXT = """pllm 1

## A policy.
policy p {
  parties [a, b]
}

plan q under p {
  input x: f32[2] from a  # here
  repeat i in 0..<3 {
    y = f(x)
    z = g(y)
  }
  output z to a
}
"""


def test_a_change_inside_a_statement_reads_only_that_statement(monkeypatch: object) -> None:
    before = parse(make_source("t", TEXT))
    at = TEXT.index("f(x)") + 3
    change = Change(at, at, 5)
    source = edited(TEXT, change, ", n: ")
    source = edited(TEXT, Change(at, at, 6), ", n: 3")
    expected = parse(source)

    def refuse(_: Source) -> Parsed:
        raise AssertionError("the whole file was parsed")

    monkeypatch.setattr(module, "parse", refuse)  # type: ignore[attr-defined]
    after = reparse(before, source, Change(at, at, 6))
    assert after == expected
    assert not has_errors(after)
    assert after.file.decls[0] is before.file.decls[0]
