"""`pllm capabilities` says what runs, in text and in JSON, and explains what cannot be had."""

import json

import pytest
from click.testing import CliRunner

from pllm_lang.cli.commands.capabilities import command
from pllm_lang.runtime import startup
from pllm_lang.runtime.report import capabilities
from pllm_lang.runtime.report_text import as_text


def test_json_is_what_python_says(backend: str) -> None:
    done = CliRunner().invoke(command, ["--format", "json"])
    assert json.loads(done.output) == capabilities()


def test_text_says_what_runs(backend: str) -> None:
    found, text = capabilities(), CliRunner().invoke(command).output
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert all(
        found["compiled"] != ("numpy reference" in line) for line in lines if line.startswith("kernels ")
    )
    words = text.replace(",", " ").replace(";", " ").split()
    assert {*found["operations"], *found["supported_instruction_sets"], found["version"]} <= {*words}


FOUND = {
    "api_version": 2,
    "implementation": "cpp-cppyy",
    "version": "0.1.0",
    "compiled": True,
    "instruction_set": "avx2",
    "instruction": "vpmaddwd ymm",
    "supported_instruction_sets": ["amx", "avx2", "scalar"],
    "origin": "library",
    "reason": "",
    "machine": "x86_64",
    "max_threads": 32,
    "usable_cpus": 1,
    "operations": ["clear", "mask"],
    "he_backend": "none",
    "gpu": False,
}


def test_text_reads_as_sentences() -> None:
    assert as_text(FOUND).splitlines() == [
        "kernels         C++ through cppyy, compiled before",
        "instructions    avx2, by vpmaddwd ymm; amx would be faster, and PLLM_ISA asks for this",
        "machine         x86_64; 1 processor to run on",
        "threads         at most 32 a call",
        "products        clear",
        "entry by entry  mask",
        "not here        homomorphic encryption, kernels for a GPU",
        "version         0.1.0, interface 2",
    ]


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"instruction_set": "amx", "instruction": "tdpbusd"}, "amx, by tdpbusd; also here: avx2, scalar (PLLM_ISA chooses)"),
        ({"origin": "jit", "reason": "PLLM_KERNELS=jit"}, "C++ through cppyy, compiled when first called: PLLM_KERNELS=jit"),
        ({"compiled": False, "reason": "no cppyy"}, "the slow numpy reference, in place of C++: no cppyy"),
        ({"compiled": False}, "those of numpy; this machine has amx, avx2, scalar"),
        ({"usable_cpus": 2}, "x86_64; 2 processors to run on"),
    ],
)  # fmt: skip
def test_text_says_why_nothing_faster_runs(changed: dict[str, object], line: str) -> None:
    assert any(one.endswith(f"  {line}") for one in as_text(FOUND | changed).splitlines())


def test_what_cannot_be_had_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "_kernels", [])
    monkeypatch.setenv("PLLM_KERNELS", "fast")
    done = CliRunner().invoke(command, standalone_mode=False)
    assert done.return_value == 2
    assert "must be one of library, jit, reference" in done.output
