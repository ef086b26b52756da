"""Every instruction set gives what numpy gives, bit for bit: those of this machine here, those of ARM under
qemu."""

import random
from pathlib import Path

import pytest

from pllm_lang.runtime import cpu
from pllm_lang.runtime.record import INSTRUCTION_SETS, InstructionSet
from tests.runtime.driver import Request, compile_driver, run_driver
from tests.runtime.requests import (
    element_requests,
    large_requests,
    long_requests,
    product_requests,
    refused_requests,
    written_in_place,
)

pytestmark = pytest.mark.system

HERE = cpu.supported()
QEMU_CPUS = {"neon": "cortex-a57", "neon_dot": "neoverse-n1", "neon_i8mm": "max"}
EMULATED = [level for level in INSTRUCTION_SETS if level.name in QEMU_CPUS and level not in HERE]


def every_request(seed: int, shapes: int) -> list[Request]:
    requests = [
        *product_requests(seed, shapes),
        *long_requests(seed),
        *large_requests(seed),
        *written_in_place(seed),
        *refused_requests(),
        *element_requests(seed),
    ]
    random.Random(seed).shuffle(requests)
    return requests


@pytest.fixture(scope="module")
def requests() -> list[Request]:
    return every_request(seed=1, shapes=120)


@pytest.mark.parametrize("level", HERE, ids=lambda level: level.name)
def test_this_machine_gives_what_numpy_gives(
    level: InstructionSet, requests: list[Request], tmp_path: Path
) -> None:
    assert cpu.permitted(level)
    assert run_driver([str(compile_driver(level, tmp_path))], tmp_path, requests) == []


@pytest.mark.parametrize("level", EMULATED, ids=lambda level: level.name)
def test_arm_gives_what_numpy_gives(level: InstructionSet, requests: list[Request], tmp_path: Path) -> None:
    binary = compile_driver(level, tmp_path, ("-O2", "-static"), "aarch64-linux-gnu-g++")
    command = ["qemu-aarch64", "-cpu", QEMU_CPUS[level.name], str(binary)]
    assert run_driver(command, tmp_path, requests) == []


@pytest.mark.parametrize("level", HERE, ids=lambda level: level.name)
def test_sanitizers_find_nothing(level: InstructionSet, tmp_path: Path) -> None:
    flags = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    requests = [
        *product_requests(2, 25, 129),
        *list(long_requests(2))[::6],
        *written_in_place(2),
        *refused_requests(),
        *element_requests(2),
    ]
    assert run_driver([str(compile_driver(level, tmp_path, flags))], tmp_path, requests) == []
