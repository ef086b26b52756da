"""How long lowering takes, beside the SDK's `lower_model` in an environment of its own.

python benchmarks/lower.py --peer PATH/TO/PYTHON

Prints one line a measurement: name, our median and the SDK's in milliseconds, and the ratio against its
limit. Exits with 1 where a limit is passed. Without `--peer` only our times are printed. The config has 80
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

from pllm_lang.models import lower_model
from pllm_lang.models.digest import graph_digest

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
LIMIT = Fraction(1, 3)
ROUNDS = 25

_PEER = """
import json, sys, time
from statistics import median
import pllm
config, workload, rounds = json.loads(sys.stdin.read())
times = []
for _ in range(rounds):
    start = time.perf_counter()
    pllm.lower_model(config, **workload)
    times.append(time.perf_counter() - start)
print(median(times) * 1000)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description="Time of lowering, beside the SDK's.")
    parser.add_argument("--peer", help="a Python that has the SDK")
    peer = parser.parse_args().peer
    ours = timed(lambda: lower_model(CONFIG, **WORKLOAD))
    graph = lower_model(CONFIG, **WORKLOAD).graph
    print(f"digest            {timed(lambda: graph_digest(graph)):8.2f} ms")
    print(
        "lower 126 layers "
        f" {timed(lambda: lower_model(CONFIG | {'num_hidden_layers': 126}, **WORKLOAD)):8.2f} ms"
    )
    if not peer:
        print(f"lower 80 layers   {ours:8.2f} ms")
        return 0
    theirs = peer_time(peer)
    ratio = ours / theirs
    print(
        f"lower 80 layers   {ours:8.2f} ms   SDK {theirs:8.2f} ms   ratio {ratio:.4f}, limit"
        f" {float(LIMIT):.4f}"
    )
    return int(ratio > LIMIT)


def timed(run: Callable[[], object]) -> float:
    """The median of several runs, in milliseconds."""
    times: list[float] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return median(times) * 1000


def peer_time(python: str) -> float:
    request = json.dumps([CONFIG, WORKLOAD, ROUNDS])
    done = subprocess.run([python, "-c", _PEER], input=request, capture_output=True, text=True, check=True)
    return float(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
