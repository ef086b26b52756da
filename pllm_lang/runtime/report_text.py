"""What `capabilities()` says, as lines for people: what runs, on which instructions, and why nothing faster."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from pllm_lang.runtime.record import ELEMENT_OPERATIONS

WIDTH = 100
ORIGINS = {"library": "compiled before", "jit": "compiled when first called"}


def as_text(found: Mapping[str, Any]) -> str:
    """A line a fact, its name in front; long lists go on below."""
    rows = list(_rows(found))
    width = max(len(name) for name, _ in rows) + 2
    return "\n".join(
        textwrap.fill(
            said,
            WIDTH,
            initial_indent=name.ljust(width),
            subsequent_indent=" " * width,
            break_on_hyphens=False,
        )
        for name, said in rows
    )


def _rows(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "kernels", _kernels(found)
    yield "instructions", _instructions(found)
    yield "machine", f"{found['machine']}; {_counted(found['usable_cpus'], 'processor')} to run on"
    yield "threads", f"at most {found['max_threads']} a call"
    elementwise = set(ELEMENT_OPERATIONS)
    yield "products", ", ".join(one for one in found["operations"] if one not in elementwise)
    yield "entry by entry", ", ".join(one for one in found["operations"] if one in elementwise)
    yield "not here", ", ".join(_absent(found))
    yield "version", f"{found['version']}, interface {found['api_version']}"


def _kernels(found: Mapping[str, Any]) -> str:
    why = f": {found['reason']}" if found["reason"] else ""
    if not found["compiled"]:
        return f"the slow numpy reference, in place of C++{why}"
    return f"C++ through cppyy, {ORIGINS[found['origin']]}{why}"


def _instructions(found: Mapping[str, Any]) -> str:
    has = found["supported_instruction_sets"]
    if not found["compiled"]:
        return f"those of numpy; this machine has {', '.join(has)}"
    runs = f"{found['instruction_set']}, by {found['instruction']}"
    faster = has[: has.index(found["instruction_set"])]
    slower = has[len(faster) + 1 :]
    return runs + (
        f"; {', '.join(faster)} would be faster, and PLLM_ISA asks for this"
        if faster
        else f"; also here: {', '.join(slower)} (PLLM_ISA chooses)" if slower else ""
    )  # fmt: skip


def _absent(found: Mapping[str, Any]) -> Iterator[str]:
    if found["he_backend"] == "none":
        yield "homomorphic encryption"
    if not found["gpu"]:
        yield "kernels for a GPU"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
