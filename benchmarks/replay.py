"""How long replaying the certificate of an 80-layer experiment takes, as a part of checking that experiment without a cache.

    python benchmarks/replay.py [--runs N]

Both are measured in fresh processes, in turns, in processor time of the thread that works (numpy's helpers spin for a while after
its import), after every module was imported, so that imports count in neither and nothing is remembered. Prints the median
ratio, its spread, and the sizes of lock and certificate; exit status 1 where replay takes more than a quarter.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from whole_model import CONFIG, EXPERIMENT

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 0.25

IMPORTS = """
import importlib, pkgutil, pllm_lang
for found in pkgutil.walk_packages(pllm_lang.__path__, "pllm_lang."):
    if found.name.split(".")[1] not in ("runtime", "lsp", "native", "kernels") and "commands" not in found.name:
        importlib.import_module(found.name)
"""

CHECK = """
import sys, time
from pllm_lang.cli.checking import check_files
start = time.thread_time()
done = check_files([sys.argv[1] + "/e.pllm"], sys.argv[1])
taken = time.thread_time() - start
assert all(report.accepted for report in done.reports)
print(taken)
"""

REPLAY = """
import sys, time
from pllm_lang.artifacts.replay.lock import replay
content = open(sys.argv[1] + "/lock.json", "rb").read()
start = time.thread_time()
replay(content)
print(time.thread_time() - start)
"""


def main() -> int:
    options = argparse.ArgumentParser(description="Time of replay, as a part of the time of checking.")
    options.add_argument("--runs", type=int, default=15)
    runs = options.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        prepare(work)
        ratios = [seconds(REPLAY, work) / seconds(CHECK, work) for _ in range(runs)]
        lock = json.loads((work / "lock.json").read_bytes())
        certificate = len(json.dumps(lock["documents"]["certificate"], separators=(",", ":")))
        size = (work / "lock.json").stat().st_size
    median = statistics.median(ratios)
    ok = median <= LIMIT
    told = f"({min(ratios):.3f} to {max(ratios):.3f})  limit {LIMIT}  {'ok' if ok else 'TOO SLOW'}"
    print(f"replay of 80 layers / check without cache  {median:.3f}  {told}")
    print(f"the lock has {size} bytes, its certificate {certificate}")
    return 0 if ok else 1


def prepare(work: Path) -> None:
    """The experiment with its config, and its lock beside it."""
    (work / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    (work / "e.pllm").write_text(EXPERIMENT.replace("ROWS", "10000000"), encoding="utf-8")
    code = "import sys; from pllm_lang.cli.main import main; sys.argv = ['pllm', *sys.argv[1:]]; sys.exit(main())"
    call = [sys.executable, "-c", code, "compile", str(work / "e.pllm"), "-o", str(work / "lock.json")]
    subprocess.run(call, check=True, capture_output=True)


def seconds(code: str, work: Path) -> float:
    """Processor time that a fresh process prints."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS + code, str(work)],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    return float(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
