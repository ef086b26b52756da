"""`pllm` as a process of its own, with a cache of its own."""

import os
import subprocess
import sys
from pathlib import Path


def pllm(
    folder: Path, *arguments: str, stdin: str | bytes = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `pllm ARGUMENTS` in `folder`; output is decoded as UTF-8 with its line ends as they are."""
    given = stdin if isinstance(stdin, bytes) else stdin.encode()
    cache = {"PLLM_CACHE_DIR": str(folder.parent / f"{folder.name}-cache"), "PLLM_DEBUG": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pllm_lang.cli.main", *arguments],
        cwd=folder, input=given, capture_output=True, check=False, env=os.environ | cache | environment,
    )  # fmt: skip
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode(errors="replace")
    )
