"""What the language server costs an editor, as ratios within one run, in processor time.

    python benchmarks/editor.py [--edits 10000] [--keys 200]

Four figures: how long until the server is ready, against importing the library that it talks through; diagnostics after a
key press in a step of a plan of 1,000 lines, against lark building its tree of the whole text; diagnostics and colours after
one in a plan of 10,000 lines, against a whole check; memory after many edits, against memory after a tenth of them.
Prints a line a figure; exit status 1 where a limit is exceeded.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lark import Lark
from lsprotocol import types

from pllm_lang.cli.checking import check_files
from pllm_lang.cli.editing import Editing
from pllm_lang.lsp.buffer import Buffer, Position
from pllm_lang.lsp.diagnostics import diagnostics
from pllm_lang.lsp.documents import Documents
from pllm_lang.lsp.features import semantic_tokens
from pllm_lang.lsp.view import View
from pllm_lang.resources import grammar_dir

READY, MEDIAN, SLOWEST, MEMORY = 1.5, 0.5, 1.0, 1.1
LONG = 10_000
COLOURS, LONG_MEDIAN, LONG_SLOWEST = 0.3, 0.5, 1.0
URI = "file:///benchmark/plan.pllm"
LETTERS = "abz019_ (,"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--edits", type=int, default=10_000, help="edits after which memory is measured")
    options.add_argument("--keys", type=int, default=200, help="key presses timed in each plan")
    options.add_argument("--runs", type=int, default=7, help="starts of the server")
    given = options.parse_args()
    ok = [ready(given.runs)]
    for name, text in (("in the clear", clear(1_000)), ("under a policy", under_policy(1_000))):
        ok += keys(name, text, given.keys)
    for name, text in (("in the clear", clear(LONG)), ("under a policy", under_policy(LONG))):
        ok += keys_of_a_long_text(name, text, given.keys // 4)
    ok.append(memory(given.edits))
    return 0 if all(ok) else 1


# ---- ready --------------------------------------------------------------------------------------------


def ready(runs: int) -> bool:
    library = [sys.executable, "-c", "import pygls.lsp.server"]
    server = [sys.executable, "-m", "pllm_lang.cli.main", "lsp"]
    ratios: list[float] = []
    for _ in range(runs + 1):
        ratios.append(used(server, hello()) / used(library, b""))
    return tell("server ready / import pygls.lsp.server", statistics.median(ratios[1:]), READY)


def hello() -> bytes:
    """The messages of an editor that starts the server and ends it once it is ready."""
    said: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
        {"method": "initialized", "params": {}},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
    bodies = [json.dumps({"jsonrpc": "2.0", **one}).encode() for one in said]
    return b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies)


def used(command: list[str], given: bytes) -> float:
    """Processor seconds of a whole process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, input=given, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.decode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


# ---- keys ---------------------------------------------------------------------------------------------


class Typist:
    """An open document whose diagnostics are made after every edit, as the server makes them."""

    def __init__(self, text: str) -> None:
        self.documents = Documents(Editing)
        self.document = self.documents.open(URI, text, 1)
        self.client = types.ClientCapabilities()

    @property
    def buffer(self) -> Buffer:
        return self.document.buffer

    def edit(self, line: int, start: int, end: int, text: str) -> None:
        self.buffer.edit(Position(line, start), Position(line, end), text)
        self.documents.touch(self.document)

    def diagnostics(self) -> list[types.Diagnostic]:
        snapshot = self.documents.checker.checked(self.documents.asked(self.document))
        view = View(self.documents, self.document, snapshot.opened, snapshot, self.client)
        return diagnostics(view, snapshot.findings, view.name)

    def colours(self) -> types.SemanticTokens:
        opened = self.documents.checker.opened(self.documents.asked(self.document))
        view = View(self.documents, self.document, opened, None, self.client)
        return semantic_tokens.full(view, types.SemanticTokensParams(types.TextDocumentIdentifier(URI)))

    def steps(self) -> list[int]:
        """The lines on which a step stands."""
        lines = enumerate(self.buffer.lines)
        return [n for n, line in lines if " = " in line.content and not line.content.strip().startswith("#")]

    def presses(self, count: int) -> Iterator[Callable[[], object]]:
        """Key presses in steps: half of them type a letter somewhere, half take it back."""
        chosen = random.Random(1)
        steps = self.steps()
        for _ in range(count // 2):
            line = chosen.choice(steps)
            column = chosen.randrange(4, len(self.buffer.lines[line].content))
            letter = chosen.choice(LETTERS)
            yield lambda at=(line, column, column), text=letter: self.edit(*at, text)
            yield lambda at=(line, column, column + 1): self.edit(*at, "")


def keys(name: str, text: str, count: int) -> list[bool]:
    grammar = (grammar_dir() / "pllm.lark").read_text(encoding="utf-8")
    lark: Any = Lark(grammar, parser="lalr", lexer="basic", start="file", propagate_positions=True)
    typist = Typist(text)
    if typist.diagnostics():
        raise SystemExit(f"the plan of the benchmark is refused: {typist.diagnostics()[0].message}")
    whole: list[float] = []
    pressed: list[float] = []
    for number, press in enumerate(typist.presses(count)):
        press()
        pressed.append(seconds(typist.diagnostics))
        if number % max(1, count // 10) == 0:
            whole.append(seconds(lambda: lark.parse(text)))
    lark_seconds = statistics.median(whole)
    ratios = sorted(one / lark_seconds for one in pressed)
    lines = text.count("\n")
    return [
        tell(f"a key, {lines:,} lines {name}, median / lark's tree", statistics.median(ratios), MEDIAN),
        tell(
            f"a key, {lines:,} lines {name}, 95th percentile / lark", ratios[int(0.95 * len(ratios))], SLOWEST
        ),
    ]


def keys_of_a_long_text(name: str, text: str, count: int) -> list[bool]:
    """Against a whole check of the same text. Colours are asked for first, as editors do, and both are there at the end."""
    typist = Typist(text)
    typist.diagnostics()
    whole: list[float] = []
    colours: list[float] = []
    pressed: list[float] = []
    for number, press in enumerate(typist.presses(count)):
        press()
        colours.append(seconds(typist.colours))
        pressed.append(colours[-1] + seconds(typist.diagnostics))
        if number % max(1, count // 10) == 0:
            whole.append(
                seconds(lambda: check_files([typist.document.path], "/", {typist.document.path: text}))
            )
    check = statistics.median(whole)
    ratios = sorted(one / check for one in pressed)
    start = f"a key, {text.count(chr(10)):,} lines {name}"
    return [
        tell(f"{start}, colours / whole check", statistics.median(colours) / check, COLOURS),
        tell(f"{start}, all, median / whole check", statistics.median(ratios), LONG_MEDIAN),
        tell(f"{start}, all, 95th percentile / whole check", ratios[int(0.95 * len(ratios))], LONG_SLOWEST),
    ]


def seconds(action: Callable[[], object]) -> float:
    gc.collect()
    gc.disable()
    start = time.process_time()
    action()
    spent = time.process_time() - start
    gc.enable()
    return spent


# ---- memory -------------------------------------------------------------------------------------------


def memory(edits: int) -> bool:
    """Resident memory after so many edits, against a tenth of them, in a process of its own."""
    code = f"from benchmarks.editor import grow; grow({edits})"
    root = Path(__file__).resolve().parent.parent
    environment = os.environ | {"PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment, cwd=root
    )
    early, late = map(int, done.stdout.split())
    return tell(f"memory after {edits:,} edits / after {edits // 10:,}", late / early, MEMORY)


def grow(edits: int) -> None:
    plan = Path(__file__).resolve().parent.parent / "examples" / "first_look.pllm"
    typist = Typist(plan.read_text(encoding="utf-8"))
    for number, press in enumerate(typist.presses(edits)):
        press()
        typist.diagnostics()
        if number in (edits // 10 - 1, edits - 1):
            gc.collect()
            print(resident())


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


def tell(name: str, ratio: float, limit: float) -> bool:
    ok = ratio <= limit
    print(f"{name:76} {ratio:6.2f}  limit {limit}  {'ok' if ok else 'EXCEEDED'}", flush=True)
    return ok


# ---- plans --------------------------------------------------------------------------------------------

CLEAR = """
  # Layer {i}: public weights, 8 bits, one scale a row.
  weight w_gate{i}: weight8[1024, 896] public
  weight w_down{i}: weight8[896, 1024] public

  x{i}, s{i} = quantize(h{i}, to: act8) @ client
  a{i} = linear(x{i}, w_gate{i}) using integer_linear(bits: 32)
  g{i} = rescale(a{i}, by: outer(s{i}, w_gate{i}.scale), to: q7, saturate: true) @ client
  y{i} = gated_multiply(g{i}, g{i}) @ client

  # Back to the width of the model.
  z{i}, t{i} = quantize(y{i}, to: act8) @ client
  d{i} = linear(z{i}, w_down{i}) using integer_linear(bits: 32)
  h{n} = rescale(d{i}, by: outer(t{i}, w_down{i}.scale), to: f32) @ client
"""
UNDER_POLICY = """
  # Layer {i}: linear layers masked, the product of gate and up from a garbled table.
  weight w_gate{i}: weight8[4864, 896] public
  weight w_up{i}: weight8[4864, 896] public
  weight w_down{i}: weight8[896, 4864] public

  x{i}, s{i} = quantize(h{i}, to: act8, per: row) @ client
  gate{i} = linear(x{i}, w_gate{i}) using masked_linear(bits: 32)
  up{i} = linear(x{i}, w_up{i}) using masked_linear(bits: 32)
  g{i} = rescale(gate{i}, by: outer(s{i}, w_gate{i}.scale), to: q7, saturate: true) @ client
  u{i} = rescale(up{i}, by: outer(s{i}, w_up{i}.scale), to: q7, saturate: true) @ client
  a{i} = gated_multiply(g{i}, u{i}) using binary_table(schedule: chunked(max_elements: 8192))

  # Back to the width of the model.
  z{i}, t{i} = quantize(a{i}, to: act8, per: row) @ client
  y{i} = linear(z{i}, w_down{i}) using masked_linear(bits: 32)
  h{n} = rescale(y{i}, by: outer(t{i}, w_down{i}.scale), to: f32) @ client
"""
POLICY = """
policy evaluators {
  parties [client, preparation, inference]
  adversary semi_honest corrupts 1 of [preparation, inference]
  security: { computational: 128, statistical: 40 }
  learns client: [results]
  learns preparation: [lengths]
  learns inference: [lengths]
}
"""


def clear(lines: int) -> str:
    head = "import std.formats [f32, act8, weight8, q7]\nimport std.methods [integer_linear]\n"
    return plan(head, "", CLEAR, lines)


def under_policy(lines: int) -> str:
    head = (
        "import std.formats [f32, act8, weight8, q7]\nimport std.components [masked_linear, binary_table]\n"
        f"import std.schedules [chunked]\n{POLICY}"
    )
    return plan(head, " under evaluators", UNDER_POLICY, lines)


def plan(head: str, under: str, layer: str, lines: int) -> str:
    layers = lines // layer.count("\n")
    body = "".join(layer.replace("{i}", str(i)).replace("{n}", str(i + 1)) for i in range(layers))
    first = "  input h0: f32[1, 896] from client where abs(h0) <= 12\n"
    return f"pllm 1\n\n{head}\nplan layers{under} {{\n{first}{body}\n  output h{layers} to client\n}}\n"


if __name__ == "__main__":
    sys.exit(main())
