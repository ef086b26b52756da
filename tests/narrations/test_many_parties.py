"""Complete enumeration runs once for all coalitions, and only where few statements are executed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pllm_lang.catalog.load import open_project
from pllm_lang.text.finding import Verdict
from pllm_lang.verify.narrations.check import check_component
from pllm_lang.verify.protocol import counting
from pllm_lang.verify.protocol.execute import execute

HEAD = """pllm 1
component many = "test/many" {
  kind: method
  version: "1"
  implements: square
  roles: [a, PARTIES]
  protocol (x: F[...s] from a) -> (y: F[...s] to a) {
    online {
      fresh r: F[...s] from a
      fresh q: F[...s] from a
      a: t0 = r * r + x * q
"""
TAIL = """      a: v = tLAST * q * 2
      a -> PARTIES: v
      a: y = x * x
    }
  }
}
"""


def executions(monkeypatch: pytest.MonkeyPatch, parties: int, lines: int) -> tuple[int, set[Verdict]]:
    """How often the text is executed to count views, and how the views came out."""
    names = ", ".join(f"p{k}" for k in range(parties))
    middle = "".join(f"      a: t{k} = t{k - 1} + x\n" for k in range(1, lines + 1))
    text = (HEAD + middle + TAIL).replace("PARTIES", names).replace("LAST", str(lines))
    path = str(Path("many.pllm").resolve())
    library = open_project([path], str(Path.cwd()), {path: text}).library
    key = next(key for key in library.keys("component") if key.endswith(".many"))
    component = library.component(key)
    assert component is not None
    runs: list[str] = []

    def counted(*args: object) -> object:
        runs.append("a run")
        return execute(*args)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(counting, "execute", counted)
    checked = check_component(key, component, library)
    return len(runs), {view.verdict for report in checked.reports for view in report.views}


def test_a_view_is_counted_once_for_all_coalitions(monkeypatch: pytest.MonkeyPatch) -> None:
    counting._executed.cache_clear()  # pyright: ignore[reportPrivateUsage]
    alone, verdicts = executions(monkeypatch, 1, 3)
    assert alone > 1_000
    assert Verdict.UNPROVED in verdicts
    counting._executed.cache_clear()  # pyright: ignore[reportPrivateUsage]
    assert executions(monkeypatch, 6, 3)[0] <= 1.1 * alone


def test_a_long_text_is_counted_only_at_small_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    counting._executed.cache_clear()  # pyright: ignore[reportPrivateUsage]
    runs, verdicts = executions(monkeypatch, 6, 140)
    assert 140 * runs <= 2 * counting.MAX_STATEMENTS
    assert Verdict.UNPROVED in verdicts
