"""Which message a syntax error gets: that of the first recogniser that knows the slip, or a plain one.

In: a `Trouble`. Out: a `Slip`. Order matters: the surest recognisers stand first.
"""

from __future__ import annotations

import msgspec

from pllm_lang.syntax.recover import DECLARATIONS
from pllm_lang.syntax.slips import brackets, characters, signs, words
from pllm_lang.syntax.slips.brackets import describe
from pllm_lang.syntax.slips.slip import Recogniser, Slip, label, slip
from pllm_lang.syntax.trouble import (
    Trouble,
    before,
    column,
    expected,
    first_word,
    fits,
    here,
    is_line_first,
    is_top_level,
    line_start,
    token,
)
from pllm_lang.text.limits import MAX_DEPTH

_RECOGNISERS: tuple[Recogniser, ...] = (
    characters.too_long,
    characters.unclosed_string,
    characters.wrong_quotes,
    characters.comment_sign,
    brackets.unclosed_block,
    words.bad_edition,
    words.keyword_as_name,
    words.misspelt_keyword,
    signs.misplaced_pass,
    signs.double_operator,
    characters.range_sign,
    signs.equals_for_colon,
    signs.colon_for_equals,
    signs.missing_value,
    signs.wrong_equals,
    characters.stray_character,
    signs.missing_colon,
    signs.missing_equals,
    words.missing_name,
    brackets.missing_block,
    brackets.unclosed_bracket,
    brackets.unopened_bracket,
    brackets.missing_comma,
    brackets.missing_parentheses,
    signs.stray_colon,
    words.misplaced_keyword,
)
# What an error says it expected, in this order; the names of the grammar are not shown.
_SHOWN = {
    "NAME": "a name",
    "FIELD": "a name with a `:`",
    "STRING": "a string",
    "NUMBER": "a number",
    "$END": "the end of the file",
}
_VALUE = frozenset(["NAME", "NUMBER", "QUANTITY", "STRING", "(", "[", "{", "PLUSMINUS", "not"])
_GOES_ON = frozenset(
    ["PLUSMINUS", "TIMES", "COMPARE", "^", "..", "..<", ".", "and", "or", "in", "(", "[", "QUANTITY"]
)
_MAX_SHOWN = 6
# Where all of these fit, a line of some kind is expected, and its many keywords are not listed.
_GROUPS = (
    (DECLARATIONS, "a declaration"),
    (frozenset(["input", "weight", "output", "repeat"]), "a statement"),
    (frozenset(["ensures", "means", "params", "FIELD"]), "a field or another item"),
    (frozenset(["fresh", "needs", "FIELD"]), "a line of the protocol"),
)
_NAMES = frozenset(["NAME", "FIELD"])


def explain(trouble: Trouble) -> Slip:
    for recogniser in _RECOGNISERS:
        found = recogniser(trouble)
        if found:
            return found._replace(intended=found.intended or first_word(trouble))
    found = _unexpected(trouble)
    if not _is_behind_its_block(trouble):
        return found
    labels = (label(trouble, before(trouble), "the block before it ends here"),)
    return found._replace(finding=msgspec.structs.replace(found.finding, labels=labels))


def _is_behind_its_block(trouble: Trouble) -> bool:
    """Whether a line stands outside all blocks that was meant for the one before it."""
    outside = is_top_level(trouble) and trouble.first == trouble.at
    return outside and before(trouble).text == "}" and column(trouble, trouble.at) > 0


def _unexpected(trouble: Trouble) -> Slip:
    bad, previous = here(trouble), before(trouble)
    wanted = _expected_words(expected(trouble))
    message = f"{describe(bad)} does not fit here"
    if previous.text:
        message += f", after {describe(previous)}"
    place = bad if bad.text else previous
    help_ = _foreign(trouble) or (f"expected {wanted}" if wanted else "")
    if wanted == "`[`" and bad.is_word and not is_line_first(trouble, trouble.at):
        help_ = f"a list is needed here: write `[{bad.text}]`"
    elif previous.text == "secret":
        message, place = "after `secret` a party is missing", previous
        help_ = "say who must not learn it: `secret from [party]`"
    return slip(trouble, "unexpected", message, place, help=help_, intended=first_word(trouble))


def _foreign(trouble: Trouble) -> str:
    """What stands here in place of a line as other languages write it."""
    if trouble.at - trouble.first <= 1:
        help_ = _FOREIGN.get(token(trouble, trouble.first).text, "")
        if help_:
            return help_
    start = line_start(trouble, trouble.at - 1) if trouble.at else 0
    if fits(trouble, "[") and token(trouble, start).text == "import":
        return "an import lists its names: `import std.formats [int8]`"
    return ""


_FOREIGN = {
    "let": "a step is `y = operator(x)`, without `let`",
    "var": "a step is `y = operator(x)`, without `var`",
    "return": "a plan gives its results by `output y to client`",
    "for": "write `repeat layer in 0..<24 carrying [h] {`",
    "while": "nothing loops without a bound; write `repeat layer in 0..<24 carrying [h] {`",
    "if": "a plan has no branches; the operator `select` chooses entries",
    "def": "write `block name(x: int8[4]) -> (y) {`",
    "from": "write `import std.formats [int8]`",
}


def _expected_words(kinds: frozenset[str]) -> str:
    shown: list[str] = []
    if kinds >= _VALUE - {"not", "PLUSMINUS", "{"}:
        shown.append("a value")
        kinds = kinds - _VALUE
    elif kinds & {"PLUSMINUS", "TIMES"}:
        kinds = kinds - _GOES_ON
    for group, text in _GROUPS:
        if kinds >= group:
            shown.append(text)
            kinds = frozenset(kind for kind in kinds if not kind.isalpha() or kind.isupper()) - _NAMES
    shown += [text for kind, text in _SHOWN.items() if kind in kinds]
    literals = sorted(kinds - _SHOWN.keys() - {"QUANTITY", "PLUSMINUS", "TIMES", "COMPARE"})
    shown += [f"`{kind}`" for kind in sorted(literals, key=str.isidentifier)]
    if len(shown) > _MAX_SHOWN:
        shown = [*shown[:_MAX_SHOWN], "..."]
        return ", ".join(shown)
    return " or ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def too_deep(trouble: Trouble) -> Slip:
    message = f"this is nested more than {MAX_DEPTH} levels deep"
    help_ = "name parts of it in steps or constants of their own"
    return slip(trouble, "too_deep", message, before(trouble), help=help_, intended=first_word(trouble))
