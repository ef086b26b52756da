"""After any edits, what is read again equals what is read afresh: tree, messages, tokens, comments."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pllm_lang.syntax import reuse
from pllm_lang.syntax.format import print_file
from pllm_lang.syntax.machine import Lexeme, Machine, Stack, run
from pllm_lang.syntax.parse import Reading, has_errors, read
from pllm_lang.syntax.relex import change_between
from pllm_lang.syntax.reparse import reparse
from pllm_lang.text.source import make_source
from tests.strategies.syntax import files

ROOT = Path(__file__).parents[2]
TEXTS = [
    path
    for folder in ("stdlib", "examples", "tests/corpus/syntax")
    for path in sorted((ROOT / folder).rglob("*.pllm"))
    if path.stat().st_size < 20_000
]
PIECES = (
    "a", "b ", " ", "\n", "\r\n", "\r", "\t", "(", ")", "[", "]", "{", "}", ",", "# c\n", "## d\n", "#", '"', "\\", ":", "=", "-",
    "1", ".", "é", "\U0001f600", "\ud800", " + y", " using m", " @ p", "public", "w: 3", "y = f(x)\n", "## e", " else",
    "\n  input z: f32[2]\n", "plan q {\n", "repeat i in 0..<3 {\n", "params {", "protocol", "pllm 1\n", "import std.x [y]\n",
)  # fmt: skip


def reading(text: str) -> Reading:
    return read(make_source("t", text))


@st.composite
def edits(draw: st.DrawFn, text: str) -> str:
    """The text with something typed, cut, replaced, or copied from another place of it."""
    start = draw(st.integers(0, len(text)))
    end = min(len(text), start + draw(st.sampled_from([0, 0, 0, 1, 2, 7, 30, 300])))
    if draw(st.integers(0, 4)) == 0:
        other = draw(st.integers(0, len(text)))
        return text[:start] + text[other : other + draw(st.integers(1, 200))] + text[end:]
    return text[:start] + "".join(draw(st.lists(st.sampled_from(PIECES), max_size=3))) + text[end:]


def check_a_chain(text: str, data: st.DataObject, length: int) -> None:
    """Each edit is made on the last text or, as if that was undone, on the one before."""
    before = reading(text)
    for _ in range(length):
        text = data.draw(edits(before.parsed.source.text))
        after = reparse(before, make_source("t", text))
        assert after == reading(text)
        before = data.draw(st.sampled_from([before, after]))


@given(files, st.data())
@settings(max_examples=150, deadline=None)
def test_edits_of_any_tree_equal_fresh(tree: object, data: st.DataObject) -> None:
    check_a_chain(print_file(tree), data, 4)  # type: ignore[arg-type]


@given(st.sampled_from(TEXTS), st.data())
@settings(max_examples=150, deadline=None)
def test_edits_of_what_people_wrote_equal_fresh(path: Path, data: st.DataObject) -> None:
    check_a_chain(path.read_text(encoding="utf-8"), data, 8)


@given(st.text("ab\n", max_size=12), st.text("ab\n", max_size=12))
def test_a_change_is_what_leads_from_one_text_to_the_other(old: str, new: str) -> None:
    change = change_between(old, new)
    put = new[change.start : change.start + change.length]
    assert old[: change.start] + put + old[change.end :] == new
    assert not put or not old[change.start : change.end] or put[0] != old[change.start]


# ---- how much is read --------------------------------------------------------------------------------

LAYERS = "".join(
    f"  # Layer {i}.\n  y{i} = f(x{i}, bits: 32) using m(a: [1, 2])\n  x{i + 1} = g(y{i}) @ client\n"
    for i in range(3_000)
)
LONG = (
    "pllm 1\n\nimport std.a [f, g, m]\n\npolicy p {\n  parties [client]\n  learns client: [lengths]\n}\n\n"
    f"plan q {{\n  input x0: f32[2] from client\n{LAYERS}  output x3000 to client\n}}\n\n"
    f"block b(x: f32[2]) -> (x) {{\n{LAYERS.replace(' using m(a: [1, 2])', '')}}}\n"
)


@pytest.fixture
def words_read(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many words and signs the machine has read since it was asked last."""
    count = [0]

    def counted(
        machine: Machine,
        stack: Stack,
        tokens: list[Lexeme],
        at: int,
        docs: dict[int, str],
        stop: int | None = None,
    ) -> int:
        reached = run(machine, stack, tokens, at, docs, stop)
        count[0] += reached - at
        return reached

    monkeypatch.setattr(reuse, "run", counted)

    def asked() -> int:
        found, count[0] = count[0], 0
        return found

    return asked


MOST = 400
"""Words of the text's 160,000 that a key press may cost: a few lines beside the one that changed, and heads of blocks."""

TYPED = (
    ("bits: 32", "bits: 3"),
    ("bits: 32", "bits: 32)"),
    ("bits: 32", "bits: (32"),
    ("bits: 32", 'bits: "32'),
    ("  y1500 =", "  # y1500 ="),
    ("  y1500 =", "  z = g(y3)\n  y1500 ="),
    ("  y1500 =", "  repeat i in 0..<3 {\n  }\n  y1500 ="),
    ("plan q", "plan quick"),
    ("parties [client]", "parties [client, server]"),
    ("parties [client]", "parties [client, server"),
    ("# Layer 1500.", "## Layer 1500."),
)


@pytest.mark.parametrize(("old", "new"), TYPED, ids=lambda text: text.strip().replace("\n", "|"))
def test_a_key_press_in_a_long_text_reads_some_lines(
    old: str, new: str, words_read: Callable[[], int]
) -> None:
    """There and back, so that both a good text and one with a mistake in it are where an edit begins."""
    before = reading(LONG)
    assert not has_errors(before.parsed)
    assert len(before.lexed.tokens) > 100_000
    at = LONG.index("  y1500 =") if old not in LONG[: LONG.index("  y1500 =")] else LONG.index(old)
    if old == "bits: 32":
        at = LONG.index(old, LONG.index("  y1500 ="))
    text = LONG[:at] + LONG[at:].replace(old, new, 1)
    assert text != LONG
    after = reparse(before, make_source("t", text))
    assert words_read() < MOST
    assert after == reading(text)
    assert reparse(after, make_source("t", LONG)) == before
    assert words_read() < MOST


def test_typing_on_in_a_broken_line_reads_some_lines(words_read: Callable[[], int]) -> None:
    line = "  t = f(x9, bits: {a: 3}) using m(a: [1,\n"
    at = LONG.index("  y1500 =")
    now = reading(LONG)
    text = LONG
    for length in range(1, len(line) + 1):
        text = LONG[:at] + line[:length] + "\n" + LONG[at:]
        now = reparse(now, make_source("t", text))
        assert words_read() < MOST
    assert has_errors(now.parsed)
    assert now == reading(text)
