"""pllm-lang: a plan language and verifier for private LLM inference.

The names of the Python interface are loaded when they are asked for (PEP 562), so that `import pllm_lang`
and the start of the command line stay light.
"""

from importlib import import_module

TYPE_CHECKING = False  # what type checkers take for true; `typing` would double the time of this import
if TYPE_CHECKING:
    from pllm_lang import kernels, native, nonlinear, passes, profiles, schedulers, sources
    from pllm_lang.interchange.errors import CompilationError, NotFaithful
    from pllm_lang.models.errors import LoweringError
    from pllm_lang.sdk.compiled import CompiledPlan, compile
    from pllm_lang.sdk.component import Component
    from pllm_lang.sdk.errors import ConfigurationError
    from pllm_lang.sdk.experiment import Deployment, ExecutionBudget, Experiment
    from pllm_lang.sdk.locked import LockedPlan, PlanRefused, compile_plan
    from pllm_lang.sdk.model_plan import ModelPlan, lower_model
    from pllm_lang.sdk.pipeline import Pipeline

__version__ = "0.1.0"

__all__ = [
    "CompilationError",
    "CompiledPlan",
    "Component",
    "ConfigurationError",
    "Deployment",
    "ExecutionBudget",
    "Experiment",
    "LockedPlan",
    "LoweringError",
    "ModelPlan",
    "NotFaithful",
    "Pipeline",
    "PlanRefused",
    "compile",
    "compile_plan",
    "kernels",
    "lower_model",
    "native",
    "nonlinear",
    "passes",
    "profiles",
    "schedulers",
    "sources",
]

_MODULES = frozenset({"kernels", "native", "nonlinear", "passes", "profiles", "schedulers", "sources"})
_HOMES = {
    "CompilationError": "interchange.errors",
    "CompiledPlan": "sdk.compiled",
    "Component": "sdk.component",
    "ConfigurationError": "sdk.errors",
    "Deployment": "sdk.experiment",
    "ExecutionBudget": "sdk.experiment",
    "Experiment": "sdk.experiment",
    "LockedPlan": "sdk.locked",
    "LoweringError": "models.errors",
    "ModelPlan": "sdk.model_plan",
    "NotFaithful": "interchange.errors",
    "Pipeline": "sdk.pipeline",
    "PlanRefused": "sdk.locked",
    "compile": "sdk.compiled",
    "compile_plan": "sdk.locked",
    "lower_model": "sdk.model_plan",
}


def __getattr__(name: str) -> object:
    """A public name that nobody asked for yet."""
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
