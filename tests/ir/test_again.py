"""Lowering again after edits gives what lowering afresh gives, and costs only from the first change on."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pllm_lang.catalog.library import Library
from pllm_lang.catalog.load import open_project
from pllm_lang.ir.lower import Lowered, lower_plan
from pllm_lang.ir.lower import again as again_module
from pllm_lang.ir.lower.again import Session, lower_again
from pllm_lang.resolve.modules import Project
from pllm_lang.syntax import nodes as syn
from tests.ir.lowering import HEAD, ROOT

PATH = os.path.join(ROOT, "main.pllm")
LINES = (
    "input x: fx[3, 3] from client where abs(x) <= 12",
    "weight w[0..<4]: fx[3, 3] public",
    "state s: fx[3, 3] where abs(s) <= 9",
    "a = mul(x, w[0]) @ client assume abs(a) <= 20",
    "b = linear(a, w[1]) using masked(bits: 32)",
    "e = encode([[1, 2, 3]], to: fx)",
    "repeat i in 0..<4 carrying [a] {\n d = mul(a, w[i])\n a = add(d, x)\n }",
    "c = add(a, x)",
    "s = c",
    "f = block_of(c)",
    "g = add(c, nothing)",
    "h = rescale(b, by: b, to: fy)",
    "output c to client",
    "requires error(c) <= 1/2",
    "stage extra { z = add(x, x) }",
)
BLOCK = "block block_of (x: fx[m, n]) -> (y) {\n t = add(x, x)\n y = mul(t, x)\n}\n"


class Editor:
    """A project whose library stays the same object while only the plan's text changes."""

    def __init__(self) -> None:
        self.library: Library | None = None
        self.session: Session | None = None

    def load(self, lines: list[str]) -> tuple[Project, str, syn.Plan]:
        text = HEAD + BLOCK + "plan p under pol {\n" + "\n".join(lines) + "\n}\n"
        opened = open_project([PATH], ROOT, {PATH: text})
        if self.library is None:
            self.library = opened.library
        module = opened.project.modules[opened.project.main[0]]
        return opened.project, module.name, next(d for d in module.file.decls if isinstance(d, syn.Plan))

    def lower(self, lines: list[str]) -> tuple[Lowered, Lowered]:
        """The plan lowered again, and afresh."""
        project, name, decl = self.load(lines)
        assert self.library is not None
        lowered, self.session = lower_again(project, self.library, name, decl, self.session)
        return lowered, lower_plan(project, self.library, name, decl)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from(LINES), max_size=12), min_size=2, max_size=5))
def test_again_is_afresh(texts: list[list[str]]) -> None:
    editor = Editor()
    for lines in texts:
        lowered, afresh = editor.lower(lines)
        assert lowered == afresh


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_again_is_afresh_after_single_edits(data: st.DataObject) -> None:
    editor = Editor()
    lines = list(LINES[:-1])
    editor.lower(lines)
    for _ in range(3):
        at = data.draw(st.integers(0, len(lines) - 1))
        if data.draw(st.booleans()):
            lines[at] = data.draw(st.sampled_from(LINES))
        else:
            del lines[at]
        lowered, afresh = editor.lower(lines)
        assert lowered == afresh
        lines = lines or [LINES[0]]


def test_statements_before_the_change_are_not_lowered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["input x: fx[3, 3] from client", *(f"a{k} = add(x, x)" for k in range(50))]
    editor = Editor()
    editor.lower(lines)
    lowered: list[syn.Stmt] = []
    real = again_module.lower_statement
    monkeypatch.setattr(again_module, "lower_statement", lambda ctx, s: (lowered.append(s), real(ctx, s))[1])
    lines[45] = "a44 = sub(x, x)"
    editor.lower(lines)
    assert len(lowered) == 6
    editor.lower(lines)
    assert len(lowered) == 6


def test_a_result_does_not_change_when_lowering_goes_on() -> None:
    editor = Editor()
    first, _ = editor.lower(list(LINES[:8]))
    names = dict(first.source_map.values)
    editor.lower(list(LINES[:3]))
    assert first.source_map.values == names
