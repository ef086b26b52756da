"""Short texts that ask for a great deal: refused by name, quickly."""

from __future__ import annotations

import time

from pllm_lang.ir.lower.limits import MAX_STATEMENTS
from tests.ir.lowering import Case, lower

# Processor time; a check may take 2 seconds on an idle machine.
SECONDS = 6


def doubling(levels: int) -> str:
    """Blocks that each call the next one twice."""
    blocks = ["block b0 (x: fx[m]) -> (y) { y = add(x, x) }"]
    blocks += [
        f"block b{k} (x: fx[m]) -> (y) {{ a = b{k - 1}(x) y = b{k - 1}(a) }}" for k in range(1, levels)
    ]
    return (
        "\n".join(blocks)
        + f"\nplan p {{ input x: fx[2] from client y = b{levels - 1}(x) output y to client }}"
    )


def measured(text: str) -> Case:
    began = time.process_time()
    case = lower(text)
    assert time.process_time() - began < SECONDS
    return case


def test_blocks_that_double_are_stopped() -> None:
    case = measured(doubling(40))
    assert case.codes == ["limits.expansion"]
    assert case.findings[0].data["limit"] == str(MAX_STATEMENTS)


def test_blocks_that_double_a_few_times_are_expanded() -> None:
    case = lower(doubling(6))
    assert case.codes == []
    assert len(case.steps()) == 2**5


def test_blocks_inside_each_other() -> None:
    deep = ["block b0 (x: fx[m]) -> (y) { y = add(x, x) }"]
    deep += [f"block b{k} (x: fx[m]) -> (y) {{ y = b{k - 1}(x) }}" for k in range(1, 500)]
    case = measured(
        "\n".join(deep) + "\nplan p { input x: fx[2] from client y = b499(x) output y to client }"
    )
    assert case.codes == ["limits.expansion"]


def test_repeats_inside_each_other() -> None:
    text = "a = add(x, x)"
    for k in range(20):
        text = f"repeat i{k} in 0..<60000 carrying [x] {{ x = add(x, x) {text.replace('a =', f'a{k} =')} }}"
    case = measured(f"plan p {{ input x: fx[2] from client {text} }}")
    assert set(case.codes) == {"limits.repeat"}


def test_a_repeat_of_a_million_million_turns() -> None:
    case = measured(
        "plan p { input x: fx[2] from client repeat i in 0..<10^12 carrying [x] { x = add(x, x) } }"
    )
    assert case.told() == [("limits.repeat", "0..<10^12")]


def test_numbers_that_explode_are_findings() -> None:
    case = measured("plan p { input x: fx[2^(2^40)] from client where abs(x) <= 10^(10^9) }")
    assert case.codes == ["numbers.too_large", "numbers.too_large"]


def test_many_accesses_to_one_state_family() -> None:
    writes = "\n".join(f"s[{k}] = x" for k in range(4000))
    reads = "\n".join(f"a{k} = add(x, s[{k}])" for k in range(4000))
    case = measured(
        f"plan p {{ input x: fx[2] from client state s[0..<4000]: fx[2]\n stage a {{ {reads}\n{writes} }} }}"
    )
    assert case.codes == []


def test_thousands_of_unknown_names() -> None:
    steps = "\n".join(f"value_{k} = add(valeu_{k}, x) using maskd" for k in range(4000))
    case = measured(f"plan p {{ input x: fx[2] from client\n{steps}\n}}")
    assert set(case.codes) == {"names.unknown"}
    assert len(case.findings) == 8000
    assert case.findings[0].help != ""
