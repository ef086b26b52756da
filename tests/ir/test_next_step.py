"""What the findings of lowering propose: the import, the spelling or the form that would do."""

from __future__ import annotations

import pytest

from tests.ir.lowering import body, lower

STEPS = {
    "a component that is not imported": (
        "a = linear(x, w) using integer_linear",
        "import it: `import std.methods [integer_linear]`",
    ),
    "a misspelt component that is not imported": (
        "a = linear(x, w) using integer_liner",
        "did you mean `integer_linear`, of `std.methods`?",
    ),
    "too few names": ("a = quantize(x, to: w8)", "write `y, step = quantize(...)`, with names of your own"),
    "an index beyond the family": ("a = linear(x, v[4])", "a repeat over all of them runs `in 0..<4`"),
    "a policy as a step": (
        "policy = pol",
        "a policy stands in the head of the plan: `plan name under pol {`",
    ),
}
INPUTS = {
    "a format that is not imported": ("f32[2]", "import it: `import std.formats [f32]`"),
    "a kind of format": ("float[2]", "declare one: `format q = float(32)`"),
    "a shape in parentheses": ("fx(2, 3)", "a shape stands in brackets: `fx[2, 3]`"),
    "a shape alone": ("[2, 3]", "write the format before the shape: `f32[2, 3]`"),
    "a chain": ("fx[2] where -3 <= x <= 3", "write `x in -3..3`, or two comparisons joined by `and`"),
    "a unit": ("fx[2] where abs(x) <= 3ms", "leave the unit out"),
    "a sharing that is not imported": (
        "fx[2] as additive(a, b)",
        "import it: `import std.holdings [additive]`",
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_step_is_told_what_to_write(name: str) -> None:
    text, help = STEPS[name]
    assert [finding.help for finding in body(text).findings] == [help]


@pytest.mark.parametrize("name", INPUTS)
def test_an_input_is_told_what_to_write(name: str) -> None:
    text, help = INPUTS[name]
    assert [finding.help for finding in lower(f"plan p {{ input x: {text} }}").findings] == [help]


def test_a_name_whose_import_failed_says_so() -> None:
    case = lower("plan p { input x: f33[2] }", head="pllm 1\nimport std.formats [f33]\n")
    assert [finding.help for finding in case.findings] == [
        "did you mean `f32`?",
        "its import has a finding of its own",
    ]


def test_a_family_counted_by_a_number_is_told_the_range() -> None:
    case = lower("plan p { weight w[6]: fx[2] public }")
    assert [finding.help for finding in case.findings] == ["write `0..<6` for 6 of them"]


def test_a_weight_without_owner_is_told_whom_secret_from_names() -> None:
    (finding,) = lower("plan p under pol { weight w: fx[2] }").findings
    assert finding.help == "write `public`, or `secret from [...]` with the parties that must not learn it"
