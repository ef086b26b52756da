"""The only importer of cppyy: the C functions of `cpp_kernels/pllm/api.hpp`, from a compiled library or
just in time.

Comes in: an instruction set and, where there is one, the path of a library that `cache.py` has verified.
Goes out: `CppKernels`. Importing this module imports cppyy, which ends the process where the C++ headers of
the system are missing: `startup.py` has asked `probe.py` before.
"""

import ctypes
import importlib
from collections.abc import Callable
from pathlib import Path
from threading import RLock
from typing import Any

from pllm_lang.resources import kernels_dir
from pllm_lang.runtime.interface import Loaded
from pllm_lang.runtime.record import InstructionSet
from pllm_lang.runtime.signals import kept_handlers

with kept_handlers():
    _cppyy: Any = importlib.import_module("cppyy")

# Which header defines a function; the first is compiled at the start, the others when first asked for.
_PRODUCTS = "products.hpp"
_DEFINED_IN = {
    **dict.fromkeys(("mask", "unmask", "quantize", "dequantize"), "elements.hpp"),
    **dict.fromkeys(("pack", "unpack", "rescale", "project"), "elements.hpp"),
    "uniform": "random.hpp",
    **dict.fromkeys(("multiply_limit", "read_limit"), "limits.hpp"),
}
# These take long, or wait for threads: other Python threads run meanwhile.
_RELEASING = frozenset(
    {"matrix", "pool_release", "clear", "ring32", "ring64", "residues32", "residues64", "uniform"}
)

# Kernels by their number in `Ring` of products.hpp: the struct of finish.hpp, with room for its digits.
_RINGS = (
    ("ring_clear", "Clear"),
    ("ring_32", "Ring32<{}>"),
    ("ring_64", "Ring64<{}>"),
    ("residue_32", "Residue<{}, std::uint32_t>"),
    ("residue_64", "Residue<{}, std::uint64_t>"),
)


class CppKernels:
    """Kernels of `interface.Kernels`."""

    def __init__(self, level: InstructionSet, library: Path | None, reason: str = "") -> None:
        self.loaded = Loaded(
            "cpp-cppyy", level.name, "library" if library else "jit", "" if library else reason
        )
        self._level = level
        self._lock = RLock()
        self._compiled: set[str] = set()
        self._functions: dict[str, Callable[..., Any]] = {}
        if library is None:
            _cppyy.add_include_path(str(kernels_dir() / "pllm"))
            _cppyy.cppdef(f'#include "system.hpp"\n#define PLLM_ISA_HEADER "isa/{level.name}.hpp"')
        else:
            _cppyy.cppdef((kernels_dir() / "pllm" / "api.hpp").read_text())
            ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)  # ten times as fast as cppyy.load_library

    def function(self, name: str) -> Callable[..., Any]:
        function = self._functions.get(name)
        if function is None:
            with self._lock:
                self._compile(_DEFINED_IN.get(name, _PRODUCTS))
                function = getattr(_cppyy.gbl, f"pllm_{name}")
                function.__release_gil__ = name in _RELEASING
                self._functions[name] = function
        return function

    def make(self, missing: int) -> None:
        ring, digits = divmod((missing - 8) // 2, 9)
        four_bits = missing % 2
        name, operation = _RINGS[ring]
        target = f"kernels[{name}][{digits}][{four_bits}]"
        value = f"&multiply<{operation.format(digits)}, {4 if four_bits else 8}>"
        with self._lock:
            if target not in self._compiled:
                _cppyy.cppdef(f"namespace pllm {{ const bool made_{missing} = ({target} = {value}, true); }}")
                self._compiled.add(target)

    def _compile(self, header: str) -> None:
        if self.loaded.origin == "library" or header in self._compiled:
            return
        text = f'#include "{header}"'
        if self._level.jit_target:
            push = f'push(__attribute__((target("{self._level.jit_target}"))), apply_to=function)'
            text = f"#pragma clang attribute {push}\n{text}\n#pragma clang attribute pop"
        if header == "limits.hpp":
            self._compile(_PRODUCTS)
        _cppyy.cppdef(text)
        self._compiled.add(header)
