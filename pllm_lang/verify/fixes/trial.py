"""Fixes tried before they are offered: applied to the text, checked again, kept where they do what they say.

In: findings with proposed fixes, the texts of the files that may change, and a way to check again. Out: the findings with the
fixes that hold: the finding is gone and no error was added. A fix stays safe only where everything else that was found is found
again as it was. What a syntax error hid was never judged, so mending one is measured by syntax alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from pllm_lang.text.edits import apply_edits, in_line_ends, in_order, moved
from pllm_lang.text.finding import Edit, Finding, Fix, Severity

Check = Callable[[dict[str, str]], Iterable[Finding]]
"""The findings of the same call with these texts in place of the files."""

MAX_TRIALS = 24
"""Checks that one call of `tried` makes; later proposals are dropped, and come again once earlier ones are done."""

MAX_TOGETHER = 500
"""Safe fixes that are tried in one check."""

Place = tuple[str, str, int]


def tried(
    findings: Sequence[Finding],
    texts: Mapping[str, str],
    check: Check,
    before: Sequence[Finding] | None = None,
    most: int = MAX_TRIALS,
) -> tuple[Finding, ...]:
    """The findings, each with its fixes that hold. `before` are all findings of the texts, where `findings` are not all."""
    everything = findings if before is None else before
    known: dict[Fix, Fix | None] = {**together(findings, texts, check, everything)}
    most += len(known)
    done: list[Finding] = []
    for finding in findings:
        kept: list[Fix] = []
        for fix in finding.fixes:
            if fix.title in {other.title for other in kept}:
                continue
            if fix not in known and len(known) < most:
                known[fix] = judged(finding, fix, findings, texts, check, everything)
            held = known.get(fix)
            if held is not None:
                kept.append(held)
        done.append(msgspec.structs.replace(finding, fixes=tuple(kept)) if finding.fixes else finding)
    return tuple(done)


def together(
    findings: Sequence[Finding], texts: Mapping[str, str], check: Check, before: Sequence[Finding]
) -> dict[Fix, Fix]:
    """Safe fixes that do not touch each other, tried at once: all of them, or none where one does not hold."""
    chosen: dict[Fix, Finding] = {}
    edits: list[Edit] = []
    for finding in findings:
        for fix in finding.fixes:
            if len(chosen) >= MAX_TOGETHER:
                break
            if fix.safe and fix not in chosen and compatible([*edits, *fix.edits]):
                chosen[fix] = finding
                edits += fix.edits
    edits = spelt(edits, texts)
    changed = applied(edits, texts) if len(chosen) > 1 else None
    if changed is None:
        return {}
    after = tuple(check(changed))
    own = {identity(one) for one in findings if not chosen.keys().isdisjoint(one.fixes)}
    hold = all_hold(chosen.values(), edits, before, after)
    return {fix: fix for fix in chosen} if hold and changes_nothing_else(edits, before, after, own) else {}


def compatible(edits: Iterable[Edit]) -> bool:
    """Whether edits of one or several files can be made together."""
    by_file: dict[str, list[Edit]] = {}
    for edit in edits:
        by_file.setdefault(edit.span.file, []).append(edit)
    return all(in_order(own) is not None for own in by_file.values())


def work_of(texts: Iterable[str], obligations: int) -> int:
    """How much a check has to do, in obligations; reading some twenty characters costs what judging one does."""
    return 1 + obligations + sum(map(len, texts)) // 20


def judged(
    finding: Finding,
    fix: Fix,
    findings: Sequence[Finding],
    texts: Mapping[str, str],
    check: Check,
    before: Sequence[Finding],
) -> Fix | None:
    """The fix, safe or not as it turned out; None where it does not hold."""
    edits = spelt(fix.edits, texts)
    changed = applied(edits, texts)
    if changed is None:
        return None
    after = tuple(check(changed))
    if not all_hold((finding,), edits, before, after):
        return None
    alike = {identity(other) for other in findings if fix in other.fixes}
    safe = fix.safe and changes_nothing_else(edits, before, after, alike)
    return msgspec.structs.replace(fix, safe=safe)


def spelt(edits: Iterable[Edit], texts: Mapping[str, str]) -> list[Edit]:
    """The edits in the line ends of their files: where a place moves to depends on these."""
    by_file: dict[str, list[Edit]] = {}
    for edit in edits:
        by_file.setdefault(edit.span.file, []).append(edit)
    return [one for file, own in by_file.items() for one in in_line_ends(texts.get(file, ""), own)]


def applied(edits: Iterable[Edit], texts: Mapping[str, str]) -> dict[str, str] | None:
    """The texts that change, changed; None where an edit leaves the files at hand or edits overlap."""
    by_file: dict[str, list[Edit]] = {}
    for edit in edits:
        by_file.setdefault(edit.span.file, []).append(edit)
    changed: dict[str, str] = {}
    for file, own in by_file.items():
        text = apply_edits(texts[file], own) if file in texts else None
        if text is None or text == texts[file]:
            return None
        changed[file] = text
    return changed or None


def all_hold(
    findings: Iterable[Finding], edits: Sequence[Edit], before: Sequence[Finding], after: Sequence[Finding]
) -> bool:
    """The findings are gone, and no error is new."""
    asked, moved_to = list(findings), _mover(edits)
    was, now = Counter(map(moved_to, before)), Counter(map(_place, after))
    if not all(now[place] < was[place] for place in map(moved_to, asked)):
        return False
    named = {_only_imports(finding, edits) for finding in asked}
    return not any(_added_errors(moved_to, before, after, named=one) for one in named)


def _added_errors(
    moved_to: Callable[[Finding], Place],
    before: Sequence[Finding],
    after: Sequence[Finding],
    *,
    named: bool,
) -> Counter[Place]:
    """Errors of `after` that `before` does not have, by code and place; of those that a broken text hid, or an unknown name
    where the edits make it `named`, only the ones that are told before values are judged."""
    broken = any(_is_error(one) and one.code.startswith("syntax.") for one in before)
    told = _EARLY if named and not broken else ("syntax.",) if broken else ("",)
    new = Counter(_place(one) for one in after if _is_error(one) and one.code.startswith(told))
    return new - Counter(moved_to(one) for one in before if _is_error(one))


def changes_nothing_else(
    edits: Sequence[Edit],
    before: Sequence[Finding],
    after: Sequence[Finding],
    own: set[tuple[str, str, int, str]],
) -> bool:
    """All other findings are found again, with the severity and verdict that they had."""
    moved_to = _mover(edits)
    old = Counter((moved_to(one), one.severity, one.verdict) for one in before if identity(one) not in own)
    return old == Counter((_place(one), one.severity, one.verdict) for one in after)


_EARLY = ("syntax.", "names.", "modules.")


def _only_imports(finding: Finding, edits: Sequence[Edit]) -> bool:
    """Whether edits that end an unknown name leave everything else as it stands: a statement is added, or a name to one."""
    return finding.code == "names.unknown" and all(edit.span.start == edit.span.end for edit in edits)


def _is_error(finding: Finding) -> bool:
    return finding.severity is Severity.ERROR


def identity(finding: Finding) -> tuple[str, str, int, str]:
    return (*_place(finding), finding.message)


def _place(finding: Finding) -> Place:
    return finding.code, finding.span.file, finding.span.start


def _mover(edits: Sequence[Edit]) -> Callable[[Finding], Place]:
    """Where the place of a finding lies after the edits."""
    by_file: dict[str, list[Edit]] = {}
    for edit in edits:
        by_file.setdefault(edit.span.file, []).append(edit)
    ordered = {file: in_order(own) or [] for file, own in by_file.items()}

    def moved_to(finding: Finding) -> Place:
        span = finding.span
        return finding.code, span.file, moved(span.start, ordered.get(span.file, ()))

    return moved_to
