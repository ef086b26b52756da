"""Slips in single characters: strings that do not end, other quotes, comments and signs of other
languages."""

from __future__ import annotations

import unicodedata

from pllm_lang.syntax.slips.slip import Slip, edit, slip
from pllm_lang.syntax.trouble import Token, Trouble, after, before, here, open_bracket, token
from pllm_lang.text.limits import MAX_STRING_CHARACTERS, MAX_WORD_CHARACTERS

_SIGNS = {
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "→": "->",
    "×": "*",
    "·": "*",
    "−": "-",
    "–": "-",
    "…": "..",
    "&": "and",
    "|": "or",
    "!": "not",
}
_QUOTES = "'`‘’“”«»"


def too_long(trouble: Trouble) -> Slip | None:
    """A number, name or string longer than any that is meant."""
    bad = here(trouble)
    limit = MAX_STRING_CHARACTERS if bad.text.startswith('"') else MAX_WORD_CHARACTERS
    if bad.kind != "$BAD" or len(bad.text) <= limit:
        return None
    message = f"this has {len(bad.text):,} characters; the limit is {limit:,}"
    return slip(trouble, "too_long", message, bad._replace(end=bad.start + 1))


def unclosed_string(trouble: Trouble) -> Slip | None:
    bad = here(trouble)
    if bad.kind != "$BAD" or not bad.text.startswith('"'):
        return None
    if bad.text.endswith('"') and len(bad.text) > 1:
        help_ = 'a `"` after a `\\` does not end the string; write `\\\\` for a backslash'
    else:
        help_ = 'end it with `"` on the same line; write `\\n` for a line break inside'
    return slip(trouble, "unclosed_string", "this string is not closed", bad, help=help_)


def wrong_quotes(trouble: Trouble) -> Slip | None:
    bad = here(trouble)
    if bad.kind != "$BAD" or bad.text not in _QUOTES:
        return None
    text = f'strings are written with `"`, not with `{bad.text}`'
    return slip(trouble, "wrong_quotes", text, bad, help='replace both quotes by `"`')


def comment_sign(trouble: Trouble) -> Slip | None:
    """`//`, `/* */`, `--` and `;` where a comment was meant."""
    bad = here(trouble)
    previous, following = before(trouble), after(trouble)
    if bad.text not in "/*-":
        return None
    for left, right in ((previous, bad), (bad, following)):
        pair = left.text + right.text
        if pair in ("//", "/*", "--") and left.end == right.start:
            message = f"a comment begins with `#`, not with `{pair}`"
            place = left._replace(end=right.end, text=pair)
            fix = edit(trouble, "Write `#`", left.start, right.end, "#") if pair != "/*" else None
            return slip(trouble, "comment_sign", message, place, help="write `# ...`", fix=fix)
    return None


def stray_character(trouble: Trouble) -> Slip | None:
    bad = here(trouble)
    if bad.kind != "$BAD":
        return None
    name = unicodedata.name(bad.text, "")
    shown = f"`{bad.text}`" if bad.text.isprintable() else f"U+{ord(bad.text):04X}"
    called = f"{shown} ({name.lower()})" if name and not bad.text.isascii() else shown
    fix = None
    if bad.text == ";":
        help_ = "a statement ends with its line; leave the `;` out"
        fix = edit(trouble, "Remove the `;`", bad.start, bad.end, "")
    elif meant := _SIGNS.get(bad.text):
        end = bad.end + (after(trouble).text == bad.text and after(trouble).start == bad.end)
        help_ = f"write `{meant}`"
        fix = edit(trouble, f"Write `{meant}`", bad.start, end, f" {meant} ")
    elif bad.text.isspace():
        help_ = "only spaces, tabs and line ends separate words"
        fix = edit(trouble, "Write a space", bad.start, bad.end, " ")
    elif bad.text.isalpha():
        help_ = "names are written with the letters a to z, digits and `_`"
    else:
        help_ = "remove it"
    return slip(trouble, "stray_character", f"{called} has no meaning here", bad, help=help_, fix=fix)


def range_sign(trouble: Trouble) -> Slip | None:
    """`0...24`, `0..=24`, `0..`, `..24`, `x[0:24]`."""
    bad, previous = here(trouble), before(trouble)
    place = bad
    if bad.text == "=" and previous.text in ("..", "..<") and previous.end == bad.start:
        place = previous._replace(end=bad.end, text=previous.text + "=")
    elif previous.text in ("..", "..<"):
        place = previous
    elif (unfinished := _range_before_block(trouble)) is not None:
        place = unfinished
    elif bad.text == ":" and _in_index(trouble):
        message = "a range is written `low..<high`, not with `:`"
        return slip(
            trouble, "bad_range", message, bad, fix=edit(trouble, "Write `..<`", bad.start, bad.end, "..<")
        )
    elif bad.text not in ("..", "..<", "..."):
        return None
    message = f"`{place.text}` does not make a range here"
    return slip(
        trouble, "bad_range", message, place, help="`low..high` includes high, `low..<high` stops before it"
    )


def _in_index(trouble: Trouble) -> bool:
    return any(token(trouble, index).text == "[" for index in range(trouble.first, trouble.at))


def _range_before_block(trouble: Trouble) -> Token | None:
    """The sign in `repeat i in 0.. {`, whose block was read as a map."""
    index = open_bracket(trouble)
    if index is None or token(trouble, index - 1).text not in ("..", "..<"):
        return None
    return token(trouble, index - 1)
