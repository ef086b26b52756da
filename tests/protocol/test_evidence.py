"""The steps of a proof are enough to check it by other means, and changed steps are refused."""

from __future__ import annotations

import msgspec
import pytest

from pllm_lang.ir import protocol as ir
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.protocol.instances import with_sizes
from pllm_lang.verify.protocol.prove import prove_protocol
from pllm_lang.verify.protocol.report import Step, View
from tests.protocol import library as lib
from tests.protocol.mutations import computed
from tests.protocol.primitives import LIBRARY
from tests.protocol.replaying import replay

POLYNOMIAL = (
    "masked_linear",
    "additive_share",
    "beaver_multiply",
    "beaver_matmul",
    "replicated_share",
    "replicated_multiply",
    "replicated_matmul",
    "additive_to_replicated",
)
SIZES = {"m": 2, "k": 3, "n": 2}


def views() -> list[tuple[str, View]]:
    """Proved views that rest on steps alone (none of them learns an output)."""
    found = [(name, v) for name in POLYNOMIAL for v in prove_protocol(LIBRARY[name]).views]
    return [(name, v) for name, v in found if v.steps and not v.learnt]


CASES = views()


def small(name: str) -> ir.Protocol:
    return with_sizes(LIBRARY[name], SIZES)


@pytest.mark.parametrize(("name", "view"), CASES, ids=[f"{n} {v.coalition[0]}" for n, v in CASES])
def test_the_steps_prove_the_view(name: str, view: View) -> None:
    """What was proved for every size is checked, entry by entry, at one."""
    assert view.verdict is Verdict.PROVED
    assert replay(small(name), frozenset(view.coalition), view.steps)


def mutations(steps: tuple[Step, ...]) -> list[tuple[Step, ...]]:
    out: list[tuple[Step, ...]] = []
    replace = msgspec.structs.replace
    for i, step in enumerate(steps):
        others = {s.draw for s in steps if s.draw != step.draw} | {"nothing"}
        changed = [replace(step, draw=d) for d in sorted(others)]
        changed += [replace(step, coefficient=2), replace(step, coefficient=3), replace(step, divided=2)]
        changed += [replace(step, term=step.term + 100), replace(step, modulus=step.modulus * 2)]
        out += [(*steps[:i], c, *steps[i + 1 :]) for c in changed]
    return out


@pytest.mark.parametrize(("name", "view"), CASES, ids=[f"{n} {v.coalition[0]}" for n, v in CASES])
def test_changed_steps_are_refused(name: str, view: View) -> None:
    for steps in mutations(view.steps):
        assert not replay(small(name), frozenset(view.coalition), steps)


def test_the_steps_of_one_protocol_do_not_prove_another() -> None:
    view = next(v for v in prove_protocol(lib.masked_linear()).views if v.coalition == ("inference",))
    broken = computed("u", ir.Add((ir.Ref("x"), ir.Scale(-2, ir.Ref("r")))))(lib.masked_linear())
    assert replay(with_sizes(lib.masked_linear(), SIZES), frozenset(["inference"]), view.steps)
    assert not replay(with_sizes(broken, SIZES), frozenset(["inference"]), view.steps)
    assert not replay(with_sizes(lib.masked_linear(), SIZES), frozenset(["inference"]), view.steps[:1])
