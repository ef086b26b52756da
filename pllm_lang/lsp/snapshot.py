"""What is known of one open document at one moment: its tree, the project around it, and how its check came out.

Data, and the interface of the one who makes it: the command line hands its own checker to the server (`cli/editing.py`),
so an editor shows what `pllm check` says, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:  # the server is ready before the verifier is loaded
    from pllm_lang.catalog.library import Library
    from pllm_lang.resolve.modules import Module, Project
    from pllm_lang.syntax.parse import Parsed
    from pllm_lang.text.finding import Finding
    from pllm_lang.text.source import Source
    from pllm_lang.verify.check import PlanReport


class StaleError(Exception):
    """The text has changed, so nobody waits for this check any more."""


class Asked(msgspec.Struct, frozen=True):
    """The document at `path`, with `text` as it is now (`real`: without the blanks of an edited buffer).

    `buffers` are the texts of all open documents by path. `tick` is called now and then and raises StaleError. `tell` is
    called with the document once it is opened, before it is checked.
    """

    path: str
    text: str
    real: str
    buffers: Mapping[str, str]
    tick: Callable[[], None]
    tell: Callable[[Opened], object] = lambda _: None


class Opened(msgspec.Struct, frozen=True):
    """The document parsed and its project loaded. `module` is None where the text is none that can be read."""

    path: str
    root: str
    parsed: Parsed
    project: Project
    library: Library
    findings: tuple[Finding, ...]
    module: Module | None

    @property
    def source(self) -> Source:
        return self.parsed.source


class Snapshot(msgspec.Struct, frozen=True):
    """`findings` are those of `pllm check`, in its order; `read` every file that they depend on; `problem` is said once
    to the user and concerns the configuration."""

    opened: Opened
    findings: tuple[Finding, ...]
    reports: tuple[PlanReport, ...]
    read: tuple[str, ...]
    problem: str = ""


class Checker(Protocol):
    """Opens and checks documents, and remembers of each what makes the next time cheap."""

    def opened(self, asked: Asked) -> Opened: ...

    def checked(self, asked: Asked) -> Snapshot: ...

    def fixes(self, asked: Asked, snapshot: Snapshot, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        """The findings with what would mend them, each tried on the text."""
        ...

    def trial(self, asked: Asked, texts: Mapping[str, str]) -> Snapshot:
        """The check of a document as it would be with other texts of files, told by path."""
        ...

    def files(self, root: str) -> tuple[str, ...]:
        """The plan files of a project."""
        ...

    def root_of(self, path: str) -> str:
        """The folder of the project that a file belongs to."""
        ...

    def cost(self, snapshot: Snapshot, name: str) -> str:
        """What a plan costs, as text; "" where it cannot be said."""
        ...

    def forget(self, path: str) -> None: ...
