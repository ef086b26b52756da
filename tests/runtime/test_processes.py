"""Kernels among threads, forks, signals and other libraries of one process."""

from pathlib import Path

import pytest

from tests.runtime.test_startup import run

pytestmark = pytest.mark.system

SETUP = """
import numpy as np, os, sys, threading, time
from pllm_lang.sdk.native import MaskedGEMM
draw = np.random.default_rng(3)
weights = draw.integers(-128, 128, (700, 800)).astype(np.int8)
inputs = draw.integers(0, 2**32, (64, 800), dtype=np.uint64).astype(np.uint32)
expected = (inputs.astype(np.uint64) @ weights.T.astype(np.int64).astype(np.uint64)).astype(np.uint32)
"""


def check(code: str, tmp_path: Path) -> str:
    done = run(SETUP + code, tmp_path / "cache", PLLM_KERNELS="jit")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_more_threads_than_cpus(tmp_path: Path) -> None:
    check(
        """
for threads in (1, 2, 3, 32):
    engine = MaskedGEMM(threads=threads)
    assert engine.threads == threads
    matrix = engine.compile(weights)
    for _ in range(20):
        assert (matrix.wrap32(inputs) == expected).all()
""",
        tmp_path,
    )


def test_a_forked_child_computes(tmp_path: Path) -> None:
    check(
        """
matrix = MaskedGEMM(threads=2).compile(weights)
assert (matrix.wrap32(inputs) == expected).all()
for _ in range(5):
    child = os.fork()
    if child == 0:
        os._exit(0 if (matrix.wrap32(inputs) == expected).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
assert (matrix.wrap32(inputs) == expected).all()
import multiprocessing
def product(x):
    return matrix.wrap32(x)
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert all((found == expected).all() for found in pool.map(product, [inputs] * 4))
""",
        tmp_path,
    )


def test_threads_share_an_engine_and_a_matrix(tmp_path: Path) -> None:
    check(
        """
matrix = MaskedGEMM(threads=2).compile(weights)  # its kernels are compiled by the threads, at the same time
wrong = []
def work(kind):
    for _ in range(30):
        if kind == 0 and not (matrix.wrap32(inputs) == expected).all(): wrong.append(kind)
        if kind == 1 and not (matrix.ring(inputs & 0xffff, 16) == (
            (inputs & 0xffff).astype(np.int64) @ weights.T.astype(np.int64)) % 65536).all(): wrong.append(kind)
        if kind == 2: MaskedGEMM(threads=1).compile(weights[:3])
threads = [threading.Thread(target=work, args=(i % 3,)) for i in range(6)]
[t.start() for t in threads]; [t.join() for t in threads]
assert wrong == []
""",
        tmp_path,
    )


def test_other_threads_run_during_a_product(tmp_path: Path) -> None:
    check(
        """
matrix = MaskedGEMM(threads=1).compile(np.ones((4000, 4000), np.int8))
large = np.ones((1000, 4000), np.uint64)
matrix.wrap64(large[:1])
done, ticks = threading.Event(), []
def product():
    matrix.wrap64(large)
    done.set()
thread = threading.Thread(target=product)
thread.start()
while not done.is_set():
    ticks.append(time.perf_counter())
    time.sleep(0.001)
thread.join()
gaps = [b - a for a, b in zip(ticks, ticks[1:])]
assert len(ticks) > 10 and max(gaps) < (ticks[-1] - ticks[0]) / 2, (len(ticks), max(gaps, default=0))
""",
        tmp_path,
    )


def test_exit_with_living_pools_and_matrices(tmp_path: Path) -> None:
    out = check(
        """
engines = [MaskedGEMM(threads=n) for n in (1, 2, 8)]
matrices = [engine.compile(weights) for engine in engines]
for matrix in matrices:
    matrix.wrap32(inputs)
print("done")
""",
        tmp_path,
    )
    assert out.strip() == "done"


def test_memory_comes_back(tmp_path: Path) -> None:
    check(
        """
import gc, resource
engine = MaskedGEMM(threads=2)
big = np.ones((4096, 4096), np.int8)
def live():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
for _ in range(3): engine.compile(big).wrap32(np.ones((1, 4096), np.uint32))
before = live()
for _ in range(20):
    engine.compile(big).wrap32(np.ones((1, 4096), np.uint32))
    MaskedGEMM(threads=2).compile(weights).wrap32(inputs)
gc.collect()
assert live() - before < 100e6, live() - before
""",
        tmp_path,
    )


def test_signal_handlers_stay_as_they_were(tmp_path: Path) -> None:
    out = check(
        """
import signal, faulthandler
caught = []
signal.signal(signal.SIGUSR2, lambda *_: caught.append("usr2"))
signal.signal(signal.SIGALRM, lambda *_: caught.append("alrm"))
def actions():
    import ctypes
    libc, found = ctypes.CDLL(None), {}
    for number in signal.valid_signals():
        action = ctypes.create_string_buffer(256)
        libc.sigaction(int(number), None, action)
        found[int(number)] = action.raw[:8]
    return found
before = actions()
MaskedGEMM(threads=1).compile(weights).wrap32(inputs)
assert actions() == before
os.kill(os.getpid(), signal.SIGUSR2); os.kill(os.getpid(), signal.SIGALRM)
print(caught)
""",
        tmp_path,
    )
    assert out.strip() == "['usr2', 'alrm']"
