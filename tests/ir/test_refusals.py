"""Every way in which a statement does not fit: its code, and the text that the finding points at."""

from __future__ import annotations

import pytest

from tests.ir.lowering import body, lower

REFUSED = {
    "unknown operator": ("y = lineer(x, w)", "names.unknown", "lineer"),
    "unknown value": ("y = add(x, xx)", "names.unknown", "xx"),
    "a record in place of a value": ("y = add(x, masked)", "names.wrong_kind", "masked"),
    "a component called": ("y = masked(x, w)", "names.wrong_kind", "masked"),
    "used before it is defined": ("a = add(b, x)\n  b = add(x, x)", "names.unknown", "b"),
    "assigned twice": ("a = add(x, x)\n  a = add(x, z)", "names.duplicate", "a"),
    "an input assigned": ("x = add(x, x)", "names.duplicate", "x"),
    "unknown party": ("a = add(x, x) @ clinet", "names.unknown", "clinet"),
    "unknown component": ("a = linear(x, w) using maskd", "names.unknown", "maskd"),
    "an operator as a component": ("a = linear(x, w) using add", "names.wrong_kind", "add"),
    "too few operands": ("a = add(x)", "types.arity", "add(x)"),
    "too many operands": ("a = add(x, x, x)", "types.arity", "add(x, x, x)"),
    "too many names": ("a, b = add(x, x)", "types.arity", "a"),
    "too few names": ("a = quantize(x, to: w8)", "types.arity", "a"),
    "shapes": ("a = matmul(x, z)", "types.shape_mismatch", "z"),
    "formats": ("a = linear(x, v[0])\n  b = add(a, x)", "types.format_mismatch", "x"),
    "nested computation": ("a = add(x, add(x, x))", "types.nested_call", "add(x, x)"),
    "nested, two results": ("a = add(x, split(x, at: 1))", "types.nested_call", "split(x, at: 1)"),
    "infix": ("a = x + z", "types.not_a_step", "x + z"),
    "infix operand": ("a = add(x, x * z)", "types.not_an_operand", "x * z"),
    "a second name": ("a = x", "types.not_a_step", "x"),
    "a whole family": ("a = linear(x, v)", "types.not_an_operand", "v"),
    "a member of a single value": ("a = add(x[0], x)", "types.not_an_operand", "x[0]"),
    "an index beyond the family": ("a = linear(x, v[4])", "types.index", "4"),
    "a scale where none is": ("a = outer(x, w.scale)", "types.not_an_operand", "w.scale"),
    "an unknown attribute": ("a = add(x.pieces, x)", "types.not_an_operand", "x.pieces"),
    "ragged literal": ("a = encode([[1, 2], [3]], to: fx)", "types.not_an_operand", "[[1, 2], [3]]"),
    "missing parameter": ("a = encode(x)", "params.missing", "encode"),
    "unknown parameter": ("a = encode(x, two: fy)", "params.unknown", "two: fy"),
    "parameter twice": ("a = encode(x, to: fx, to: fy)", "params.duplicate", "to: fy"),
    "operand twice": ("a = add(x, z, y: z)", "params.duplicate", "y: z"),
    "no format": ("a = encode(x, to: pol)", "types.not_a_format", "pol"),
    "unknown format": ("a = encode(x, to: fz)", "names.unknown", "fz"),
    "a word that is not allowed": ("a, s = quantize(x, to: w8, per: rwo)", "params.out_of_range", "rwo"),
    "a number for a word": ("a, s = quantize(x, to: w8, per: 3)", "params.wrong_kind", "3"),
    "no boolean": ("a = rescale(x, by: z, to: fy, saturate: 1)", "params.wrong_kind", "1"),
    "a fraction for an integer": ("a = truncate(x, bits: 1/2)", "numbers.not_whole", "1/2"),
    "beyond a parameter's range": ("a = truncate(x, bits: -1)", "params.out_of_range", "-1"),
    "component parameter": ("a = linear(x, w) using masked(bits: 31)", "params.out_of_range", "31"),
    "unnamed component parameter": ("a = linear(x, w) using masked(32)", "params.unnamed", "32"),
    "unknown component parameter": ("a = linear(x, w) using masked(bit: 32)", "params.unknown", "bit: 32"),
    "two components": ("a = linear(x, w) using masked using masked", "types.clause", "using masked"),
    "assumed of something else": ("a = add(x, x) assume abs(x) <= 3", "types.not_a_bound", "abs(x) <= 3"),
    "unknown in a requirement": ("a = add(x, x)\n  requires error(b) <= 1", "names.unknown", "error(b) <= 1"),
    "unknown output": ("output yy to client", "names.unknown", "yy"),
    "output to nobody": ("output x to clint", "names.unknown", "clint"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_slip_is_one_finding_at_its_place(name: str) -> None:
    text, code, place = REFUSED[name]
    case = body(text)
    assert case.told() == [(code, place)]


DECLARED = {
    "unknown policy": ("plan p under poll { input x: fx[2] from client }", "names.unknown", "poll"),
    "a party of no policy": ("plan p under pol { input x: fx[2] from alice }", "names.unknown", "alice"),
    "weight without owner": ("plan p under pol { weight w: fx[2] }", "types.weight_owner", "w"),
    "clause of another kind": ("plan p { weight w: fx[2] from client }", "types.clause", "from client"),
    "clause twice": ("plan p { input x: fx[2] from client from client }", "types.clause", "from client"),
    "unknown holding": ("plan p { input x: fx[2] as shared(a, b) }", "names.unknown", "shared(a, b)"),
    "empty dimension": ("plan p { input x: fx[0] from client }", "types.not_a_shape", "0"),
    "open dimension": ("plan p { input x: fx[...s] from client }", "types.not_a_shape", "...s"),
    "unknown dimension": ("plan p { input x: fx[n_layer] from client }", "names.unknown", "n_layer"),
    "a family that does not begin at 0": ("plan p { weight w[1..<4]: fx[2] public }", "types.index", "1..<4"),
    "an empty family": ("plan p { weight w[0..<0]: fx[2] public }", "types.index", "0..<0"),
    "huge tensor": ("plan p { input x: fx[2^30, 2^30] from client }", "limits.tensor", "fx[2^30, 2^30]"),
    "huge family": ("plan p { weight w[0..<2^40]: fx[2] public }", "limits.family", "0..<2^40"),
    "two of a name": ("plan p { input x: fx[2] from a input x: fx[2] from a }", "names.duplicate", "x"),
    "stage in a plan with steps": (
        "plan p { input x: fx[2] from a y = add(x, x) stage s { output x to a } }",
        "stages.misplaced",
        "y = add(x, x)",
    ),
}


@pytest.mark.parametrize("name", DECLARED)
def test_declarations_that_do_not_fit(name: str) -> None:
    text, code, place = DECLARED[name]
    case = lower(text)
    assert case.told() == [(code, place)]


def test_a_misspelt_name_is_told_with_what_was_probably_meant() -> None:
    case = body("a = linear(x, w) using maskd")
    assert "`masked`" in case.findings[0].help


def test_a_format_mismatch_names_the_conversion() -> None:
    case = lower("plan p { input x: fx[2] from client input y: fy[2] from client z = add(x, y) }")
    assert "cast(y, to: fx)" in case.findings[0].help


def test_findings_that_name_resolution_has_told_are_not_told_again() -> None:
    case = lower('plan p { input x: fx[2] from client facts "gone.json" }')
    assert len({(f.code, f.span) for f in case.findings}) == len(case.findings) == 1
