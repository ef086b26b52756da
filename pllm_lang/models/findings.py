"""What lowering says of a config, as findings: refusals and notes, with the config's key.

In: the errors and notes of lowering, and where to show them. Out: findings. A refused config is an error without a
verdict of its own; what only the plan text cannot say is unproved, because the config itself may be right.
"""

from __future__ import annotations

import json

from pllm_lang.models.errors import LoweringError, Note
from pllm_lang.text.finding import Finding, Severity, Span, Verdict

CONFIG_REFUSED = "models.config_refused"
CONFIG_NOTE = "models.config_note"
NOT_SUPPORTED = "models.not_supported"
PASS_REFUSED = "models.pass_refused"


def refusal(error: LoweringError, config: str, place: Span) -> Finding:
    """`config` is how the config's file is called; `place` what the finding points at."""
    message = str(error).removesuffix(f" ({error.help})") if error.help else str(error)
    data = {"config": config, "key": error.key, "reason": error.code}
    data = {name: value for name, value in data.items() if value}
    if error.code.startswith("text."):
        message = f"the model of `{config}` cannot be written as a plan yet: {message}"
        return Finding(NOT_SUPPORTED, message, place, verdict=Verdict.UNPROVED, help=error.help, data=data)
    if error.code.startswith("pass."):
        message = f"a pass over the model of `{config}` is refused: {message}"
        return Finding(PASS_REFUSED, message, place, help=error.help, data=data)
    key = f", key `{error.key}`" if error.key and error.key not in message else ""
    return Finding(CONFIG_REFUSED, f"`{config}`{key}: {message}", place, help=error.help, data=data)


def note(found: Note, config: str, place: Span) -> Finding:
    severity = Severity.WARNING if found.severity == "warning" else Severity.NOTE
    data = {"config": config, "key": found.key, "reason": found.code}
    return Finding(CONFIG_NOTE, f"`{config}`: {found.message}", place, severity=severity, data=data)


def key_place(text: str, key: str, file: str) -> Span:
    """Where a dotted key stands in the text of a config; its beginning where it does not occur."""
    at, name = 0, ""
    for part in key.split(".") if key else ():
        name = json.dumps(part.partition("[")[0])
        at = text.find(name, at)
        if at < 0:
            return Span(file, 0, 0)
    return Span(file, at, at + len(name))
