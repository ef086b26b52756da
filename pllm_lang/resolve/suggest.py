"""The known name that was probably meant, as a help sentence."""

from __future__ import annotations

from collections.abc import Iterable

from pllm_lang.text.similar import closest

MAX_CANDIDATES = 5_000


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """A help sentence, "" where no candidate is like `name`."""
    known = sorted(set(candidates))[:MAX_CANDIDATES]
    same = (k for k in known if len(k) > 1 and k != name and k.lower() == name.lower())
    best = next(same, None) or closest(name, known)
    return f"did you mean `{best}`?" if best else ""
