"""Slips with brackets and blocks: not closed, not opened, closed by another kind, a comma left out."""

from __future__ import annotations

from pllm_lang.syntax.recover import HEADS, is_margin_declaration, missing_closers
from pllm_lang.syntax.slips.slip import Slip, edit, label, slip
from pllm_lang.syntax.trouble import (
    Token,
    Trouble,
    before,
    closer,
    column,
    fits,
    here,
    is_end,
    is_line_first,
    line,
    line_start,
    open_bracket,
    token,
)

_CLOSERS = frozenset(")]}")


def unclosed_bracket(trouble: Trouble) -> Slip | None:
    """`f(a, b` at the end of a line, of a block or of the file; or closed by another kind of bracket."""
    index = open_bracket(trouble)
    if index is None or (token(trouble, index).text == "{" and _is_body(trouble, index)):
        return None
    opener, bad = token(trouble, index), here(trouble)
    wanted = closer(opener.text)
    is_clause = bad.kind == bad.text and bad.is_word and fits(trouble, wanted, bad.kind)
    if not (is_line_first(trouble, trouble.at) or is_end(trouble) or bad.text in _CLOSERS or is_clause):
        return None
    if not fits(trouble, wanted):
        return None
    message = f"this `{opener.text}` is not closed"
    end = before(trouble).end
    if bad.text in _CLOSERS and line(trouble, index) == line(trouble, trouble.at):
        message = f"this `{opener.text}` is closed by `{bad.text}`"
        fix = edit(trouble, f"Write `{wanted}`", bad.start, bad.end, wanted)
    else:
        fix = edit(trouble, f"Add `{wanted}`", end, end, wanted)
    labels = () if is_end(trouble) else (label(trouble, bad, f"a `{wanted}` is missing before this"),)
    return slip(
        trouble, "unclosed_bracket", message, opener, help=f"close it with `{wanted}`", labels=labels, fix=fix
    )


def missing_comma(trouble: Trouble) -> Slip | None:
    index = open_bracket(trouble)
    if index is None or not fits(trouble, ",", here(trouble).kind):
        return None
    bad, end = here(trouble), before(trouble).end
    fix = edit(trouble, "Add `,`", end, end, ",")
    return slip(trouble, "missing_comma", f"a `,` is missing before `{bad.text}`", bad, fix=fix)


def unclosed_block(trouble: Trouble) -> Slip | None:
    """A `{` without its `}`: found where the next declaration begins, or at the end of the file."""
    start = line_start(trouble, trouble.at)
    is_next = is_margin_declaration(trouble, start) and trouble.at <= start + 1
    if not is_end(trouble) and not is_next and not missing_closers(trouble):
        return None
    found = _blame(trouble, trouble.at if is_end(trouble) else start)
    if found is None:
        return None
    brace, wrong = found
    opener = token(trouble, brace)
    head = token(trouble, line_start(trouble, brace)).text
    labels = (
        [label(trouble, token(trouble, start), "what begins here does not belong into it")]
        if not is_end(trouble)
        else []
    )
    if wrong is not None:
        labels.append(label(trouble, token(trouble, wrong), "this `}` stands at the margin of another block"))
    return slip(
        trouble,
        "unclosed_block",
        f"the block of this `{head}` is not closed" if head in HEADS else "this block is not closed",
        opener,
        help="add a `}` on a line of its own where the block ends",
        labels=tuple(labels),
    )


def unopened_bracket(trouble: Trouble) -> Slip | None:
    bad = here(trouble)
    if bad.text not in _CLOSERS or open_bracket(trouble) is not None:
        return None
    return slip(trouble, "unopened_bracket", f"this `{bad.text}` closes nothing", bad, help="remove it")


def missing_block(trouble: Trouble) -> Slip | None:
    head = token(trouble, trouble.first).text
    if head not in HEADS or trouble.first == trouble.at or not fits(trouble, "{"):
        return None
    if not is_line_first(trouble, trouble.at) and not is_end(trouble):
        return None
    previous = before(trouble)
    fix = edit(trouble, "Add ` {`", previous.end, previous.end, " {")
    return slip(
        trouble,
        "missing_block",
        f"the block of this `{head}` is missing",
        previous,
        help="open it with `{`",
        fix=fix,
    )


def _is_body(trouble: Trouble, index: int) -> bool:
    """Whether a `{` opens a block of lines rather than a map or a list of names."""
    return token(trouble, line_start(trouble, index)).text in HEADS


def _blame(trouble: Trouble, limit: int) -> tuple[int, int | None] | None:
    """The `{` that is most likely the one left open, and the `}` that closes it by mistake.

    By layout: the first block whose `}` begins a line at another margin than the block's own first line;
    otherwise the innermost one that is open at the end.
    """
    opened: list[int] = []
    for index in range(limit):
        text = trouble.tokens[index][2]
        if text == "{":
            opened.append(index)
        elif text == "}" and opened:
            brace = opened.pop()
            if is_line_first(trouble, index) and column(trouble, index) < column(
                trouble, line_start(trouble, brace)
            ):
                return brace, index
        elif opened and is_margin_declaration(trouble, index):
            break
    return (opened[-1], None) if opened else None


def missing_parentheses(trouble: Trouble) -> Slip | None:
    """`block b (x: f32[3]) -> y {`."""
    bad = here(trouble)
    if not bad.is_word or before(trouble).text != "->" or not fits(trouble, "("):
        return None
    message = "results stand in parentheses"
    return slip(trouble, "missing_parentheses", message, bad, help=f"write `-> ({bad.text})`")


def describe(bad: Token) -> str:
    """How a message calls a token."""
    if bad.kind == "$END":
        return "the end of the file"
    if bad.kind == "$BAD" or len(bad.text) > 30:
        return f"`{bad.text[:27].rstrip()}...`"
    return f"`{bad.text}`"
