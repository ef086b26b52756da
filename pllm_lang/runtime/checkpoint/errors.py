"""How a checkpoint is refused: a stable code, what is wrong, a next step."""

from __future__ import annotations


class CheckpointError(Exception):
    """`code` starts with `checkpoint.` or `calibration.`; `help` says what to do."""

    def __init__(self, code: str, message: str, help: str = "") -> None:
        super().__init__(message if len(message) <= MAX_MESSAGE else message[: MAX_MESSAGE - 3] + "...")
        self.code = code
        self.help = help


MAX_MESSAGE = 400
"""A message that quotes a hostile file is cut."""
