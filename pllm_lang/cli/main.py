"""The entry point of `pllm` (and `pllm-lang`): answers unchanged files from the cache, else runs the command.

Imports inside functions are deliberate here and in `commands/`: a command loads only what it needs, and the
cached path of `check` loads neither click nor msgspec.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; never returns."""
    from pllm_lang.cli.replay import replayed

    code = replayed(sys.argv[1:])
    if code is None:
        from pllm_lang.cli.app import run

        code = run()
    sys.stdout.flush()
    sys.exit(code)


if __name__ == "__main__":
    main()
