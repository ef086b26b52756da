"""Signal handlers, kept as they were while a library that installs its own is imported."""

import ctypes
import signal
from collections.abc import Generator
from contextlib import contextmanager

_ACTION_BYTES = 256  # more than any `struct sigaction`


@contextmanager
def kept_handlers() -> Generator[None]:
    """Restores the C handler of every signal at the end: those of Python, of faulthandler, of anyone."""
    libc = ctypes.CDLL(None)
    saved: dict[int, ctypes.Array[ctypes.c_char]] = {}
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        action = ctypes.create_string_buffer(_ACTION_BYTES)
        if libc.sigaction(int(number), None, action) == 0:
            saved[int(number)] = action
    try:
        yield
    finally:
        for number, action in saved.items():
            libc.sigaction(number, action, None)
