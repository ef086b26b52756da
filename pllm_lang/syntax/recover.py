"""After a mistake: where the parse goes on, so that one slip costs one message.

In: a `Trouble` and the machine's stack. Out: the index of the token at which to go on, the stack cut to
fit. A broken line is dropped; if it was the head of a block, a head of that kind is put in its place, so
that the block's body is still read. A declaration at the left margin closes the blocks that were left open
before it.
"""

from __future__ import annotations

from pllm_lang.syntax.machine import Lexeme, Stack, run
from pllm_lang.syntax.table import BEGIN
from pllm_lang.syntax.trouble import (
    Trouble,
    begins_line,
    column,
    fits,
    is_line_first,
    is_top_level,
    line_end,
    line_start,
    shift,
    token,
)

# The smallest head of each kind of block.
_HEADS = {
    "plan": "plan x",
    "block": "block x ( ) -> ( x )",
    "repeat": "repeat x in x",
    "stage": "stage x",
    "policy": "policy x",
    "operator": "operator x ( ) -> ( )",
    "component": 'component x = ""',
    "format": "format x = x",
    "protocol": "protocol ( ) -> ( )",
    "offline": "offline",
    "online": "online",
    "params": "params",
}
_RECORDS = (
    *(
        "holding",
        "primitive",
        "kernel",
        "assurance",
        "pipeline",
        "suite",
        "experiment",
        "target",
        "deployment",
    ),
    *("stock", "sweep"),
)
# How far behind the beginning of its line a trouble still tells that the line stands at a wrong place.
_NEAR = 2
HEADS = _HEADS | {kind: f"{kind} x" for kind in _RECORDS}
DECLARATIONS = frozenset(
    [*_RECORDS, "import", "const", "format", "operator", "component", "policy", "model", "plan", "block"]
)


def recover(trouble: Trouble, stack: Stack, intended: str) -> int:
    """`intended` is the word that the broken line should have begun with."""
    is_head = intended in HEADS
    if is_head and is_line_first(trouble, trouble.at) and fits(trouble, "{"):
        _feed(trouble, stack, "{")
        return trouble.at
    margin = _margin(trouble)
    _drop_line(trouble, stack)
    start = line_start(trouble, trouble.at)
    if is_margin_declaration(trouble, start) and _close_blocks(trouble, stack, start):
        return start
    if (missing := missing_closers(trouble)) > 0:
        _feed(trouble, stack, "} " * missing)
        return start
    if is_head and _fits_head(trouble, intended):
        brace = _find_brace(trouble, margin)
        if brace is not None:
            _feed(trouble, stack, HEADS[intended])
            return brace
        body = _find_body(trouble, margin)
        if body is not None:
            _feed(trouble, stack, HEADS[intended] + " {")
            return body
    if start < trouble.first and _reads_on(trouble, stack, start):
        return start
    # Declarations begin at the left margin: what is further in was meant for a block that ended too soon.
    return _next_line(trouble, stack, 0 if is_top_level(trouble) else margin)


def _reads_on(trouble: Trouble, stack: Stack, start: int) -> bool:
    """Whether the text from here through the trouble is the beginning of a line.

    Its first words were taken for the end of the line before, which lacks a value.
    """
    kinds = [token(trouble, index).kind for index in range(start, trouble.at + 1)]
    return fits(trouble, *kinds, states=tuple(stack.states))


def _drop_line(trouble: Trouble, stack: Stack) -> None:
    """Take the broken line off the stack; a line that is whole stays."""
    if not trouble.whole:
        stack.cut(trouble.level)
        return
    _feed(trouble, stack, line_end(trouble) or "import")
    stack.cut(len(stack.states) - 1)


def missing_closers(trouble: Trouble) -> int:
    """How many blocks should have ended before this line, by its margin, so that it can be read."""
    start = line_start(trouble, trouble.at)
    if trouble.first < start or trouble.at > start + _NEAR:
        return 0
    kinds = [token(trouble, index).kind for index in range(start, trouble.at + 1)]
    states = list(trouble.states[: trouble.level])
    closer = trouble.machine.table.literals["}"]
    for count, brace in enumerate(reversed(open_braces(trouble, start)), 1):
        outdented = column(trouble, start) <= column(trouble, line_start(trouble, brace))
        if not outdented or not shift(trouble.machine, states, closer):
            return 0
        if fits(trouble, *kinds, states=tuple(states)):
            return count
    return 0


def open_braces(trouble: Trouble, limit: int) -> list[int]:
    """The indexes of the `{` before a token that are not closed before it, the outermost first."""
    opened: list[int] = []
    for index in range(limit):
        text = trouble.tokens[index][2]
        if text == "{":
            opened.append(index)
        elif text == "}" and opened:
            opened.pop()
    return opened


def is_margin_declaration(trouble: Trouble, index: int) -> bool:
    """Whether a declaration begins here, at the left margin: no line of a body does in a laid-out text."""
    text = trouble.tokens[index][2]
    if text not in DECLARATIONS or column(trouble, index) > 0 or not is_line_first(trouble, index):
        return False
    following = token(trouble, index + 1)
    return following.is_word or (text == "import" and following.kind == "STRING")


def _margin(trouble: Trouble) -> int:
    """The column at which the broken line's own line begins."""
    return column(trouble, line_start(trouble, trouble.first))


def _feed(trouble: Trouble, stack: Stack, text: str) -> None:
    """Run the machine over words that are not in the text; `x` is a name, `""` a string."""
    names = trouble.machine.table.terminals
    end = max(stack.end, trouble.tokens[trouble.first][1])
    tokens: list[Lexeme] = [(names.index(_kind(word)), end, word) for word in text.split()]
    run(trouble.machine, stack, tokens, 0, {})


def _kind(word: str) -> str:
    return {"x": "NAME", '""': "STRING"}.get(word, word)


def _fits_head(trouble: Trouble, word: str) -> bool:
    head = [_kind(part) for part in HEADS[word].split()]
    states = trouble.states[: trouble.level]
    return trouble.machine.table.actions[states[-1]].get(
        trouble.machine.table.literals[word], 0
    ) >= BEGIN and fits(trouble, *head, "{", states=states)


def _find_brace(trouble: Trouble, margin: int) -> int | None:
    """The `{` that opens the body whose head is broken: on its line, or on a later one inside its parentheses."""
    depth = 0
    for index in range(trouble.first, len(trouble.tokens) - 1):
        text = trouble.tokens[index][2]
        is_new = index > trouble.at and is_line_first(trouble, index)
        if is_new and (depth <= 0 or column(trouble, index) <= margin):
            return None
        if text == "{" and index >= trouble.at and not _is_list_of_names(trouble, index):
            return index
        depth += (text in ("(", "[")) - (text in (")", "]"))
    return None


def _find_body(trouble: Trouble, margin: int) -> int | None:
    """The first line of a body whose `{` is missing: the next line, further in than the head."""
    for index in range(trouble.at + 1, len(trouble.tokens) - 1):
        if is_line_first(trouble, index):
            return index if column(trouble, index) > margin else None
    return None


def _is_list_of_names(trouble: Trouble, index: int) -> bool:
    """Whether a `{` begins the type variables of an operator or a block."""
    return token(trouble, index + 1).is_word and token(trouble, index + 2).text in (",", "}")


def _next_line(trouble: Trouble, stack: Stack, margin: int) -> int:
    """The next line, at most as far in as the broken one; or the end of the block that it stands in."""
    depth = 0
    earliest = max(trouble.first + 1, line_start(trouble, trouble.at))
    closable = fits(trouble, "}", states=tuple(stack.states))
    for index in range(trouble.first, len(trouble.tokens) - 1):
        text = trouble.tokens[index][2]
        if index >= earliest:
            if is_line_first(trouble, index):
                if _resumes(trouble, stack, index, margin, depth):
                    return index
                if text == "}" and closable and (depth <= 0 or column(trouble, index) < margin):
                    return index
            elif text == "}" and closable and depth <= 0 and _opens_on_line_of(trouble, index):
                return index
        depth += (text == "{") - (text == "}" and depth > 0)
    return give_up(trouble, stack)


def _opens_on_line_of(trouble: Trouble, index: int) -> bool:
    """Whether the block around the broken line opens on the line of this token: a `}` inside a line closes only it."""
    depth = 0
    for other in range(trouble.first - 1, line_start(trouble, index) - 1, -1):
        text = trouble.tokens[other][2]
        depth += (text == "}") - (text == "{")
        if depth < 0:
            return True
    return False


def _resumes(trouble: Trouble, stack: Stack, index: int, margin: int, depth: int) -> bool:
    """Whether the parse can go on at the first token of a line."""
    if is_margin_declaration(trouble, index) and _close_blocks(trouble, stack, index):
        return True
    if column(trouble, index) > margin:
        return depth <= 0 and _begins_by_keyword(trouble, stack, index)
    return _begins_line(trouble, stack, index) or (depth <= 0 and _is_new_line(trouble.tokens[index][2]))


def _is_new_line(text: str) -> bool:
    """Whether a text at the margin is a line of its own, right or wrong, rather than the rest of one."""
    return text[:-1].isidentifier() or text.isidentifier() or text == "/"


def skip_declaration(trouble: Trouble, stack: Stack) -> int:
    """Drop the whole declaration, and go on at the next one at the left margin."""
    begins, kind = trouble.machine.table.actions, trouble.machine.table.literals["import"]
    level = 1
    while level < len(stack.states) and begins[stack.states[level]].get(kind, 0) >= BEGIN:
        level += 1
    stack.cut(level)
    for index in range(trouble.at, len(trouble.tokens) - 1):
        if is_margin_declaration(trouble, index):
            return index
    return len(trouble.tokens) - 1


def give_up(trouble: Trouble, stack: Stack) -> int:
    """Go on at the end of the file, with all blocks closed."""
    if len(stack.states) > trouble.level and not trouble.whole:
        stack.cut(trouble.level)
    while fits(trouble, "}", states=tuple(stack.states)):
        _feed(trouble, stack, "}")
    return len(trouble.tokens) - 1


def _close_blocks(trouble: Trouble, stack: Stack, index: int) -> bool:
    """Close the open blocks until the declaration can begin; False where none is open."""
    if _begins_hard(trouble, stack, index):
        return index > trouble.first
    while not _begins_hard(trouble, stack, index):
        if not fits(trouble, "}", states=tuple(stack.states)):
            return False
        _feed(trouble, stack, "}")
    return True


def _begins_line(trouble: Trouble, stack: Stack, index: int) -> bool:
    return trouble.machine.rows[stack.states[-1]].get(trouble.tokens[index][0], 0) >= BEGIN


def _begins_by_keyword(trouble: Trouble, stack: Stack, index: int) -> bool:
    """Whether a keyword begins a line here, with what follows it: that is a new line at any margin."""
    states = tuple(stack.states)
    kinds = [token(trouble, index).kind, token(trouble, index + 1).kind]
    return kinds[0].islower() and _begins_hard(trouble, stack, index) and fits(trouble, *kinds, states=states)


def _begins_hard(trouble: Trouble, stack: Stack, index: int) -> bool:
    """As a keyword, not as a soft one."""
    return begins_line(trouble.machine, stack.states, trouble.tokens[index][0])
