"""Imports that nothing uses, in texts of any length: looked through piece by piece, as if it was at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllm_lang.resolve import unused_imports as module
from pllm_lang.resolve.unused_imports import unused_imports
from pllm_lang.syntax.nodes import Import
from pllm_lang.syntax.parse import parse
from pllm_lang.text.source import make_source

HEAD = "pllm 1\n\nimport std.formats [int8, act8, q7]\n"
NAMES = ("int8", "act8", "q7")


def unused(body: str) -> list[str]:
    source = make_source("t", HEAD + body)
    imports = [decl for decl in parse(make_source("t", HEAD)).file.decls if isinstance(decl, Import)]
    return [finding.message.split("`")[1] for finding in unused_imports(source, imports, NAMES)]


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("x = int8", ["act8", "q7"]),
        ("# int8", ["int8", "act8", "q7"]),
        ('"int8" act8', ["int8", "q7"]),
        ('" int8', ["act8", "q7"]),
        ("int8: act8", ["int8", "q7"]),
        ("a.int8 q7", ["int8", "act8"]),
        ("int8s xint8 int8 act8 q7", []),
        ('"\\" int8" q7 # "act8', ["int8", "act8"]),
    ],
)
def test_what_counts_as_a_use(line: str, left: list[str]) -> None:
    for around in ("", "# a comment of some length\n" * 2_000):
        assert unused(f"{around}{line}\n{around}") == left


@given(
    st.lists(st.sampled_from(["int8", "act8", "q7", '"', "\\", "#", ":", ".", " ", "\n", "a", "\r"])),
    st.data(),
)
def test_pieces_change_nothing(words: list[str], data: st.DataObject) -> None:
    body = "".join(words)
    at_once = unused(body)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PIECE", data.draw(st.integers(1, 20)))
        assert unused(body) == at_once
