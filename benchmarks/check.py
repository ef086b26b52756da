"""How long `pllm check` takes, as ratios against imports and against lark, in one interleaved run.

Run with a Python that has the built wheel installed (with byte-code), or let it make one:

    python benchmarks/check.py --make-environment

Prints a line a figure: the median ratio, its spread and the limit; exit status 1 where a limit is exceeded.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLAN = ROOT / "benchmarks" / "data" / "plan_200.pllm"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--make-environment", action="store_true", help="build the wheel and install it first"
    )
    options.add_argument("--runs", type=int, default=15)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        python = make_environment(work) if given.make_environment else Path(sys.executable)
        return 0 if all(report(python, work, given.runs)) else 1


def make_environment(work: Path) -> Path:
    """A virtual environment with the wheel and its byte-code, without interegular."""
    subprocess.run([sys.executable, "-m", "venv", work / "env"], check=True)
    python = work / "env" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--compile", str(ROOT)], check=True)
    return python


def report(python: Path, work: Path, runs: int) -> list[bool]:
    environment = os.environ | {"PLLM_CACHE_DIR": str(work / "cache"), "PYTHONDONTWRITEBYTECODE": ""}
    return [
        _cold_small(python, work, runs, environment),
        _unchanged(python, work, runs, environment),
        _layers(python, work, runs, environment),
        _cold_large(python, work, max(3, runs // 4), environment),
    ]


def _cold_small(python: Path, work: Path, runs: int, environment: dict[str, str]) -> bool:
    plan = _copied(PLAN, work / "small")
    check = pllm(python, "check", "--no-cache", str(plan))
    ratios = interleaved(
        process(check, environment), process([str(python), "-c", "import lark"], environment), runs
    )
    return tell("check of 200 lines / import lark", ratios, 3.5)


def _unchanged(python: Path, work: Path, runs: int, environment: dict[str, str]) -> bool:
    plan = _copied(PLAN, work / "unchanged")
    check = pllm(python, "check", str(plan))
    process(check, environment)()
    ratios = interleaved(
        process(check, environment), process([str(python), "-c", "import msgspec"], environment), runs
    )
    return tell("check of an unchanged file / import msgspec", ratios, 2.0)


def _layers(python: Path, work: Path, runs: int, environment: dict[str, str]) -> bool:
    few, many = (_written(work / f"layers{n}" / "plan.pllm", layered(n)) for n in (10, 100))
    ratios = interleaved(inside(python, many, environment), inside(python, few, environment), runs)
    return tell("100 equal layers / 10, checking only", ratios, 1.5)


def _cold_large(python: Path, work: Path, runs: int, environment: dict[str, str]) -> bool:
    plan = _written(work / "large" / "plan.pllm", large(10_000))
    tree = _written(work / "tree.py", LARK_TREE)
    grammar = str(ROOT / "grammar" / "pllm.lark")
    lark = timed_by_itself([str(python), str(tree), grammar, str(plan)], environment)
    ratios = interleaved(process(pllm(python, "check", "--no-cache", str(plan)), environment), lark, runs)
    return tell("check of 10,000 lines / lark's tree of them", ratios, 2.5)


# ---- what is measured ---------------------------------------------------------------------------------

LARK_TREE = """
import gc, sys, time
from lark import Lark
parser = Lark(open(sys.argv[1]).read(), parser="lalr", lexer="basic", start="file", propagate_positions=True)
text = open(sys.argv[2]).read()
start = time.perf_counter()
parser.parse(text)
print(time.perf_counter() - start)
"""

CHECK_INSIDE = """
import sys, time
from pllm_lang.cli.checking import check_files
check_files([sys.argv[1]], ".")
start = time.perf_counter()
check_files([sys.argv[1]], ".")
print(time.perf_counter() - start)
"""


def pllm(python: Path, *arguments: str) -> list[str]:
    return [str(python.parent / "pllm-lang"), *arguments]


def process(command: Sequence[str], environment: dict[str, str]) -> Callable[[], float]:
    """Seconds of a whole process."""

    def run() -> float:
        start = time.perf_counter()
        done = subprocess.run(command, env=environment, capture_output=True, check=False)
        if done.returncode not in (0, 1) or b"Traceback" in done.stderr:
            raise SystemExit(done.stderr.decode())
        return time.perf_counter() - start

    return run


def timed_by_itself(command: Sequence[str], environment: dict[str, str]) -> Callable[[], float]:
    """Seconds that a process prints itself."""
    return lambda: float(
        subprocess.run(command, env=environment, capture_output=True, check=True, text=True).stdout
    )


def inside(python: Path, plan: Path, environment: dict[str, str]) -> Callable[[], float]:
    return timed_by_itself([str(python), "-c", CHECK_INSIDE, str(plan)], environment)


def interleaved(one: Callable[[], float], other: Callable[[], float], runs: int) -> list[float]:
    """Ratios of two measurements taken in turn, so that a busy moment hits both."""
    one()
    other()
    return [one() / other() for _ in range(runs)]


def tell(name: str, ratios: list[float], limit: float) -> bool:
    median = statistics.median(ratios)
    ok = median <= limit
    print(
        f"{name:45} {median:6.2f}  ({min(ratios):.2f} to {max(ratios):.2f})  limit {limit}  {'ok' if ok else 'TOO SLOW'}"
    )
    return ok


# ---- plans --------------------------------------------------------------------------------------------


def _copied(plan: Path, folder: Path) -> Path:
    return _written(folder / plan.name, plan.read_text(encoding="utf-8"))


def _written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def layered(n: int) -> str:
    """A plan of `n` equal layers written with `repeat`."""
    return f"""pllm 1

import std.formats [f32, act8, weight8, q7]
import std.methods [integer_linear]

block gated(h: f32[1, 896], w: weight8[896, 896] public) -> (out) {{
  x, s = quantize(h, to: act8) @ client
  a = linear(x, w) using integer_linear(bits: 32)
  g = rescale(a, by: outer(s, w.scale), to: q7, saturate: true) @ client
  y = gated_multiply(g, g) @ client
  out = clamp(cast(y, to: f32), low: -1, high: 1) @ client
}}

plan stack {{
  input h: f32[1, 896] from client where abs(h) <= 12
  weight w[0..<{n}]: weight8[896, 896] public
  repeat layer in 0..<{n} carrying [h] {{
    h = gated(h, w[layer])
  }}
  output h to client
}}
""".replace(
        "  out = clamp(cast(y, to: f32), low: -1, high: 1) @ client",
        "  c = cast(y, to: f32) @ client\n  out = clamp(c, low: -1, high: 1) @ client",
    )


def large(lines: int) -> str:
    """A plan of about `lines` lines in which all steps differ."""
    head = [
        "pllm 1",
        "",
        "import std.formats [int8, int32]",
        "import std.methods [integer_linear]",
        "",
        "plan large {",
    ]
    body: list[str] = []
    number = 0
    while len(head) + len(body) < lines - 2:
        limit = 1 + number % 100
        body += [
            f"  # step {number}",
            f"  input x{number}: int8[{1 + number % 7}, 64] from client where abs(x{number}) <= {limit}",
            f"  weight w{number}: int8[32, 64] public",
            f"  y{number} = linear(x{number}, w{number}) using integer_linear(bits: 32)",
            f"  z{number} = cast(y{number}, to: int32) @ client",
            f"  output z{number} to client",
            "",
        ]
        number += 1
    return "\n".join([*head, *body, "}"]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
