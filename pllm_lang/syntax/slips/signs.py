"""Slips with `:`, `=` and operators: one written for another, one too many, a value left out."""

from __future__ import annotations

from pllm_lang.syntax.slips.slip import Slip, edit, slip
from pllm_lang.syntax.trouble import (
    Token,
    Trouble,
    after,
    before,
    fits,
    fits_instead,
    here,
    is_end,
    is_line_first,
    line_start,
    open_bracket,
    token,
)

_OPERATORS = frozenset(
    [
        "+",
        "-",
        "*",
        "/",
        "^",
        "=",
        ",",
        "<",
        ">",
        "<=",
        ">=",
        "==",
        "!=",
        "and",
        "or",
        "not",
        "in",
        "->",
        "|>",
        "using",
        "assume",
        "where",
    ]
)


def misplaced_pass(trouble: Trouble) -> Slip | None:
    """`model: huggingface("config.json") |> fuse_qkv` in an experiment."""
    bad = here(trouble)
    if (
        bad.text != "|>"
        or token(trouble, line_start(trouble, trouble.at)).text == "model"
        or is_line_first(trouble, trouble.at)
    ):
        return None
    help_ = 'write `model m = huggingface("config.json") |> ...` at the top level, and name `m` here'
    return slip(trouble, "misplaced", "passes stand in the declaration of a model", bad, help=help_)


def equals_for_colon(trouble: Trouble) -> Slip | None:
    """`kind = method`, `f(bits = 32)`, `{ a = 1 }`, `input h = f32[2]`."""
    bad = here(trouble)
    if bad.text == "=" and before(trouble).is_word and open_bracket(trouble) is not None:
        name, sign = before(trouble), bad
    elif bad.is_word and after(trouble).text == "=" and fits(trouble, "FIELD"):
        name, sign = bad, after(trouble)
    else:
        return None
    fix = edit(trouble, "Write `:`", name.end, sign.end, ":")
    return slip(trouble, "equals_for_colon", f"after `{name.text}` a `:` is needed, not `=`", sign, fix=fix)


def colon_for_equals(trouble: Trouble) -> Slip | None:
    """`x: linear(a, w)` as a step, `const n: 3`."""
    bad = here(trouble)
    if bad.kind != "FIELD" or not fits(trouble, "NAME", "="):
        return None
    colon = bad._replace(start=bad.end - 1, text=":")
    if bad.text == "policy:" and fits(trouble, "output"):
        help_ = f"write `plan name under {after(trouble).text} {{`"
        return slip(trouble, "misplaced", "a policy stands in the head of the plan", bad, help=help_)
    fix = edit(trouble, "Write ` =`", colon.start, colon.end, " =")
    message = f"after `{bad.text[:-1]}` a `=` is needed, not `:`"
    return slip(trouble, "colon_for_equals", message, colon, fix=fix)


def missing_colon(trouble: Trouble) -> Slip | None:
    """`input h f32[2]`, `kind method`, `kind : method`, `a -> b c`."""
    bad, following, previous = here(trouble), after(trouble), before(trouble)
    if previous.kind == "NAME" and open_bracket(trouble) is None and fits_instead(trouble, "FIELD", bad.kind):
        fix = edit(trouble, "Add `:`", previous.end, previous.end, ":")
        return slip(trouble, "missing_colon", f"after `{previous.text}` a `:` is missing", previous, fix=fix)
    if not bad.is_word or not fits(trouble, "FIELD"):
        return None
    if following.text == ":":
        fix = edit(trouble, "Remove the space", bad.end, following.start, "")
        message = f"the `:` belongs directly behind `{bad.text}`"
        return slip(trouble, "missing_colon", message, following, help=f"write `{bad.text}:`", fix=fix)
    if not fits(trouble, "FIELD", following.kind) or is_line_first(trouble, trouble.at + 1):
        return None
    fix = edit(trouble, "Add `:`", bad.end, bad.end, ":")
    return slip(trouble, "missing_colon", f"after `{bad.text}` a `:` is missing", bad, fix=fix)


def stray_colon(trouble: Trouble) -> Slip | None:
    """`output y:`, `plan p: {`, `from client: ...`."""
    bad = here(trouble)
    if bad.kind != "FIELD" or not fits(trouble, "NAME"):
        return None
    colon = bad._replace(start=bad.end - 1, text=":")
    fix = edit(trouble, "Remove the `:`", colon.start, colon.end, "")
    return slip(trouble, "stray_colon", f"no `:` belongs behind `{bad.text[:-1]}` here", colon, fix=fix)


def missing_equals(trouble: Trouble) -> Slip | None:
    """`const n 3`, `component c {`."""
    bad, previous = here(trouble), before(trouble)
    if trouble.at != trouble.first + 2 or not previous.is_word or not fits(trouble, "="):
        return None
    if bad.text == "{" and fits(trouble, "=", "STRING"):
        message = f"the component `{previous.text}` has no identifier"
        help_ = (
            f'write `component {previous.text} = "vendor/name" {{`: locks and reports call it by this name'
        )
        return slip(trouble, "missing_identifier", message, previous, help=help_)
    if not fits(trouble, "=", bad.kind):
        return None
    fix = edit(trouble, "Add ` =`", previous.end, previous.end, " =")
    return slip(trouble, "missing_equals", f"after `{previous.text}` a `=` is missing", previous, fix=fix)


def wrong_equals(trouble: Trouble) -> Slip | None:
    """`x == f(a)` as a step, `requires a = b`, `a => b`, `a =< b`."""
    bad, previous, following = here(trouble), before(trouble), after(trouble)
    if bad.text == "==" and fits(trouble, "="):
        fix = edit(trouble, "Write `=`", bad.start, bad.end, "=")
        return slip(trouble, "wrong_equals", "a step is written with one `=`", bad, fix=fix)
    for left, right in ((previous, bad), (bad, following)):
        meant = {"=>": ">=", "=<": "<=", "<>": "!=", ":=": "="}.get(left.text + right.text)
        if meant and left.end == right.start:
            place = left._replace(end=right.end, text=left.text + right.text)
            fix = edit(trouble, f"Write `{meant}`", place.start, place.end, meant)
            return slip(trouble, "wrong_equals", f"`{place.text}` is written `{meant}`", place, fix=fix)
    if bad.text == "=" and fits(trouble, "COMPARE"):
        fix = edit(trouble, "Write `==`", bad.start, bad.end, "==")
        return slip(trouble, "wrong_equals", "a comparison is written with `==`", bad, fix=fix)
    return None


def double_operator(trouble: Trouble) -> Slip | None:
    """`2 ** 32`."""
    bad, previous = here(trouble), before(trouble)
    if bad.text != "*" or previous.text != "*" or previous.end != bad.start:
        return None
    fix = edit(trouble, "Write `^`", previous.start, bad.end, "^")
    place = previous._replace(end=bad.end, text="**")
    return slip(trouble, "power_sign", "a power is written `^`", place, fix=fix)


def missing_value(trouble: Trouble) -> Slip | None:
    """A line that ends with an operator, a `name:` without a value, an empty `()`."""
    index = _unfinished(trouble)
    if index is None:
        return None
    last = token(trouble, index)
    wanted = "name" if last.text == "." else "value"
    return slip(trouble, "missing_value", f"after `{last.text}` a {wanted} is missing", last)


def _unfinished(trouble: Trouble) -> int | None:
    """The index of a token behind which a value is missing."""
    bad, previous = here(trouble), before(trouble)
    start = line_start(trouble, trouble.at)
    if 0 < start < trouble.at and _wants_value(token(trouble, start - 1)):
        kinds = [token(trouble, index).kind for index in range(start, trouble.at + 1)]
        if fits(trouble, *kinds, states=trouble.states[: trouble.level]):
            return start - 1
    if trouble.first == trouble.at or not fits(trouble, "NAME" if previous.text == "." else "NUMBER"):
        return None
    ends = is_line_first(trouble, trouble.at) or is_end(trouble) or bad.text in ")]},"
    if _wants_value(previous) and (ends or bad.text in _OPERATORS):
        return trouble.at - 1
    return None


def _wants_value(left: Token) -> bool:
    return left.kind == "FIELD" or left.text in _OPERATORS or left.text in "([{."
