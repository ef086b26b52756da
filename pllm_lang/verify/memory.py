"""What an editor keeps of the last check of a plan, so that the next one costs what has changed.

A verdict depends on the plan, on the names that messages use, on the library and on the policy; nothing is recalled
unless all of them are as they were. Steps are recalled one by one where only the plan has changed.
"""

from __future__ import annotations

import msgspec

from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Format, Policy
from pllm_lang.verify.flow import Flow, Judgements
from pllm_lang.verify.obligation import Obligation
from pllm_lang.verify.view import PlanView

MAX_STALE = 4
"""Judgements are kept until there are so many times more than the last walk met steps, and some."""

SOME = 2_000


MAX_CHECKS = 3
"""Checks that are remembered whole: that of the plan as it was last good is among them while a line of it is typed again."""


class Done(msgspec.Struct, frozen=True):
    """A check: of which plan, the walk over it, and what it came to."""

    view: PlanView
    flow: Flow
    obligations: tuple[Obligation, ...]


class Memory(msgspec.Struct):
    """`library` is compared by identity: who changes a record makes a new library."""

    library: Library | None = None
    policy: Policy | None = None
    formats: tuple[Format, ...] = ()
    judgements: Judgements = msgspec.field(default_factory=Judgements)
    done: list[Done] = []

    def recall(self, view: PlanView) -> tuple[Flow, tuple[Obligation, ...]] | None:
        """The walk and the obligations of an earlier check, if one was of the same; else what is stale is dropped."""
        if self.library is not view.library or self.policy != view.policy or not self._fits(view):
            self.forget(view)
            return None
        for index in reversed(range(len(self.done))):
            known = self.done[index]
            if known.view.plan == view.plan and known.view.value_names == view.value_names:
                self.done.append(self.done.pop(index))
                return known.flow, known.obligations
        return None

    def keep(self, view: PlanView, flow: Flow, obligations: tuple[Obligation, ...]) -> None:
        self.done = [*self.done[1 - MAX_CHECKS :], Done(view, flow, obligations)]
        if len(view.plan.formats) > len(self.formats):
            self.formats = view.plan.formats
        if len(self.judgements.judged) > MAX_STALE * len(flow.met) + SOME:
            self.judgements = Judgements(tick=self.judgements.tick)

    def _fits(self, view: PlanView) -> bool:
        """Whether the numbers of formats mean what they meant."""
        new, old = view.plan.formats, self.formats
        return new[: len(old)] == old[: len(new)]

    def forget(self, view: PlanView) -> None:
        """Keep nothing; what comes next is of this library and policy."""
        self.library, self.policy, self.formats = view.library, view.policy, view.plan.formats
        self.judgements = Judgements(tick=self.judgements.tick)
        self.done = []
