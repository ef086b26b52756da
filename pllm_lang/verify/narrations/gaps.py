"""What building a plan's composition finds: things that no proof of views can be made from, with the step they are at."""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.expr import NOWHERE, Origin
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.obligation import Obligation


class Gaps(msgspec.Struct):
    """Obligations as they are found, each once for a step however often it is met."""

    found: dict[tuple[str, int, str, str], Obligation] = {}

    def add(self, obligation: Obligation) -> None:
        key = (obligation.code, obligation.subject, obligation.part, obligation.verdict.value)
        old = self.found.get(key)
        if old is None:
            self.found[key] = obligation
        else:
            self.found[key] = msgspec.structs.replace(old, count=old.count + obligation.count)

    def refuse(
        self, code: str, subject: int, message: str, help_: str, part: str = "step", clause: Origin = NOWHERE
    ) -> None:
        self.add(Obligation(code, Verdict.REFUTED, subject, message, part, clause=clause, help=help_))

    def leave(self, code: str, subject: int, message: str, help_: str, part: str = "step") -> None:
        self.add(Obligation(code, Verdict.UNPROVED, subject, message, part, help=help_))
