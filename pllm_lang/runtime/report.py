"""`capabilities()`: what is installed and what runs, for people who must say so before they claim
anything."""

import platform
from typing import Any

from pllm_lang import __version__
from pllm_lang.runtime import cpu
from pllm_lang.runtime.record import ELEMENT_OPERATIONS, INSTRUCTION_SETS, MAX_THREADS, OPERATIONS
from pllm_lang.runtime.startup import kernels

API_VERSION = 2


def capabilities() -> dict[str, Any]:
    """Plain data. `implementation` is "cpp-cppyy" or "python-reference"; `reason` says why nothing faster
    runs."""
    loaded = kernels().loaded
    level = next((level for level in INSTRUCTION_SETS if level.name == loaded.instruction_set), None)
    return {
        "api_version": API_VERSION,
        "implementation": loaded.implementation,
        "version": __version__,
        "compiled": loaded.implementation == "cpp-cppyy",
        "instruction_set": loaded.instruction_set,
        "instruction": level.instruction if level else "numpy",
        "supported_instruction_sets": [level.name for level in cpu.supported()],
        "origin": loaded.origin,
        "reason": loaded.reason,
        "machine": platform.machine(),
        "avx2": loaded.instruction_set in {"avx2", "avx_vnni", "avx512_vnni", "amx"},
        "neon": loaded.instruction_set in {"neon", "neon_dot", "neon_i8mm"},
        "parallel": "thread-pool",
        "max_threads": MAX_THREADS,
        "usable_cpus": cpu.usable_cpus(),
        "matrix_storage": "owned-packed-int8-int4",
        "operations": [operation.name for operation in OPERATIONS] + list(ELEMENT_OPERATIONS),
        "he_backend": "none",
        "gpu": False,
    }
