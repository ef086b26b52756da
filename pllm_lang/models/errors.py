"""How lowering says no, and how it says "take note": stable codes, the key concerned, and a next step.

Codes start with `config.` (the document), `workload.` (the bounds asked for) or `pass.` (a pass that does not
apply). The command line turns both into findings.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from pllm_lang.models.limits import MAX_MESSAGE


class Note(msgspec.Struct, frozen=True):
    """Lowering went on, but the user should know. `key` is the config key concerned, dotted. A `warning` says
    that the graph may not be what the config's author meant; a `note` only says what was done."""

    code: str
    key: str
    message: str
    severity: Literal["warning", "note"] = "warning"


class LoweringError(ValueError):
    """A config, workload or pass that is refused. `code` is stable; `key` names what is at fault; `help` says
    what to do."""

    def __init__(self, code: str, message: str, *, key: str = "", help: str = "") -> None:
        super().__init__(shortened(message) + (f" ({help})" if help else ""))
        self.code = code
        self.key = key
        self.help = help


def shortened(message: str) -> str:
    """A message that quotes a hostile config is cut, not printed for pages."""
    return message if len(message) <= MAX_MESSAGE else message[: MAX_MESSAGE - 3] + "..."
