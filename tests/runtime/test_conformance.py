"""Every case of the conformance file: the same results, the same errors, the same texts."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pllm_lang.runtime import wire
from pllm_lang.runtime.engine import MaskedGEMM
from pllm_lang.runtime.errors import NativeKernelError

DATA = Path(__file__).parents[1] / "data" / "kernels" / "kernels.dev.json"
CASES = json.loads(DATA.read_text())["cases"]
ENGINE = [case for case in CASES if case["op"] == "__init__"]
PRODUCTS = [case for case in CASES if case["layer"] == "MaskedGEMM" and case["op"] != "__init__"]
BYTES = [case for case in CASES if case["layer"] == "_native"]
# That SDK tells its users to rebuild it with its own tool; here there is nothing to rebuild.
OTHER_TEXTS = {"engine/err-library": "External C++ libraries are not accepted"}
ERRORS = {"NativeKernelError": NativeKernelError, "ValueError": ValueError} | {
    kind.__name__: kind for kind in (OverflowError, RuntimeError, TypeError)
}


def array(spec: dict[str, Any]) -> np.ndarray[Any, Any]:
    if "fill" in spec:
        return np.full(spec["shape"], spec["fill"], spec["dtype"])
    return np.array(spec["data"], dtype=spec["dtype"]).reshape(spec["shape"])


def raises(case: dict[str, Any]) -> Any:
    expected = case["expect"]
    kind = ERRORS[expected["error_type"].rsplit(".", 1)[-1]]
    return pytest.raises(kind, match=re.escape(OTHER_TEXTS.get(case["id"], expected["error"])))


def test_the_file_is_whole() -> None:
    assert len(CASES) == 142 == len(ENGINE) + len(PRODUCTS) + len(BYTES)


@pytest.mark.parametrize("case", PRODUCTS, ids=lambda case: case["id"])
def test_products(case: dict[str, Any], backend: str) -> None:
    def run() -> np.ndarray[Any, Any]:
        matrix = MaskedGEMM(threads=1).compile(array(case["weights"]))
        extra = (case["modulus"],) if "modulus" in case else ()
        return getattr(matrix, case["op"])(array(case["inputs"]), *extra)

    if not case["expect"]["ok"]:
        with raises(case):
            run()
        return
    expected = array(case["expect"]["output"])
    found = run()
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert (found == expected).all()


@pytest.mark.parametrize("case", ENGINE, ids=lambda case: case["id"])
def test_engines(case: dict[str, Any], backend: str) -> None:
    if not case["expect"]["ok"]:
        with raises(case):
            MaskedGEMM(**case["arguments"])
        return
    engine = MaskedGEMM(**case["arguments"])
    assert engine.threads == case["expect"]["threads"]
    assert engine.native == (backend == "cpp")


@pytest.mark.parametrize("case", BYTES, ids=lambda case: case["id"])
def test_byte_functions(case: dict[str, Any], backend: str) -> None:
    arguments = dict(case["arguments"])
    names = {"input": "data", "cols": "columns"}
    arguments = {
        names.get(name, name): bytes.fromhex(value) if isinstance(value, str) else value
        for name, value in arguments.items()
    }
    expected = case["expect"]
    if not expected["ok"]:
        with raises(case):
            wire.FUNCTIONS[case["op"]](**arguments)
        return
    found = wire.FUNCTIONS[case["op"]](**arguments)
    if "output_hex" in expected:
        assert found.hex() == expected["output_hex"]
    elif "values_hex" in expected:
        assert [part.hex() for part in found] == [expected["values_hex"], expected["scales_hex"]]
    else:
        assert len(found) == expected["output_len"]
        assert (np.frombuffer(found, "<u4") < arguments["modulus"]).all()
