"""How long lowering and its coverage report take, beside the SDK's in an environment of its own; and the complete check of
an experiment over the whole model, beside the import of the parser's library.

python benchmarks/lower.py --sdk PATH/TO/PYTHON

Prints one line a measurement: name, our median and the SDK's in milliseconds of processor time, and the ratio against its
limit. Exits with 1 where a limit is passed. Without `--sdk` only our times are printed. The config has 80
layers, hidden size 8192; the workload 4096 input tokens. `check` is a process of its own without cache: linear layers masked
between three machines, against a stock of exactly as many rows as are burnt.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from statistics import median

from whole_model import CONFIG, EXPERIMENT

from pllm_lang import lower_model
from pllm_lang.models import lower_model as lower_graph
from pllm_lang.models.digest import graph_digest
from pllm_lang.profiles import MaskedLinearCpu
from pllm_lang.sources import TinyModel

WORKLOAD = {"batch": 1, "max_input_tokens": 4096, "max_new_tokens": 64}
LIMITS = {"lower": Fraction(1, 3), "coverage": Fraction(1, 200)}
"""Of our time over the SDK's."""
ROUNDS, SDK_COVERAGE_ROUNDS = 25, 5

_SDK = """
import json, sys, time
from statistics import median
import pllm
config, workload, rounds, fewer = json.loads(sys.stdin.read())
def timed(run, rounds):
    times = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return median(times) * 1000
plan = pllm.lower_model(config, **workload)
found = {"lower": timed(lambda: pllm.lower_model(config, **workload), rounds), "coverage": timed(plan.coverage, fewer)}
print(json.dumps(found))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description="Time of lowering and coverage, beside the SDK's.")
    parser.add_argument("--sdk", help="a Python that has pllm.run")
    sdk = parser.parse_args().sdk
    graph = lower_graph(CONFIG, **WORKLOAD).graph
    print(f"digest             {timed(lambda: graph_digest(graph)):8.3f} ms")
    longer = CONFIG | {"num_hidden_layers": 126}
    print(f"lower 126 layers   {timed(lambda: lower_graph(longer, **WORKLOAD)):8.3f} ms")
    plan, pipeline = lower_model(CONFIG, **WORKLOAD), MaskedLinearCpu(TinyModel())
    ours = {
        "lower": timed(lambda: lower_model(CONFIG, **WORKLOAD)),
        "coverage": max(timed(plan.coverage), timed(lambda: plan.coverage(pipeline))),
    }
    theirs = sdk_times(sdk) if sdk else {}
    checked = check_times()
    return max([*(told(name, time_, theirs.get(name)) for name, time_ in ours.items()), checked])


CHECK_LIMIT, LAYERS_LIMIT = Fraction(6), Fraction(6, 5)
"""Of a check over `import lark`, and of 126 layers over 32."""


def check_times() -> int:
    """Prints the complete check's times, in rounds with the import between them; 1 where a limit is passed."""
    runs: dict[str, list[float]] = {"import lark": []} | {f"check {n} layers": [] for n in (32, 80, 126)}
    with tempfile.TemporaryDirectory() as folder:
        commands = {"import lark": [sys.executable, "-c", "import lark"]}
        for layers in (32, 80, 126):
            commands[f"check {layers} layers"] = _experiment(Path(folder), layers)
        for number in range(CHECK_ROUNDS + 1):  # the first round compiles
            for name, command in commands.items():
                spent = _processor_time(command)
                runs[name] += [spent] if number else []
    times = {name: median(spent) for name, spent in runs.items()}
    whole = times["check 80 layers"] / times["import lark"]
    longer = times["check 126 layers"] / times["check 32 layers"]
    for name, spent in times.items():
        print(f"{name:<18} {spent:8.1f} ms")
    print(f"check / import lark   ratio {whole:.2f}, limit {float(CHECK_LIMIT):.1f}")
    print(f"126 / 32 layers       ratio {longer:.2f}, limit {float(LAYERS_LIMIT):.1f}")
    return int(whole > CHECK_LIMIT or longer > LAYERS_LIMIT)


CHECK_ROUNDS = 15


def _experiment(folder: Path, layers: int) -> list[str]:
    """The command that checks the experiment over a model of so many layers; seven products a layer."""
    place = folder / str(layers)
    place.mkdir()
    rows = 7 * layers * (WORKLOAD["max_input_tokens"] + WORKLOAD["max_new_tokens"] - 1)
    (place / "config.json").write_text(json.dumps(CONFIG | {"num_hidden_layers": layers}))
    (place / "whole.pllm").write_text(EXPERIMENT.replace("ROWS", str(rows)))
    return [sys.executable, "-m", "pllm_lang.cli.main", "check", "--no-cache", str(place / "whole.pllm")]


def _processor_time(command: list[str]) -> float:
    """Milliseconds of processor time; an installed package has its bytecode, so it may be written here."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def told(name: str, ours: float, theirs: float | None) -> int:
    """Prints one line; 1 where the limit is passed."""
    line = f"{name + ' 80 layers':<18} {ours:8.3f} ms"
    if theirs is None:
        print(line)
        return 0
    ratio, limit = ours / theirs, LIMITS[name]
    print(f"{line}   SDK {theirs:8.2f} ms   ratio {ratio:.5f}, limit {float(limit):.4f}")
    return int(ratio > limit)


def timed(run: Callable[[], object]) -> float:
    """The median of several runs, in milliseconds of processor time."""
    times: list[float] = []
    for _ in range(ROUNDS):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return median(times) * 1000


def sdk_times(python: str) -> dict[str, float]:
    request = json.dumps([CONFIG, WORKLOAD, ROUNDS, SDK_COVERAGE_ROUNDS])
    done = subprocess.run([python, "-c", _SDK], input=request, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
