"""Compiles `driver.cpp` for an instruction set and runs requests through it; the other side of its file
format."""

import shutil
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pllm_lang.resources import kernels_dir
from pllm_lang.runtime.record import InstructionSet

HERE = Path(__file__).parent
OPERATIONS = {"clear": 0, "ring32": 1, "ring64": 2, "residues32": 3, "residues64": 4} | {
    name: 10 + index
    for index, name in enumerate(
        ("mask", "unmask", "quantize", "dequantize", "pack", "unpack", "rescale", "project", "uniform")
    )
}


@dataclass(frozen=True)
class Request:
    """One call: `expected` is what it must give, `status` what it must answer."""

    operation: str
    first: np.ndarray[Any, Any]
    second: np.ndarray[Any, Any]
    expected: np.ndarray[Any, Any]
    status: int = 0
    outputs: int = 0
    inputs: int = 0
    rows: int = 0
    bits: int = 0
    parameter: int = 0
    columns: int = 0
    threads: int = 1
    label: str = field(default="", compare=False)


def compile_driver(
    level: InstructionSet, work: Path, flags: Sequence[str] = ("-O2",), compiler: str = "c++"
) -> Path:
    binary = work / f"driver-{level.name}"
    command = [shutil.which(compiler) or compiler, "-std=c++17", "-pthread", "-Wno-psabi", *flags]
    command += [
        *level.compiler_flags,
        f'-DPLLM_ISA_HEADER="isa/{level.name}.hpp"',
        "-I",
        str(kernels_dir() / "pllm"),
    ]
    done = subprocess.run(
        [*command, str(HERE / "driver.cpp"), "-o", str(binary)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return binary


def run_driver(command: Sequence[str], work: Path, requests: Sequence[Request]) -> list[str]:
    """The labels of the requests whose answer is not the expected one."""
    sent, got = work / "requests", work / "answers"
    sent.write_bytes(b"".join(_encode(request) for request in requests))
    done = subprocess.run([*command, str(sent), str(got)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers, offset, wrong = got.read_bytes(), 0, []
    for request in requests:
        (status,) = struct.unpack_from("<q", answers, offset)
        expected = request.expected.tobytes()
        found = answers[offset + 8 : offset + 8 + len(expected)]
        offset += 8 + len(expected)
        if status != request.status or (request.status == _good(request) and found != expected):
            wrong.append(f"{request.operation} {request.label}: status {status}")
    assert offset == len(answers)
    return wrong


def _good(request: Request) -> int:
    return 1 if request.operation in {"mask", "unmask", "pack", "uniform"} else 0


def _encode(request: Request) -> bytes:
    numbers = [OPERATIONS[request.operation], request.outputs, request.inputs, request.rows, request.bits]
    tail = [request.columns, request.threads, request.expected.nbytes]
    head = (
        struct.pack("<5q", *numbers)
        + struct.pack("<Q", request.parameter % 2**64)
        + struct.pack("<3q", *tail)
    )
    blocks = (request.first.tobytes(), request.second.tobytes())
    return head + b"".join(struct.pack("<q", len(block)) + block for block in blocks)
