"""The entry point of `pllm` (and `pllm-lang`): answers unchanged files from the cache, else runs the command.

Imports inside functions are deliberate here and in `commands/`: a command loads only what it needs, and the
cached path of `check` loads neither click nor msgspec.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line; never returns."""
    _open_what_is_closed()
    from pllm_lang.cli.replay import replayed

    code = replayed(sys.argv[1:])
    if code is None:
        from pllm_lang.cli.app import run

        code = run()
    try:
        sys.stdout.flush()
    except OSError as problem:
        if not isinstance(problem, BrokenPipeError):
            print(f"the answer could not be written: {problem.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = code or 2
    sys.exit(code)


def _open_what_is_closed() -> None:
    """A caller may have closed the standard streams; what would be written there goes nowhere, and into no file opened later."""
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] - it is None where the caller closed it
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for the whole process
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115


if __name__ == "__main__":
    main()
