"""The picture of a cost: well-formed, without scripts, and readable in a real browser."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pllm_lang.artifacts.cost_report import (
    SCHEMA,
    Amount,
    CostReport,
    Link,
    Material,
    Memory,
    Rounds,
    StageCost,
    Work,
)
from pllm_lang.artifacts.cost_svg import WIDTH, as_svg
from pllm_lang.cli.costing import cost_of_target
from tests.pictures.browser import assert_readable

FIRST_LOOK = Path(__file__).parents[2] / "examples" / "first_look.pllm"


def report(names: list[str], size: int = 10**6) -> CostReport:
    links = tuple(
        Link("online" if i % 2 else "offline", a, b, 10**i, size * i)
        for i, a in enumerate(names)
        for b in names
        if a != b
    )
    amount = Amount(
        links,
        (Rounds("offline", 10**9), Rounds("online", 10**12)),
        tuple(Material(name, name, "row", size) for name in names),
        tuple(Work("online", name, size**2) for name in names),
    )
    stages = (StageCost(names[0], 1, amount), StageCost(names[-1], 10**6, amount))
    memory = tuple(Memory(name, size, size, size, 4 * size if i else None) for i, name in enumerate(names))
    budget = {"requests": 10**6, "max_input_tokens": 10, "max_new_tokens": 2}
    return CostReport(SCHEMA, names[0], False, budget, stages, amount, amount, amount, memory)


@given(st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=4, unique=True))
def test_whatever_a_file_says_it_is_well_formed_and_adds_no_element(names: list[str]) -> None:
    plain = [f"n{i}" for i in range(len(names))]
    found, expected = (ElementTree.fromstring(as_svg(report(given))) for given in (names, plain))
    assert [one.tag for one in found.iter()] == [one.tag for one in expected.iter()]
    assert {one.tag.rpartition("}")[2] for one in found.iter()} <= {
        "svg",
        "title",
        "style",
        "rect",
        "line",
        "path",
        "text",
    }


def test_nothing_leaves_the_picture() -> None:
    for one in ElementTree.fromstring(as_svg(report(["a", "b", "c"]))).iter():
        x = float(one.get("x", "0")) + float(one.get("width", "0"))
        assert 0 <= x <= WIDTH


@pytest.mark.system
@pytest.mark.parametrize("count", [2, 3, 5, 8])
def test_it_is_readable_with_long_names_and_large_numbers(tmp_path: Path, count: int) -> None:
    names = [f"W{'WM' * 30}{i}" for i in range(count)]
    assert_readable(as_svg(report(names, 2**49)), tmp_path)


@pytest.mark.system
def test_of_a_real_plan_it_is_readable(tmp_path: Path) -> None:
    assert_readable(as_svg(cost_of_target(f"{FIRST_LOOK}:ten_tokens")), tmp_path)


def test_an_empty_cost_says_so() -> None:
    empty = CostReport(
        SCHEMA, "p", True, {}, (StageCost("p", 1, Amount()),), Amount(), Amount(), Amount(), ()
    )
    assert "nothing is sent" in as_svg(empty)
