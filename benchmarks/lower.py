"""How long lowering and its coverage report take, beside the SDK's in an environment of its own.

python benchmarks/lower.py --sdk PATH/TO/PYTHON

Prints one line a measurement: name, our median and the SDK's in milliseconds of processor time, and the ratio against its
limit. Exits with 1 where a limit is passed. Without `--sdk` only our times are printed. The config has 80
layers, hidden size 8192; the workload 4096 input tokens.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from statistics import median

from pllm_lang import lower_model
from pllm_lang.models import lower_model as lower_graph
from pllm_lang.models.digest import graph_digest
from pllm_lang.profiles import MaskedLinearCpu
from pllm_lang.sources import TinyModel

CONFIG: dict[str, object] = {
    "model_type": "qwen2",
    "hidden_size": 8192,
    "intermediate_size": 29568,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "vocab_size": 152064,
    "max_position_embeddings": 32768,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "rope_theta": 1000000,
    "tie_word_embeddings": False,
}
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
    return max([told(name, time_, theirs.get(name)) for name, time_ in ours.items()])


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
