"""What a value is from stage to stage and from run to run: a verifier that does not look at it makes locks that replay refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from pllm_lang.artifacts.replay.lock import replay
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.ir import protocol as p
from pllm_lang.verify.narrations import plan, steps
from pllm_lang.verify.narrations.held import Held
from pllm_lang.verify.narrations.under_way import UnderWay
from tests.artifacts.locks import ROOT, compiled

LEAKS = ROOT / "tests" / "corpus" / "placement" / "leak"
ROUNDED = LEAKS / "rounded_into_a_state.pllm"


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


def test_a_public_input_is_no_weight_in_another_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    embedded = steps.embedded

    def for_ever(stage: UnderWay, held: Held, type_: p.TensorType) -> Held:
        found = embedded(stage, held, type_)
        if found.name != held.name and isinstance(found.holding, p.Public):
            given = stage.inputs[found.name]
            stage.inputs[found.name] = msgspec.structs.replace(given, lifetime="weights")
        return found

    monkeypatch.setattr(steps, "embedded", for_ever)
    content = compiled(LEAKS / "public_input_of_a_request.pllm", "of_an_input")
    monkeypatch.undo()
    with pytest.raises(ReplayError, match="does not live as long as `x`"):
        replay(content)
