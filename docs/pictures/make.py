"""`python docs/pictures/make.py [NAME...]`: the pictures of the docs, made anew from the examples of this repository.

Each is what the command, or a real editor, shows; nothing is drawn by hand. It needs tmux, Neovim and chromium beside the
environment of the tests. `tests/pictures/` measures every picture in a browser and compares those that must not differ by a letter.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import report
import terminal

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EXAMPLES = ROOT / "examples"
BIN = Path(sys.executable).parent
PATH = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}


def on_terminal(*call: str) -> str:
    """The call as typed at a prompt, and what comes back."""
    line = " ".join(("pllm", *call))
    command = f"printf '\\033[90m$\\033[0m %s\\n' '{line}'; {line}"
    return terminal.svg(terminal.screen(command, EXAMPLES, 60, PATH), line)


def in_editor(plan: str, place: str, ask: str, lines: int) -> str:
    """Neovim with the configuration of docs/editors/neovim.md, asked at the place that the pattern finds."""
    page = (ROOT / "docs" / "editors" / "neovim.md").read_text(encoding="utf-8")
    (configuration,) = re.findall(r"^```lua\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    with tempfile.TemporaryDirectory() as home:
        init = Path(home) / "init.lua"
        init.write_text(configuration, encoding="utf-8")
        more = {**PATH, "PLAN": plan, "PLACE": place, "ASK": ask}
        more |= {f"XDG_{kind}_HOME": f"{home}/{kind}" for kind in ("STATE", "CONFIG", "DATA")}
        # Neovim stays on the screen: it says itself when it is done.
        cells = terminal.screen(f"nvim --clean -u {init} -S {HERE / 'editor.lua'}", EXAMPLES, lines, more)
    return terminal.svg(cells, f"{Path(plan).name} in Neovim")


def command(*call: str) -> str:
    done = subprocess.run(
        [BIN / "pllm", *call], capture_output=True, text=True, cwd=EXAMPLES, check=False, timeout=300
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


PICTURES: dict[str, Callable[[], str]] = {
    "refusal": lambda: on_terminal("check", "refused/llama_block_intervals.pllm"),
    "leak": lambda: on_terminal("check", "refused/beaver_block_dealer.pllm"),
    "editor": lambda: in_editor("refused/gated_mlp_16_bits.pllm", "gate  = ", "finding", 34),
    "hover": lambda: in_editor("gated_mlp.pllm", "gate  = ", "hover", 34),
    "coverage": lambda: report.svg(
        command("coverage", "refused/moe_layer_sparse.pllm", "--format", "html"), "Coverage of sparse_experts"
    ),
    "graph": lambda: command("graph", "beaver_block.pllm"),
    "cost": lambda: command("cost", "whole_model.pllm", "--format", "svg"),
}


def main(names: list[str]) -> None:
    for name in names or PICTURES:
        (HERE / f"{name}.svg").write_text(PICTURES[name](), encoding="utf-8")
        print(f"docs/pictures/{name}.svg")


if __name__ == "__main__":
    main(sys.argv[1:])
