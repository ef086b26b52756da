"""A `pllm.experiment.v2` document as Structs, its canonical form and its digests.

In: Structs. Out: the document as a JSON value, and the digests of configuration and pipeline. Defaults are
left out of the document, as the SDK leaves them out.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from pllm_lang.interchange.canonical import digest_bytes, python_canonical_bytes

SCHEMA = "pllm.experiment.v2"
CONFIGURATION_DOMAIN = "pllm.configuration.v1"
PIPELINE_DOMAIN = "pllm.pipeline.v2"
DEFAULT_KIND = "huggingface"


class ModelDoc(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the model comes from."""

    source: str
    kind: str = DEFAULT_KIND
    model_id: str | None = None
    revision: str | None = None
    endpoint: str | None = None
    local_files_only: bool = False


class ComponentDoc(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A component and its parameters (a JSON object)."""

    component: str
    params: dict[str, Any]


class BudgetDoc(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The most that a run may use."""

    requests: int
    max_input_tokens: int
    max_new_tokens: int


class ExperimentDoc(msgspec.Struct, frozen=True):
    """An experiment: `components` by slot, `root` is the place of its local deployment."""

    name: str
    model: ModelDoc
    components: dict[str, ComponentDoc]
    root: str
    budget: BudgetDoc


class HasDocument(Protocol):
    """Something that shows a document, such as `pllm_lang.Experiment`."""

    def document(self) -> ExperimentDoc: ...


def experiment_spec(experiment: ExperimentDoc | HasDocument) -> dict[str, Any]:
    """The document of `experiment` as a JSON value."""
    experiment = experiment if isinstance(experiment, ExperimentDoc) else experiment.document()
    return {
        "schema": SCHEMA,
        "name": experiment.name,
        "pipeline": pipeline_spec(experiment),
        "deployment": {"kind": "local", "root": experiment.root},
        "budget": msgspec.to_builtins(experiment.budget),
    }


def pipeline_spec(experiment: ExperimentDoc) -> dict[str, Any]:
    """The part that says what runs: model and components."""
    components = msgspec.to_builtins(experiment.components)
    return {"model": model_spec(experiment.model), "components": components}


def model_spec(model: ModelDoc) -> dict[str, Any]:
    """The model without what is default. (msgspec would compare defaults by identity, so not by
    `omit_defaults`.)
    """
    optional = {
        "kind": DEFAULT_KIND,
        "model_id": None,
        "revision": None,
        "endpoint": None,
        "local_files_only": False,
    }
    values = msgspec.to_builtins(model)
    return {key: value for key, value in values.items() if key not in optional or value != optional[key]}


def experiment_bytes(experiment: ExperimentDoc | HasDocument) -> bytes:
    """Canonical bytes of the document, floats spelled like the SDK's Python layer, which digests it."""
    return python_canonical_bytes(experiment_spec(experiment))


def configuration_digest(experiment: ExperimentDoc | HasDocument) -> str:
    """Digest of the whole document."""
    return digest_bytes(CONFIGURATION_DOMAIN, experiment_bytes(experiment))


def pipeline_digest(experiment: ExperimentDoc) -> str:
    """Digest of model and components only."""
    return digest_bytes(PIPELINE_DOMAIN, python_canonical_bytes(pipeline_spec(experiment)))
