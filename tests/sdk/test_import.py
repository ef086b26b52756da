"""`import pllm_lang` loads nothing of what it offers, and offers exactly what it lists."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import pllm_lang

MODULES = ("kernels", "native", "nonlinear", "passes", "profiles", "schedulers", "sources")
REQUIRED = {
    *("lower_model", "compile", "CompiledPlan", "Deployment", "ExecutionBudget", "Experiment", "native"),
    *MODULES,
}


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; before = set(sys.modules); {statement}; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_loads_nothing_but_importlib() -> None:
    root = str(Path(pllm_lang.__file__).parents[1])
    found = loaded_by(f"sys.path.insert(0, {root!r}); import pllm_lang")
    assert "pllm_lang" in found
    assert {name for name in found if name.startswith("pllm_lang.")} == set()
    assert not found & {"typing", "msgspec", "json", "re", "numpy", "cppyy", "lark", "yaml", "inspect"}


def test_views_load_neither_numpy_nor_yaml_nor_lark() -> None:
    names = ("kernels", "nonlinear", "passes", "profiles", "schedulers", "sources")
    imports = ", ".join(f"pllm_lang.{name}" for name in names)
    code = f"import sys; import {imports}; pllm_lang = sys.modules['pllm_lang']; pllm_lang.compile, pllm_lang.Experiment"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    found = set(done.stdout.split())
    assert "pllm_lang.sdk.compiled" in found
    assert not found & {"numpy", "cppyy", "yaml", "lark", "pygls", "rich"}


def test_every_public_name_is_there() -> None:
    assert set(pllm_lang.__all__) >= REQUIRED
    assert set(dir(pllm_lang)) >= set(pllm_lang.__all__)
    for name in pllm_lang.__all__:
        assert getattr(pllm_lang, name) is getattr(pllm_lang, name), name


@pytest.mark.parametrize("name", MODULES)
def test_module_offers_what_it_lists(name: str) -> None:
    module = importlib.import_module(f"pllm_lang.{name}")
    assert getattr(pllm_lang, name) is module
    assert module.__all__ == sorted(module.__all__)
    assert all(hasattr(module, public) for public in module.__all__)


def test_unknown_names_are_refused_as_python_does() -> None:
    with pytest.raises(AttributeError, match=r"module 'pllm_lang' has no attribute 'compille'"):
        pllm_lang.compille  # type: ignore[attr-defined]  # noqa: B018


WITHOUT_EXTRAS = """
import sys
sys.modules.update(dict.fromkeys(("yaml", "numpy", "cppyy")))
import pllm_lang as pllm
from pllm_lang.profiles import MaskedLinearCpu
from pllm_lang.sources import TinyModel
budget = pllm.ExecutionBudget(requests=1, max_input_tokens=1, max_new_tokens=1)
found = pllm.Experiment("x", MaskedLinearCpu(TinyModel()), pllm.Deployment.local(root="x"), budget)
assert pllm.Experiment.from_spec(found.canonical_bytes()) == found
pllm.compile, pllm.lower_model
try:
    pllm.Experiment.from_spec("name: x", format="yaml")
except pllm.ConfigurationError as error:
    print(error)
"""


def test_only_yaml_needs_the_package_for_yaml() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS], capture_output=True, text=True, check=True)
    assert done.stdout == "YAML needs yaml: pip install 'pllm-lang[interchange]', or use JSON\n"
