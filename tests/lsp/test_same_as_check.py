"""Whatever was typed, the server says what a fresh check of the same text says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pllm_lang.cli.answer import chosen_of
from pllm_lang.cli.call import Call, Wanted
from pllm_lang.cli.checking import check_files
from pllm_lang.cli.config import Config, Settings
from pllm_lang.cli.editing import Editing
from pllm_lang.lsp.buffer import Buffer, Position
from pllm_lang.lsp.snapshot import Asked, Snapshot
from pllm_lang.text.finding import Finding, Span
from pllm_lang.text.order import arrange
from pllm_lang.text.suppress import suppress

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.pllm"))
CORPUS = sorted((ROOT / "tests" / "corpus").glob("*/*/*.pllm"))
PIECES = (
    "a", "b ", " ", "\n", "(", ")", "[", "]", "{", "}", ",", "# c\n", "## d\n", "#", '"', ":", "=", "-", "1", "0", ".", "\r\n",
    "é", "\U0001f600", " using m", " @ client", "y = f(x)\n", "  output x to client\n", "import std.formats [int8]\n",
)  # fmt: skip


def path_of(file: Path) -> str:
    return str(file.parent / f"edited_{file.name}")


class Typing(RuleBasedStateMachine):
    """A document that is edited at random, and undone; after every edit both checks are compared."""

    def __init__(self) -> None:
        super().__init__()
        self.editing = Editing()
        self.buffer = Buffer("")
        self.path = path_of(EXAMPLES[0])
        self.undone: list[str] = []

    @initialize(file=st.sampled_from([*EXAMPLES, *CORPUS]), spare=st.sampled_from([0, 3, 48]))
    def start(self, file: Path, spare: int) -> None:
        self.path = path_of(file)
        self.buffer = Buffer(file.read_bytes().decode("utf-8", "replace"), spare)

    @rule(data=st.data())
    def edit(self, data: st.DataObject) -> None:
        self.undone.append(self.buffer.real)
        line = data.draw(st.integers(0, len(self.buffer.lines) - 1))
        column = data.draw(st.integers(0, len(self.buffer.lines[line].content) + 1))
        width = data.draw(st.sampled_from([0, 0, 0, 1, 2, 9]))
        new = data.draw(st.sampled_from(PIECES) | st.just(""))
        self.buffer.edit(Position(line, column), Position(line, column + width), new)

    @rule()
    def undo(self) -> None:
        if self.undone:
            self.buffer.replace(self.undone.pop())

    @rule(data=st.data())
    def cut_lines(self, data: st.DataObject) -> None:
        self.undone.append(self.buffer.real)
        first = data.draw(st.integers(0, len(self.buffer.lines) - 1))
        self.buffer.edit(Position(first, 0), Position(first + data.draw(st.integers(1, 3)), 0), "")

    @invariant()
    def says_what_a_check_says(self) -> None:
        given = looked(self.editing, self.path, self.buffer)
        assert told(given.findings, self.path, self.buffer) == freshly_told(self.path, self.buffer.real)


def looked(editing: Editing, path: str, buffer: Buffer) -> Snapshot:
    return editing.checked(Asked(path, buffer.text, buffer.real, {}, lambda: None))


def fresh(path: str, text: str) -> tuple[Finding, ...]:
    """The findings of `pllm check` on the plain text: nothing is remembered."""
    checked = check_files([path], str(ROOT), {path: text})
    findings = list(checked.findings)
    for name, comments in checked.comments.items():
        findings = list(suppress(findings, checked.sources[name], comments).kept)
    settings = Settings(str(Path(path).parent), Config(), ())
    return arrange(chosen_of(Call(settings, (path,)), findings, Wanted()))


def freshly_told(path: str, text: str) -> list[Any]:
    return told(fresh(path, text), path, Buffer(text, 0))


def told(findings: tuple[Finding, ...], path: str, buffer: Buffer) -> list[Any]:
    def place(span: Span) -> Any:
        if span.file != path:
            return span
        return (buffer.position(span.start), buffer.position(span.end))

    return sorted(
        str(
            (
                one.code,
                one.message,
                one.severity,
                one.verdict,
                place(one.span),
                [(place(label.span), label.text) for label in one.labels],
                one.notes,
                one.help,
                sorted(one.data.items()),
                one.subject,
                one.count,
            )
        )
        for one in findings
    )


TestTyping = Typing.TestCase
TestTyping.settings = settings(max_examples=25, stateful_step_count=12, deadline=None)


def test_an_unknown_name_before_all_statements_keeps_none_of_them() -> None:
    """The policy is unknown, and then the first statement goes."""
    text = "plan p under nobody {\n  input h: f32[2] from client\n  input g: act8[2] from client\n  output h to client\n}\n"
    path, buffer, editing = path_of(EXAMPLES[0]), Buffer(text, 0), Editing()
    looked(editing, path, buffer)
    buffer.edit(Position(1, 0), Position(2, 0), "")
    given = looked(editing, path, buffer)
    assert told(given.findings, path, buffer) == freshly_told(path, buffer.real)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda path: path.stem)
def test_every_key_of_a_line_typed_and_taken_back(file: Path) -> None:
    """One letter after the other, as people type: the longest line of an example, from its beginning."""
    text = file.read_text(encoding="utf-8")
    lines = text.split("\n")
    number = max(range(len(lines)), key=lambda n: len(lines[n]) * (" = " in lines[n]))
    line, editing, path = lines[number], Editing(), path_of(file)
    buffer = Buffer("\n".join([*lines[:number], "", *lines[number + 1 :]]))
    looked(editing, path, buffer)
    for column, letter in enumerate(line):
        buffer.edit(Position(number, column), Position(number, column), letter)
        given = looked(editing, path, buffer)
        if column % 7 == 0:
            assert told(given.findings, path, buffer) == freshly_told(path, buffer.real)
    assert buffer.real == text
    assert told(looked(editing, path, buffer).findings, path, buffer) == freshly_told(path, text)
