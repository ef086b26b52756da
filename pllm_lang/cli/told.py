"""What `pllm check` has to tell, before it is written in a format."""

from __future__ import annotations

from typing import Literal

import msgspec

from pllm_lang.cli.checking import ProtocolReport
from pllm_lang.text.finding import Finding
from pllm_lang.text.source import Source
from pllm_lang.verify.check import PlanReport


class Hidden(msgspec.Struct, frozen=True):
    """A warning or note that is not shown: by a comment beside it, with its reason, or by the baseline."""

    finding: Finding
    by: Literal["comment", "baseline"]
    reason: str = ""


class Told(msgspec.Struct, frozen=True):
    """`findings` are those shown; `files` the files of the call."""

    findings: tuple[Finding, ...]
    hidden: tuple[Hidden, ...]
    sources: dict[str, Source]
    reports: tuple[PlanReport, ...]
    protocols: tuple[ProtocolReport, ...]
    files: tuple[str, ...]


def assumptions(report: PlanReport) -> tuple[str, ...]:
    """What the proofs of a plan rest on, each once."""
    return tuple(dict.fromkeys(told for obligation in report.obligations for told in obligation.assumed))
