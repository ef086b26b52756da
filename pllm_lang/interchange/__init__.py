"""Documents of the pllm.run SDK (release 0.1.0a2), in and out.

`decoder_plan` writes `pllm.decoder_plan.v1`, `evict_kv_cache` transforms it; `compile_request` compiles
`pllm.compile_request.v2`; `experiment_spec` and `experiment_from_spec` write and read `pllm.experiment.v2`.
Bytes and digests are those of that release; where it is wrong, we refuse unless told otherwise.
`experiment_of_record` and `import_experiment` go between documents and `.pllm` text; they need the library and
its readers, so they are loaded when they are asked for (PEP 562).
"""

from importlib import import_module
from typing import TYPE_CHECKING

from pllm_lang.interchange.canonical import canonical_bytes, digest
from pllm_lang.interchange.compilation.compile import compile_request
from pllm_lang.interchange.compilation.documents import CompiledRegion
from pllm_lang.interchange.components import (
    ComponentRecord,
    ParameterRecord,
    checked_params,
    component_records,
)
from pllm_lang.interchange.decoder.eviction import evict_kv_cache
from pllm_lang.interchange.decoder.eviction_component import kv_cache_eviction
from pllm_lang.interchange.decoder.lower import decoder_plan
from pllm_lang.interchange.decoder.plan import DecoderPlan
from pllm_lang.interchange.errors import (
    CompilationError,
    ComponentError,
    ConfigRefused,
    Diagnostic,
    DocumentError,
    ExperimentError,
    ExportRefused,
    InterchangeError,
    NotFaithful,
    NotSaid,
    PassError,
)
from pllm_lang.interchange.experiment.check import experiment_from_spec
from pllm_lang.interchange.experiment.document import (
    BudgetDoc,
    ComponentDoc,
    ExperimentDoc,
    ModelDoc,
    configuration_digest,
    experiment_bytes,
    experiment_spec,
    pipeline_digest,
)
from pllm_lang.interchange.experiment.resolve import ResolvedExperiment, resolve_experiment

if TYPE_CHECKING:
    from pllm_lang.interchange.experiment.record import ExportedExperiment, experiment_of_record
    from pllm_lang.interchange.experiment.round_trip import import_experiment

__all__ = [
    "BudgetDoc",
    "CompilationError",
    "CompiledRegion",
    "ComponentDoc",
    "ComponentError",
    "ComponentRecord",
    "ConfigRefused",
    "DecoderPlan",
    "Diagnostic",
    "DocumentError",
    "ExperimentDoc",
    "ExperimentError",
    "ExportRefused",
    "ExportedExperiment",
    "InterchangeError",
    "ModelDoc",
    "NotFaithful",
    "NotSaid",
    "ParameterRecord",
    "PassError",
    "ResolvedExperiment",
    "canonical_bytes",
    "checked_params",
    "compile_request",
    "component_records",
    "configuration_digest",
    "decoder_plan",
    "digest",
    "evict_kv_cache",
    "experiment_bytes",
    "experiment_from_spec",
    "experiment_of_record",
    "experiment_spec",
    "import_experiment",
    "kv_cache_eviction",
    "pipeline_digest",
    "resolve_experiment",
]

_HOMES = {
    "ExportedExperiment": "record",
    "experiment_of_record": "record",
    "import_experiment": "round_trip",
}


def __getattr__(name: str) -> object:
    """A name of the `.pllm` side that nobody asked for yet."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.experiment.{_HOMES[name]}"), name)
    globals()[name] = found
    return found
