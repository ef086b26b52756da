"""An obligation and how it ended: what must hold, at which step, with the evidence or the reason it is missing.

Data only. Rules produce obligations; `verify/report.py` turns the ones that are not proved into findings.
`assumed` names what a proof rests on (a calibrated range, the security of a primitive).
"""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.expr import NOWHERE, Origin
from pllm_lang.text.finding import Verdict


class Obligation(msgspec.Struct, frozen=True, omit_defaults=True):
    """`code` is the rule; `subject` the value that it is about (-1: the plan) and `part` which part of its step.

    `value`, `limit` and `needs` are exact numbers as text, `term` the expression that decides, `clause` the line of
    the record that asks. `amount`, an exact number, orders obligations of one place: the largest speaks for all
    (layers). `evidence` says how it was proved, for the certificate.
    """

    code: str
    verdict: Verdict
    subject: int
    message: str = ""
    part: str = "step"
    value: str = ""
    limit: str = ""
    term: str = ""
    needs: str = ""
    clause: Origin = NOWHERE
    reason: str = ""
    witness: tuple[str, ...] = ()
    help: str = ""
    notes: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    count: int = 1


class NotAsked(msgspec.Struct, frozen=True):
    """A family of obligations that the checked thing gives no data for, and what would ask it."""

    family: str
    why: str
