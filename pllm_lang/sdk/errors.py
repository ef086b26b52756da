"""What the Python interface raises for a component, model source or experiment that cannot be.

In: a fault of the readers of documents, which check every value. Out: one exception type with a sentence
about the argument.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from pllm_lang.interchange.errors import InterchangeError

WHOLE_SENTENCES = frozenset({"component.unknown", "component.missing"})
"""Codes whose message names its subject itself."""


class ConfigurationError(ValueError):
    """An argument is wrong. `code` is stable, `subject` names the place: `threads`, `budget.requests`."""

    def __init__(self, code: str, message: str, subject: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.subject = subject


@contextmanager
def configuration_errors() -> Generator[None]:
    """Turns what readers of documents raise into `ConfigurationError`."""
    try:
        yield
    except InterchangeError as fault:
        subject = _argument(fault)
        whole = not subject or fault.code in WHOLE_SENTENCES
        text = fault.message if whole else f"{subject} {fault.message}"
        raise ConfigurationError(fault.code, text, subject) from None


def _argument(fault: InterchangeError) -> str:
    """The subject without the id of the component, whose class the caller named."""
    return fault.subject.partition(".")[2] if fault.code.startswith("component.") else fault.subject
