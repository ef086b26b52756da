"""What a state hands from stage to stage: a verifier that does not look at it makes locks that replay refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pllm_lang.artifacts.replay.lock import replay
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.verify.narrations import plan
from tests.artifacts.locks import ROOT, compiled

ROUNDED = ROOT / "tests" / "corpus" / "placement" / "leak" / "rounded_into_a_state.pllm"


def nothing(*_: Any) -> Iterator[Any]:
    return iter(())


@pytest.mark.parametrize("name", ["shown_in_a_later_stage", "handed_on"])
def test_what_is_made_from_a_rounded_state_is_shown_to_nobody_else(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "learnt_of_rounded", nothing)
    content = compiled(ROUNDED, name)
    monkeypatch.undo()
    with pytest.raises(ReplayError, match="gets `told`, made from a state"):
        replay(content)


def test_a_rounded_state_that_nobody_else_learns_of_is_followed() -> None:
    replay(compiled(ROUNDED, "kept_to_the_client"))
