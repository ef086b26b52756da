"""An obligation and how it ended: what must hold, at which step, with the evidence or the reason it is missing.

Data only. Rules produce obligations; `verify/report.py` turns the ones that are not proved into findings.
`assumed` names what a proof rests on (a calibrated range, the security of a primitive).
"""

from __future__ import annotations

import msgspec

from pllm_lang.text.finding import Verdict


class Obligation(msgspec.Struct, frozen=True, omit_defaults=True):
    """`code` is the rule; `subject` the value id or -1; `loop` the indices of enclosing repeats it was met at.

    `value`, `limit`, `needs` are exact numbers as strings; `term` the expression that decides; `evidence` how it was
    proved (rule used, inputs), for the certificate.
    """

    code: str
    verdict: Verdict
    subject: int
    part: str = "step"
    message: str = ""
    value: str = ""
    limit: str = ""
    term: str = ""
    needs: str = ""
    witness: tuple[str, ...] = ()
    help: str = ""
    assumed: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    count: int = 1


class NotAsked(msgspec.Struct, frozen=True):
    """A family of obligations that the checked thing gives no data for, and what would ask it."""

    family: str
    why: str
