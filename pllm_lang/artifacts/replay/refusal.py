"""Replay: how a lock is refused."""

from __future__ import annotations

from collections.abc import Iterable


class ReplayError(Exception):
    """A lock that proves nothing: a code (`lock.*`: the file, `certificate.*`: the evidence), a sentence, a place."""

    def __init__(self, code: str, message: str, place: str = "") -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.code, self.message, self.place = code, message, place


def need(holds: object, code: str, message: str, place: str = "") -> None:
    if not holds:
        raise ReplayError(code, message, place)


def told(parties: Iterable[str]) -> str:
    return " and ".join(f"`{party}`" for party in sorted(parties)) or "nobody"
