"""Slips with words: a keyword misspelt, used as a name, or at a place where it has no meaning."""

from __future__ import annotations

from pllm_lang.syntax.recover import DECLARATIONS
from pllm_lang.syntax.slips.slip import Slip, edit, slip
from pllm_lang.syntax.trouble import (
    Trouble,
    after,
    before,
    begins_line,
    fits,
    here,
    is_line_first,
    keywords,
    token,
)
from pllm_lang.text.similar import closest

_PLAN = frozenset(["input", "weight", "state", "output", "repeat", "stage", "facts"])
_RECORD = frozenset(
    ["ensures", "means", "intermediate", "params", "protocol", "learns", "adversary", "parties", "forbids"]
)
_PHASE = frozenset(["fresh"])
_CLAUSES = frozenset(
    [
        "using",
        "assume",
        "from",
        "to",
        "public",
        "secret",
        "as",
        "where",
        "under",
        "tightens",
        "per",
        "shared",
        "via",
        "carrying",
        "else",
        "of",
        "by",
        "in",
    ]
)


def keyword_as_name(trouble: Trouble) -> Slip | None:
    """`output = f(x)`: the keyword begins the line, and what follows fits a name only."""
    previous, bad = before(trouble), here(trouble)
    if trouble.first != trouble.at - 1 or previous.text not in keywords(trouble):
        return None
    below = trouble.states[: trouble.level]
    if not fits(trouble, "NAME", bad.kind, states=below) or fits(
        trouble, previous.kind, bad.kind, states=below
    ):
        return None
    message = f"`{previous.text}` begins a statement here and cannot be a name"
    return slip(
        trouble, "keyword_as_name", message, previous, help=f"choose another name, `{previous.text}_` say"
    )


def misspelt_keyword(trouble: Trouble) -> Slip | None:
    """`wieght w: ...`, `polcy p {`, `x = f(a) usng m`."""
    for index in (trouble.at, trouble.at - 1):
        if index < 0 or (index < trouble.at and index != trouble.first):
            continue
        word = token(trouble, index)
        meant = _meant(trouble, index) if word.kind == "NAME" else None
        if meant:
            fix = edit(trouble, f"Write `{meant}`", word.start, word.end, meant)
            message = f"`{word.text}` is not a keyword"
            help_ = f"did you mean `{meant}`?"
            first = meant if index == trouble.first else ""
            return slip(trouble, "misspelt_keyword", message, word, help=help_, fix=fix, intended=first)
    return None


def _meant(trouble: Trouble, index: int) -> str | None:
    """The keyword that would have fitted where the word stands."""
    word, following = token(trouble, index), token(trouble, index + 1)
    below = trouble.states if index == trouble.at else trouble.states[: trouble.level]
    known = [text for text in keywords(trouble) if fits(trouble, text, states=below)]
    if not is_line_first(trouble, index):
        known += sorted(_CLAUSES)
    meant = closest(word.text, known)
    if meant is None or meant in _CLAUSES:
        return meant
    return meant if fits(trouble, meant, following.kind, states=below) else None


def misplaced_keyword(trouble: Trouble) -> Slip | None:
    """`input` in a record, `plan` inside a plan, `pllm 1` after the first declaration."""
    word = here(trouble) if trouble.first == trouble.at else token(trouble, trouble.first)
    if trouble.at - trouble.first > 1 or not (is_line_first(trouble, trouble.first)):
        return None
    below = list(trouble.states[: trouble.level])
    if begins_line(trouble.machine, below, trouble.tokens[trouble.first][0]):
        return None
    if word.text == "pllm":
        message, home = "the edition stands at the top of the file", "move `pllm 1` to the first line"
    elif word.text in DECLARATIONS and (after(trouble).is_word or here(trouble).is_word):
        message = f"a `{word.text}` cannot stand inside a block"
        home = "close the blocks before it, or move it to the top level of the file"
    elif word.text in _PLAN:
        message, home = (
            f"`{word.text}` has no meaning here",
            "it belongs into the body of a `plan` or a `block`",
        )
    elif word.text in _RECORD:
        message, home = f"`{word.text}` has no meaning here", "it belongs into the body of a record"
    elif word.text in _PHASE:
        message, home = f"`{word.text}` has no meaning here", "it belongs into a phase of a `protocol`"
    else:
        return None
    return slip(trouble, "misplaced", message, word, help=home, intended=word.text)


def bad_edition(trouble: Trouble) -> Slip | None:
    """`pllm "1"`, `pllm one`, `pllm` alone."""
    if before(trouble).text != "pllm" or trouble.at != 1:
        return None
    return slip(trouble, "bad_edition", "the edition is a number", before(trouble), help="write `pllm 1`")


def missing_name(trouble: Trouble) -> Slip | None:
    """`plan {`, `input : f32`."""
    bad, previous = here(trouble), before(trouble)
    if bad.is_word or (previous.text not in (previous.kind, ".")):
        return None
    if fits(trouble, "NAME", bad.kind):
        wanted = "a name"
    elif fits(trouble, "FIELD") and not fits(trouble, "NAME"):
        wanted = "a name with a `:`"
    else:
        return None
    if trouble.first == trouble.at:
        return None
    return slip(trouble, "missing_name", f"after `{previous.text}` {wanted} is missing", previous)
