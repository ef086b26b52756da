"""Random protocols judged twice: by the prover, and by complete enumeration.

`python tests/protocol/judging.py 100000` is the long run; it prints the figures that `docs/soundness.md`
quotes.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[2]))

from pllm_lang.text.finding import Verdict
from pllm_lang.verify.protocol.compose import prove_composed_view
from pllm_lang.verify.protocol.inlining import Composition, inlined
from pllm_lang.verify.protocol.narration import narrate
from pllm_lang.verify.protocol.problem import CONDITIONS
from pllm_lang.verify.protocol.report import View
from pllm_lang.verify.protocol.sizes import Sizes
from pllm_lang.verify.protocol.views import prove_view
from tests.protocol.enumeration import Run, TooMany
from tests.protocol.generator import random_protocol
from tests.protocol.pairs import random_pair

LIMIT = 1 << 16
PAIR_SHARE = 5
"""One case in this many is a composition of two protocols."""


class Case:
    """One random case: what is so, and what the prover says."""

    def __init__(self, number: int, seed: int = 0) -> None:
        rng = Random(seed * 10**7 + number)
        self.pair: Composition | None = None
        while True:
            if number % PAIR_SHARE == 0:
                self.pair, self.coalition = random_pair(rng)
                self.protocol, self.copies = inlined(self.pair), 1
            else:
                self.protocol, self.coalition, self.copies = random_protocol(rng)
            try:
                self.run = Run(self.protocol, self.copies, LIMIT)
            except TooMany:
                continue
            break
        self.independent = self.run.independent(self.coalition)
        self.trivial = not self.run.meets_secret(self.coalition)

    def view(self, without: str = "", leaks: bool = False) -> View:
        conditions = CONDITIONS - {without}
        if self.pair is not None:
            return prove_composed_view(self.pair, self.coalition, (), conditions, leaks)
        return prove_view(narrate(self.protocol, Sizes()), self.coalition, (), conditions, leaks)


def figures(count: int, seed: int = 0, leaks_every: int = 0) -> Counter[str]:
    """Counts over `count` cases; with `leaks_every`, every so many unproved views are searched for leaks."""
    found: Counter[str] = Counter()
    for number in range(count):
        case = Case(number, seed)
        leaks = bool(leaks_every) and number % leaks_every == 0
        view = case.view(leaks=leaks)
        proved = view.verdict is Verdict.PROVED
        found["cases"] += 1
        found["pairs"] += case.pair is not None
        found["independent" if case.independent else "leaking"] += 1
        if case.independent and not case.trivial:
            found["non-trivial"] += 1
            found["non-trivial proved"] += proved
        found["wrongly accepted"] += proved and not case.independent
        found["wrongly refuted"] += view.verdict is Verdict.REFUTED and case.independent
        if leaks and not case.independent:
            found["leaks looked for"] += 1
            found["leaks shown"] += view.verdict is Verdict.REFUTED
    return found


if __name__ == "__main__":
    for name, value in figures(int(sys.argv[1]), int((sys.argv[2:] or ["1"])[0]), 11).items():
        print(f"{name}: {value}")
