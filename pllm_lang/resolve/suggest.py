"""The known name that was probably meant, as a help sentence."""

from __future__ import annotations

from collections.abc import Iterable

from pllm_lang.text.similar import closest

MAX_CANDIDATES = 5_000


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """A help sentence, "" where no candidate is like `name`."""
    known = sorted(set(candidates))[:MAX_CANDIDATES]
    best = next((k for k in known if k.lower() == name.lower()), None) or closest(name, known)
    return f"did you mean `{best}`?" if best else ""
