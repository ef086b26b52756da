"""Speed of the kernels against what the machine can do and what others do, in one interleaved run.

    python benchmarks/kernels.py [--make-environment] [--sdk PYTHON] [--torch PYTHON] [--threads 1]
                                 [--seconds 1.0] [--quick] [--operations clear wrap32 ...]
                                 [--two-threads] [--json FILE] [--plot FILE] [--floors]

Others run in worker processes of their own, each with its own Python: `--sdk` names one that has `pllm.run`, `--torch`
one that has PyTorch (oneDNN); `--make-environment` installs both for this run. oneDNN runs twice: with whatever it finds on
this CPU, and kept to the instructions that our kernels use, which is the one that has a floor. For every shape and
operation all parties take turns, a round each, until the time is up; a ratio is the median of the ratios of the
rounds. `--two-threads` measures only two threads against one. `--floors` ends with 1 when a figure is below its floor.
`python -m pip install matplotlib` for `--plot`.
"""

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from pllm_lang.runtime.engine import MaskedGEMM
from pllm_lang.runtime.startup import kernels

FEWEST_ROUNDS = 3
ALL_CACHES = 512 << 20  # bytes; more than the caches of a CPU hold
SECOND_CACHE = 2 << 20  # bytes; smaller matrices are not read from beyond it
SHAPES = (
    (896, 896, 16),
    (896, 896, 128),
    (4864, 896, 128),
    (4096, 4096, 16),
    (4096, 4096, 128),
    (14336, 4096, 128),
)
SINGLE = ((896, 896, 1), (4096, 4096, 1), (14336, 4096, 1))
SMALL = ((64, 64, 1), (64, 64, 128))
PRIME, COEFFICIENT_MODULUS = 2**31 - 1, 2**54 - 33
BYTES = {
    "clear": np.int8,
    "wrap32": np.uint32,
    "wrap64": np.uint64,
    "modular": np.uint32,
    "coefficients": np.uint64,
}
EXTRA = {"modular": (PRIME,), "coefficients": (COEFFICIENT_MODULUS,)}
SDK_FLOORS = {"clear": 10.0, "wrap32": 8.0, "wrap64": 15.0, "modular": 8.0, "coefficients": 70.0}
LIMIT_FLOORS = {"clear": 0.85, "wrap32": 0.86, "wrap64": 0.86}
NARROW_FLOORS = {"avx_vnni": 0.80, "avx2": 0.70}  # of the limit of these instructions; no floor over the SDK
# Digits that an input has: bytes where the instruction multiplies bytes, halves where it multiplies 16 bits.
BYTE_DIGITS = {"clear": 1, "wrap32": 4, "wrap64": 8, "modular": 4, "coefficients": 7}
HALF_DIGITS = {"clear": 1, "wrap32": 2, "wrap64": 4, "modular": 2, "coefficients": 4}


# What keeps oneDNN to the instructions of ours.
ONEDNN_ALIKE = {"avx512_vnni": "AVX512_CORE_VNNI", "avx_vnni": "AVX2_VNNI", "avx2": "AVX2"}
SDK_PACKAGE, TORCH_PACKAGE = "pllm.run==0.1.0a2", "torch==2.13.0"


class Row(msgspec.Struct):
    """One operation on one shape; speeds in GMAC/s, `limit` the share of the measured instruction limit, `ceiling`
    the share of the lower of that limit and of reading the weights once."""

    operation: str
    shape: tuple[int, int, int]
    speed: float
    limit: float
    ceiling: float
    sdk: float | None = None
    onednn: float | None = None  # with any instruction of this CPU
    onednn_alike: float | None = None  # with the instructions of our kernels
    numpy: float | None = None


UNCOUNTED = 3  # calls that begin a turn of any party: what others read has to leave the caches before weights stay there
TURN = 0.04  # seconds of ours


class Worker:
    """Another Python that times one product at a time, on request."""

    def __init__(self, python: str, program: str, threads: int, **variables: str) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
        environment |= variables
        environment.pop("PYTHONPATH", None)
        self._process = subprocess.Popen(
            [python, "-c", program, str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def ask(self, **request: Any) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({**request, "uncounted": UNCOUNTED}) + "\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())


# Reads requests, answers with the seconds of one call, or of `setup` when the shape changes.
SDK_PROGRAM = """
import json, sys, time
import numpy as np
from pllm.native import MaskedGEMM
engine, key, call = MaskedGEMM(threads=int(sys.argv[1])), None, None
clock = time.process_time if sys.argv[1] == "1" else time.perf_counter
for line in sys.stdin:
    r = json.loads(line)
    if (r["operation"], r["shape"]) != key:
        key = (r["operation"], r["shape"])
        out, width, batch = r["shape"]
        draw = np.random.default_rng(1)
        matrix = engine.compile(draw.integers(-128, 128, (out, width)).astype(np.int8))
        shape = (width, batch) if r["operation"] == "coefficients" else (batch, width)
        inputs = draw.integers(0, r["below"], shape, dtype=np.uint64).astype(r["dtype"])
        function = getattr(matrix, r["operation"])
        call = lambda: function(inputs, *r["extra"])
        call()
    for _ in range(min(r["times"] - 1, r["uncounted"])):
        call()
    start = clock()
    for _ in range(r["times"]):
        call()
    print((clock() - start) / r["times"], flush=True)
"""
TORCH_PROGRAM = """
import json, sys, time
import torch
torch.set_num_threads(int(sys.argv[1]))
key, call = None, None
clock = time.process_time if sys.argv[1] == "1" else time.perf_counter
for line in sys.stdin:
    r = json.loads(line)
    if r["shape"] != key:
        key = r["shape"]
        out, width, batch = r["shape"]
        weights = torch.randint(-128, 128, (out, width), dtype=torch.int8).t()
        inputs = torch.randint(-128, 128, (batch, width), dtype=torch.int8)
        call = lambda: torch._int_mm(inputs, weights)
        call()
    for _ in range(min(r["times"] - 1, r["uncounted"])):
        call()
    start = clock()
    for _ in range(r["times"]):
        call()
    print((clock() - start) / r["times"], flush=True)
"""


def timed(call: Callable[[], object], times: int, clock: Callable[[], float] = time.process_time) -> float:
    """Seconds a call; of the processor where one thread works, so that other processes count less."""
    start = clock()
    for _ in range(times):
        call()
    return (clock() - start) / max(times, 1)


def product_call(
    engine: MaskedGEMM, operation: str, shape: tuple[int, int, int], bits: int = 8
) -> Callable[[], object]:
    outputs, width, batch = shape
    draw = np.random.default_rng(1)
    half = 2 ** (bits - 1)
    matrix = engine.compile(draw.integers(-half, half, (outputs, width)).astype(np.int8), bits=bits)
    lying = (width, batch) if operation == "coefficients" else (batch, width)
    inputs = draw.integers(0, below(operation), lying, dtype=np.uint64).astype(BYTES[operation])
    function, extra = getattr(matrix, operation), EXTRA.get(operation, ())
    return lambda: function(inputs, *extra)


def below(operation: str) -> int:
    return {
        "clear": 256,
        "wrap32": 2**32,
        "wrap64": 2**63,
        "modular": PRIME,
        "coefficients": COEFFICIENT_MODULUS,
    }[operation]


def _digits(operation: str) -> int:
    halves = kernels().loaded.instruction_set in {"avx2", "scalar", "neon"}
    return (HALF_DIGITS if halves else BYTE_DIGITS)[operation]


def instruction_limit(rounds: int = 2_000_000) -> float:
    """GMAC/s of the innermost instruction on independent sums, now; over milliseconds, as products are measured,
    because shorter times miss what the system and its neighbours take."""
    function = kernels().function("multiply_limit")
    start = time.process_time()
    made = function(rounds)
    return made / (time.process_time() - start) / 1e9


def read_bandwidth(buffer: "np.ndarray[Any, Any]") -> float:
    """GB/s of reading a buffer front to back once, now."""
    function = kernels().function("read_limit")
    start = time.process_time()
    function(buffer, buffer.nbytes)
    return buffer.nbytes / (time.process_time() - start) / 1e9


def reading_seconds(weights: "np.ndarray[Any, Any]") -> float:
    """Of as many bytes as the weights have, from where they stay between calls; none of what stays in the second cache."""
    if weights.nbytes < SECOND_CACHE:
        return 0.0
    return weights.nbytes / max(read_bandwidth(weights) for _ in range(4)) / 1e9


def numpy_call(shape: tuple[int, int, int]) -> Callable[[], object]:
    outputs, width, batch = shape
    draw = np.random.default_rng(1)
    weights = draw.integers(-128, 128, (width, outputs)).astype(np.int32)
    inputs = draw.integers(-128, 128, (batch, width)).astype(np.int32)
    return lambda: inputs @ weights


def measure(
    engine: MaskedGEMM,
    operation: str,
    shape: tuple[int, int, int],
    seconds: float,
    sdk: Worker | None,
    torch: dict[str, Worker],
) -> Row:
    """Every party in turn, until the time is up and there were at least FEWEST_ROUNDS."""
    work = shape[0] * shape[1] * shape[2] / 1e9
    call = product_call(engine, operation, shape)
    digits = _digits(operation)
    request = {
        "operation": operation,
        "shape": shape,
        "dtype": np.dtype(BYTES[operation]).name,
        "below": min(below(operation), 127) if operation == "clear" else below(operation),
        "extra": EXTRA.get(operation, ()),
    }
    clock = time.process_time if engine.threads == 1 else time.perf_counter
    call()
    times = max(1, int(TURN / max(timed(call, 1, clock), 1e-7)))
    weights = np.ones(shape[0] * shape[1], np.int8)
    ours: list[float] = []
    limits: list[float] = []
    ceilings: list[float] = []
    theirs: dict[str, list[float]] = {"sdk": [], **{name: [] for name in torch}}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(ours) < FEWEST_ROUNDS:
        timed(call, min(times - 1, UNCOUNTED))
        before = instruction_limit()
        mine = timed(call, times, clock)
        workers = min(engine.threads, len(os.sched_getaffinity(0)))
        least = work * digits / ((before + instruction_limit()) / 2 * workers)
        ours.append(mine)
        limits.append(least / mine)
        ceilings.append(max(least, reading_seconds(weights) / workers) / mine)
        if sdk is not None:
            theirs["sdk"].append(sdk.ask(**request, times=max(1, times // 8)) / mine)
        if operation == "clear" and shape[2] >= 16:
            for name, worker in torch.items():
                theirs[name].append(onednn_seconds(worker, shape, times) / mine)
    speed = work / statistics.median(ours)
    row = Row(operation, shape, speed, statistics.median(limits), statistics.median(ceilings))
    for name, ratios in theirs.items():
        setattr(row, name, statistics.median(ratios) if ratios else None)
    if operation == "clear" and work < 0.2:
        row.numpy = timed(numpy_call(shape), 1, clock) / statistics.median(ours)
    return row


def onednn_seconds(worker: Worker, shape: tuple[int, int, int], times: int) -> float:
    """It refuses batches up to 16: 17 rows are the nearest to them, scaled."""
    rows = max(shape[2], 17)
    return worker.ask(shape=(shape[0], shape[1], rows), times=times) * shape[2] / rows


def measure_bandwidth(engine: MaskedGEMM, seconds: float) -> dict[str, float]:
    """Batch 1 from memory: bytes of weights read a second, over the bandwidth measured in the same round. Everything
    is read after as much else as the caches hold."""
    shape = (14336, 4096, 1)
    buffer, others = np.ones(shape[0] * shape[1], np.int8), np.ones(ALL_CACHES, np.int8)
    shares: dict[str, list[float]] = {}
    calls = {name: product_call(engine, name, shape) for name in ("clear", "wrap32", "modular", "wrap64")}
    four = product_call(engine, "clear", shape, bits=4)
    for call in (*calls.values(), four):
        call()

    def from_memory(call: Callable[[], object]) -> float:
        read_bandwidth(others)  # nothing else is left in a cache
        return timed(call, 1)

    end = time.perf_counter() + seconds * 8
    rounds = 0
    while time.perf_counter() < end or rounds < FEWEST_ROUNDS:
        rounds += 1
        reading = from_memory(lambda: read_bandwidth(buffer))
        times = {name: from_memory(call) for name, call in calls.items()}
        for name, taken in times.items():
            shares.setdefault(f"{name} over read bandwidth", []).append(reading / taken)
        shares.setdefault("read GB/s", []).append(buffer.nbytes / reading / 1e9)
        shares.setdefault("int4 over int8", []).append(times["clear"] / from_memory(four))
    return {name: statistics.median(values) for name, values in shares.items()}


def measure_small(engine: MaskedGEMM, sdk: Worker | None) -> dict[str, float]:
    """Microseconds of a (64, 64) call from Python, and the SDK's over ours."""
    found: dict[str, float] = {}
    for operation, dtype in BYTES.items():
        call, times = product_call(engine, operation, (64, 64, 1)), 400
        request = {"operation": operation, "shape": (64, 64, 1), "dtype": np.dtype(dtype).name}
        request |= {"below": min(below(operation), 127) if operation == "clear" else below(operation)}
        timed(call, times)
        rounds = [
            (
                timed(call, times),
                sdk.ask(**request, extra=EXTRA.get(operation, ()), times=times) if sdk else 0.0,
            )
            for _ in range(15)
        ]
        found[f"{operation} us"] = statistics.median(mine for mine, _ in rounds) * 1e6
        if sdk:
            found[f"{operation} over SDK"] = statistics.median(theirs / mine for mine, theirs in rounds)
    return found


def measure_threads(seconds: float) -> dict[str, float]:
    """Two threads over one, four calls each in turn; nothing where there is one CPU."""
    if len(os.sched_getaffinity(0)) < 2:
        return {}
    one, two = MaskedGEMM(threads=1), MaskedGEMM(threads=2)
    found: dict[str, float] = {}
    for operation in ("clear", "wrap32", "wrap64"):
        calls = [product_call(engine, operation, (4096, 4096, 128)) for engine in (one, two)]
        for call in calls:
            call()
        ratios: list[float] = []
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or len(ratios) < FEWEST_ROUNDS:
            one_thread, two_threads = (timed(call, 4, time.perf_counter) for call in calls)
            ratios.append(one_thread / two_threads)
        found[f"{operation}, 2 threads over 1"] = statistics.median(ratios)
    return found


START = """
import time
{prepare}
import numpy as np, cppyy
weights, inputs = np.ones((64, 64), np.int8), np.ones((1, 64), np.int8)
from pllm_lang.runtime.engine import MaskedGEMM
start = time.perf_counter()
MaskedGEMM(threads=1).compile(weights).clear(inputs)
print(time.perf_counter() - start)
"""


def measure_start() -> dict[str, float]:
    """Seconds from `import cppyy` to the first result, by JIT and from the cached library; medians of five processes."""
    found: dict[str, float] = {}
    subprocess.run([sys.executable, "-m", "pllm_lang.runtime.build"], check=True, stdout=subprocess.DEVNULL)
    for choice in ("jit", "library"):
        environment = {**os.environ, "PLLM_KERNELS": choice}
        command = [sys.executable, "-c", START.format(prepare="")]
        runs = [
            float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
            for _ in range(5)
        ]
        found[f"first result by {choice}, s"] = statistics.median(runs)
    return found


def below_floors(rows: list[Row], figures: dict[str, float]) -> list[str]:
    """What does not reach its floor on one thread."""
    missed: list[str] = []
    instruction_set = kernels().loaded.instruction_set
    for row in rows:
        name = f"{row.operation} {row.shape}"
        if row.shape not in SHAPES:
            continue
        floor = NARROW_FLOORS.get(instruction_set) or LIMIT_FLOORS.get(row.operation, 0)
        if row.limit < floor and row.operation in LIMIT_FLOORS:
            missed.append(f"{name}: {row.limit:.0%} of the limit, floor {floor:.0%}")
        if instruction_set in NARROW_FLOORS:
            continue
        if row.sdk is not None and row.sdk < SDK_FLOORS[row.operation]:
            missed.append(f"{name}: {row.sdk:.1f} times the SDK, floor {SDK_FLOORS[row.operation]:.0f}")
        alike = row.onednn_alike if instruction_set in ONEDNN_ALIKE else row.onednn
        if alike is not None and alike < (1.0 if row.shape[1] == 896 else 0.95):
            missed.append(f"{name}: {alike:.2f} of oneDNN")
    floors = {"first result by jit, s": -0.6, "first result by library, s": -0.05, "int4 over int8": 1.7}
    floors |= {f"{name} over read bandwidth": 0.9 for name in ("clear", "wrap32", "modular")}
    floors |= {f"{name}, 2 threads over 1": 1.9 for name in ("clear", "wrap32", "wrap64")}
    floors |= {f"{name} over SDK": 3.0 for name in BYTES}
    for name, floor in floors.items():
        value = figures.get(name)
        if value is not None and (value < floor if floor > 0 else value > -floor):
            missed.append(f"{name}: {value:.3g}, floor {abs(floor):g}")
    return missed


def row_line(row: Row) -> str:
    values = (row.sdk, row.onednn, row.onednn_alike, row.numpy)
    others = (f"{value:.2f}" if value is not None else "" for value in values)
    shares = (f"{row.limit:.0%}", f"{row.ceiling:.0%}")
    cells = [row.operation, ", ".join(map(str, row.shape)), f"{row.speed:.1f}", *shares, *others]
    return f"| {' | '.join(cells)} |"


def table(rows: list[Row], figures: dict[str, float]) -> str:
    loaded = kernels().loaded
    lines = [f"{loaded.implementation}, {loaded.instruction_set}, {loaded.origin}", ""]
    lines += [
        "| operation | out, in, batch | GMAC/s | of the limit | of the ceiling | times SDK | times oneDNN"
        " | the same, alike | times numpy |"
    ]
    lines += ["|---|---|---|---|---|---|---|---|---|"]
    lines += [row_line(row) for row in rows]
    lines += ["", "| figure | value |", "|---|---|"]
    lines += [f"| {name} | {value:.3g} |" for name, value in figures.items()]
    return "\n".join(lines)


def plot(rows: list[Row], figures: dict[str, float], path: Path) -> None:
    """A roofline: products a byte of weights across, GMAC/s up."""
    drawing: Any = importlib.import_module("matplotlib.pyplot")  # only where a plot is asked for
    figure, axes = drawing.subplots(figsize=(8, 5))
    intensity = np.logspace(0, 3, 100)
    limit, bandwidth = figures["instruction limit, GMAC/s"], figures["read GB/s"]
    axes.loglog(
        intensity, np.minimum(limit, bandwidth * intensity), "k-", label="instruction and memory limit"
    )
    for operation in BYTES:
        own = [row for row in rows if row.operation == operation]
        digits = _digits(operation)
        across = [row.shape[2] * digits for row in own]
        axes.loglog(across, [row.speed * digits for row in own], "o", label=operation)
    axes.set_xlabel("digit products a byte of weights")
    axes.set_ylabel("10^9 digit products a second")
    axes.legend()
    figure.savefig(path)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--make-environment", action="store_true", help="install the SDK and PyTorch first")
    parser.add_argument("--sdk", help="a Python with pllm.run")
    parser.add_argument("--torch", help="a Python with PyTorch")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--two-threads", action="store_true", help="only two threads over one")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each operation and shape")
    parser.add_argument("--quick", action="store_true", help="two shapes only")
    parser.add_argument("--operations", nargs="+", choices=tuple(BYTES), default=tuple(BYTES))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--floors", action="store_true")
    options = parser.parse_args()
    if options.two_threads:
        return finish(options, [], measure_threads(options.seconds))
    if not options.make_environment:
        return run(options)
    with tempfile.TemporaryDirectory() as work:
        options.sdk = options.sdk or make_environment(Path(work) / "sdk", SDK_PACKAGE)
        options.torch = options.torch or make_environment(Path(work) / "torch", TORCH_PACKAGE, "numpy")
        return run(options)


def make_environment(folder: Path, *packages: str) -> str:
    """The Python of a new virtual environment with these packages."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    return str(python)


def onednn_workers(python: str | None, threads: int) -> dict[str, Worker]:
    """By the field of `Row` that says how much faster we are than they."""
    if python is None:
        return {}
    workers = {"onednn": Worker(python, TORCH_PROGRAM, threads)}
    alike = ONEDNN_ALIKE.get(kernels().loaded.instruction_set)
    if alike is not None:
        workers["onednn_alike"] = Worker(python, TORCH_PROGRAM, threads, ONEDNN_MAX_CPU_ISA=alike)
    return workers


def run(options: argparse.Namespace) -> int:
    engine = MaskedGEMM(threads=options.threads)
    sdk = Worker(options.sdk, SDK_PROGRAM, options.threads) if options.sdk else None
    torch = onednn_workers(options.torch, options.threads)
    shapes = SHAPES[:2] if options.quick else (*SMALL, *SINGLE, *SHAPES)
    rows: list[Row] = []
    for shape in shapes:
        for name in options.operations:
            rows.append(measure(engine, name, shape, options.seconds, sdk, torch))
            print(row_line(rows[-1]), file=sys.stderr, flush=True)
    figures = {"instruction limit, GMAC/s": max(instruction_limit() for _ in range(20))}
    figures |= measure_bandwidth(engine, options.seconds) | measure_small(engine, sdk)
    if not options.quick:
        figures |= measure_threads(options.seconds * 2) | measure_start()
    return finish(options, rows, figures)


def finish(options: argparse.Namespace, rows: list[Row], figures: dict[str, float]) -> int:
    print(table(rows, figures))
    if options.json:
        options.json.write_bytes(msgspec.json.encode({"rows": rows, "figures": figures}))
    if options.plot:
        plot(rows, figures, options.plot)
    missed = below_floors(rows, figures)
    print("\n".join(["", "below their floors:", *missed] if missed else ["", "every floor is reached"]))
    return 1 if options.floors and missed else 0


if __name__ == "__main__":
    sys.exit(main())
