"""How long parsing takes, against lark building its own tree of the same text, in one run on one machine.

`python benchmarks/parse.py [LINES]` prints seconds and the ratio; the aim is a ratio of at most 0.5.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from typing import Any

from lark import Lark

from pllm_lang.resources import grammar_dir
from pllm_lang.syntax.format import format_source
from pllm_lang.syntax.parse import parse, read, tools
from pllm_lang.syntax.reparse import reparse
from pllm_lang.text.source import make_source

_ROUNDS = 3
_LAYER = """
  # layer {i}
  weight w_gate_{i}: weight8[4864, 896] public
  weight w_up_{i}:   weight8[4864, 896] public

  x_{i}, sx_{i} = quantize(h_{i}, to: act8, per: row) @ client
  gate_{i} = linear(x_{i}, w_gate_{i}) using masked_linear(bits: 32)
  up_{i} = linear(x_{i}, w_up_{i}) using masked_linear(bits: 32)
  g_{i} = rescale(gate_{i}, by: outer(sx_{i}, w_gate_{i}.scale), to: q7, saturate: true) @ client
  u_{i} = rescale(up_{i}, by: outer(sx_{i}, w_up_{i}.scale), to: q7, saturate: true) @ client
  h_{i}b = gated_multiply(g_{i}, u_{i}) using binary_table(schedule: chunked(max_elements: 8192))
"""


def make_plan(lines: int) -> str:
    """A plan of about so many lines, a quarter of them comments and blank."""
    layers = lines // _LAYER.count("\n")
    body = "".join(_LAYER.replace("{i}", str(i)) for i in range(layers))
    return f"pllm 1\n\nplan generated {{\n{body}}}\n"


def best(action: Callable[[], object]) -> float:
    """Seconds of the quickest of some rounds."""
    seconds: list[float] = []
    for _ in range(_ROUNDS):
        gc.collect()
        started = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def main(lines: int) -> None:
    text = make_plan(lines)
    source = make_source("generated.pllm", text)
    load = best(lambda: (tools.cache_clear(), tools()))
    ours = best(lambda: parse(source))
    grammar = (grammar_dir() / "pllm.lark").read_text(encoding="utf-8")
    lark: Any = Lark(grammar, parser="lalr", lexer="basic", start="file", propagate_positions=True)
    theirs = best(lambda: lark.parse(text))
    parsed = parse(source)
    before = read(source)
    at = text.index("bits: 32") + len("bits: 3")
    changed = make_source("generated.pllm", text[:at] + "3" + text[at:])
    again = best(lambda: reparse(before, changed))
    layout = best(lambda: format_source(parsed))
    print(f"lines            {text.count(chr(10)):>10,}")
    print(f"load the table   {load:>10.4f} s")
    print(f"parse            {ours:>10.4f} s")
    print(f"lark's tree      {theirs:>10.4f} s")
    print(f"parse / lark     {ours / theirs:>10.3f}")
    print(f"after one key    {again:>10.4f} s")
    print(f"format           {layout:>10.4f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
