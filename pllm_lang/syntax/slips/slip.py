"""What a recogniser of a slip answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from pllm_lang.syntax.trouble import Token, Trouble
from pllm_lang.text.finding import Edit, Finding, Fix, Label, Severity, Span


class Slip(NamedTuple):
    """A finding, and the word that the broken line should have begun with where the slip hides it."""

    finding: Finding
    intended: str = ""


Recogniser: TypeAlias = Callable[[Trouble], Slip | None]


def span(trouble: Trouble, start: int, end: int) -> Span:
    return Span(trouble.source.name, start, end)


def label(trouble: Trouble, token: Token, text: str) -> Label:
    return Label(span(trouble, token.start, token.end), text)


def edit(trouble: Trouble, title: str, start: int, end: int, text: str) -> Fix:
    """A fix that replaces one stretch. Never `safe`: what was meant is a guess."""
    return Fix(title, (Edit(span(trouble, start, end), text),), safe=False)


def slip(
    trouble: Trouble,
    code: str,
    message: str,
    at: Token,
    *,
    help: str = "",
    labels: tuple[Label, ...] = (),
    fix: Fix | None = None,
    intended: str = "",
) -> Slip:
    finding = Finding(
        code=f"syntax.{code}",
        message=message,
        span=span(trouble, at.start, at.end),
        severity=Severity.ERROR,
        labels=labels,
        help=help,
        fixes=(fix,) if fix else (),
    )
    return Slip(finding, intended)
