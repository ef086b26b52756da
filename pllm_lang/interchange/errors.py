"""The exceptions of the interchange package: what goes wrong when documents come in or go out.

In: nothing. Out: exception types, each with a stable `code` or `kind` and the subject it concerns. They
exist because reading somebody else's document is the one place where a caller hands us text that we do not
own; every fault of such text ends in one of these, never in a bare `KeyError` or `RecursionError`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

ConfigFault = Literal["document", "configuration", "unsupported", "graph", "argument"]


class InterchangeError(ValueError):
    """Something about a document is wrong; `code` is stable, `subject` names the place in the document."""

    def __init__(self, code: str, message: str, subject: str = "") -> None:
        super().__init__(f"{code}: {message}" + (f" [{subject}]" if subject else ""))
        self.code = code
        self.message = message
        self.subject = subject


class DocumentError(InterchangeError):
    """The bytes or text are no JSON or YAML value that the SDK's readers would take."""


class ExperimentError(InterchangeError):
    """The value is no `pllm.experiment.v2` document; `subject` is the path of the offending entry."""


class ComponentError(InterchangeError):
    """A component id or a component parameter is wrong; `subject` is `component.parameter`."""


class PassError(InterchangeError):
    """A pass cannot be applied to this decoder plan."""


class ConfigRefused(InterchangeError):
    """The format has no plan for this model configuration or workload.

    `kind` says which reason: `document` (not JSON, or a field of the wrong type or missing),
    `configuration` (values that contradict each other), `unsupported` (a model the format cannot say),
    `graph` (the lowered graph would be malformed), `argument` (a Python argument of the wrong type). `keys`
    are the configuration keys.
    """

    def __init__(self, kind: ConfigFault, message: str, keys: tuple[str, ...] = ()) -> None:
        super().__init__(f"config.{kind}", message, ", ".join(keys))
        self.kind: ConfigFault = kind
        self.keys = keys


class NotFaithful(InterchangeError):
    """The format would say something else than the configuration; `reasons` maps each key to why."""

    def __init__(self, reasons: dict[str, str]) -> None:
        lines = "; ".join(f"{key}: {why}" for key, why in reasons.items())
        super().__init__("export.not_faithful", f"{lines}. Pass lossy=True to export it nevertheless")
        self.reasons = reasons
        self.keys = tuple(reasons)


class ExportRefused(InterchangeError):
    """Something declared has no document of the SDK at all; `subject` is the path of its field."""

    def __init__(self, message: str, subject: str) -> None:
        super().__init__("export.refused", message, subject)


class NotSaid(InterchangeError):
    """A sound document that `.pllm` text cannot say; `subject` is the path in the document."""

    def __init__(self, message: str, subject: str) -> None:
        super().__init__("import.not_said", message, subject)


class Diagnostic(msgspec.Struct, frozen=True, order=True):
    """One reason why a compile request was refused, ordered as the SDK orders them."""

    code: str
    subject_id: str
    message: str


class CompilationError(ValueError):
    """A compile request was refused; `diagnostics` holds every reason found, sorted."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("\n".join(f"{d.code} {d.subject_id}: {d.message}" for d in diagnostics))
        self.diagnostics = diagnostics
