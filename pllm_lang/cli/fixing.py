"""`pllm check --fix`: fixes applied until none is left, to the files of the call and to no other.

Fixes are applied together where they do not touch each other and hold together, else one after another. Each is checked before
it is kept: its finding is gone, no error was added, and a safe one changed nothing else; what does not hold is left alone.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from math import inf
from time import process_time

import msgspec

from pllm_lang.cli.answer import Found, chosen_of, found_in, work_in
from pllm_lang.cli.call import Call, Wanted
from pllm_lang.text.finding import Edit, Finding, Fix
from pllm_lang.text.order import arrange
from pllm_lang.text.visible import visible
from pllm_lang.verify.fixes.registry import MAX_PROPOSED, propose
from pllm_lang.verify.fixes.trial import all_hold, applied, changes_nothing_else, compatible, identity, spelt

MAX_CHECKS = 2_000
MAX_WORK = 400_000
"""Checks of one call of `--fix`, and obligations checked in them; then it stops, and what is left is found as before."""

MAX_SECONDS = 30
"""Processor time after which no further fix is tried. A text that no person wrote may need longer; the same call again goes on."""

MAX_ROUNDS = 8
"""How often fixes that did not hold are tried once more, because others were applied since."""


class Change(msgspec.Struct, frozen=True):
    """A file whose text changes."""

    path: str
    old: str
    new: str


class Fixed(msgspec.Struct, frozen=True):
    """`titles` of the fixes that were applied, in order; `call` is the call with the changed texts as buffers. `stopped` where a
    limit ended it, so that the same call may find more to fix."""

    changes: tuple[Change, ...]
    titles: tuple[str, ...]
    call: Call
    stopped: bool = False


class _State(msgspec.Struct):
    """`texts` of the files that may change, as they are now; `refused` are fixes that did not hold, `spent` findings for which
    none is left. `moved` says whether a fix was applied in this round; `until` is the processor time at which it ends."""

    call: Call
    wanted: Wanted
    unsafe: bool
    texts: dict[str, str]
    found: Found
    titles: list[str] = []
    refused: set[tuple[str, str, str, str]] = set()
    spent: set[tuple[str, str, int, str]] = set()
    checks: int = 1
    apart: bool = False
    moved: bool = False
    rounds: int = 1
    until: float = inf

    def may_go_on(self, most: int) -> bool:
        return self.checks <= most and process_time() < self.until

    def begin_again(self) -> bool:
        """Another round, in which what was refused is tried once more; False where nothing has changed since."""
        if not self.moved or self.rounds >= MAX_ROUNDS:
            return False
        self.rounds += 1
        self.moved = self.apart = False
        self.refused.clear()
        self.spent.clear()
        return True


def fix_call(call: Call, wanted: Wanted, unsafe: bool) -> Fixed:
    """Fix the named files of a call in memory, until nothing more holds or a limit is reached."""
    until = process_time() + MAX_SECONDS
    found = found_in(call)
    sources = found.checked.sources
    texts = {name: sources[name].text for name in call.named if name in sources}
    state = _State(call, wanted, unsafe, dict(texts), found, until=until)
    most = min(MAX_CHECKS, MAX_WORK // work_in(found))
    done = False
    while not done and state.may_go_on(most):
        fixable = list(_fixable(state))
        fixed = _fix_together(state, fixable) or _fix_one(state, fixable, most)
        done = not (fixed or state.begin_again()) and state.may_go_on(most)
    changes = [
        Change(path, old, state.texts[path]) for path, old in texts.items() if state.texts[path] != old
    ]
    buffers = {**call.buffers, **{change.path: change.new for change in changes}}
    after = msgspec.structs.replace(call, buffers=buffers)
    return Fixed(tuple(changes), tuple(state.titles), after, stopped=not done)


def _fixable(state: _State) -> Iterator[tuple[Finding, Fix]]:
    opened = state.found.checked.opened
    for finding in propose(_window(state), opened.project, opened.library):
        for fix in finding.fixes:
            if (fix.safe or state.unsafe) and _key(finding, fix) not in state.refused:
                yield finding, fix


def _window(state: _State) -> list[Finding]:
    """The next findings that fixes are sought for."""
    chosen = arrange(chosen_of(state.call, state.found.kept, state.wanted))
    return [finding for finding in chosen if identity(finding) not in state.spent][:MAX_PROPOSED]


def _key(finding: Finding, fix: Fix) -> tuple[str, str, str, str]:
    """What a fix is known by while other fixes move its place; the same fix of another value is another one."""
    return finding.code, finding.message, finding.subject, fix.title


def _fix_together(state: _State, fixable: list[tuple[Finding, Fix]]) -> bool:
    """Fixes that do not touch each other at once: the first of every finding, else the safe ones. False where there are none,
    or they do not hold together; the first that fails is the last that is tried with unsafe ones."""
    if state.unsafe and not state.apart:
        firsts = {identity(finding): (finding, fix) for finding, fix in reversed(fixable)}
        if _try_some(state, fixable, list(reversed(firsts.values()))):
            return True
        state.apart = True
    return _try_some(state, fixable, [(finding, fix) for finding, fix in fixable if fix.safe])


def _try_some(
    state: _State, fixable: list[tuple[Finding, Fix]], pairs: Sequence[tuple[Finding, Fix]]
) -> bool:
    chosen: list[tuple[Finding, Fix]] = []
    edits: list[Edit] = []
    for finding, fix in pairs:
        if compatible([*edits, *fix.edits]):
            chosen.append((finding, fix))
            edits += fix.edits
    if len(chosen) < 2 or not _try(state, fixable, chosen, tuple(edits)):
        return False
    state.titles += list(dict.fromkeys(fix.title for _, fix in chosen))
    return True


def _fix_one(state: _State, fixable: list[tuple[Finding, Fix]], most: int) -> bool:
    """One fix; where none of the window holds, on to the findings behind it. False where there are none."""
    window = _window(state)
    for finding, fix in fixable:
        if not state.may_go_on(most):
            return False
        if _try(state, fixable, [(finding, fix)], fix.edits):
            state.titles.append(fix.title)
            return True
        state.refused.add(_key(finding, fix))
    state.spent |= {identity(finding) for finding in window}
    return bool(window)


def _try(
    state: _State,
    fixable: Sequence[tuple[Finding, Fix]],
    pairs: Sequence[tuple[Finding, Fix]],
    edits: tuple[Edit, ...],
) -> bool:
    """Take the edits over where all of their fixes hold; safe ones must change nothing else, unless unsafe ones are asked for."""
    edits = tuple(spelt(edits, state.texts))
    changed = applied(edits, state.texts)
    if changed is None:
        return False
    state.checks += 1
    texts = state.texts | changed
    after, before = found_in(state.call, texts), state.found.kept
    if not all_hold((finding for finding, _ in pairs), edits, before, after.kept):
        return False
    fixes = {fix for _, fix in pairs}
    own = {identity(one) for one, fix in fixable if fix in fixes}
    if not state.unsafe and not changes_nothing_else(edits, before, after.kept, own):
        return False
    state.texts, state.found, state.moved = texts, after, True
    return True


def diff_text(change: Change) -> str:
    """The change as a unified diff; a last line without an end is marked as such."""
    lines = difflib.unified_diff(
        _lines(change.old),
        _lines(change.new),
        visible(change.path),
        f"{visible(change.path)} (fixed)",
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _lines(text: str) -> list[str]:
    """Split at line feeds only, as other programs do that read a diff."""
    *whole, rest = text.split("\n")
    return [f"{line}\n" for line in whole] + ([rest] if rest else [])
