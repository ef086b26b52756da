"""An experiment: a pipeline, where it runs, and the most that it may use.

In: views, or a document. Out: a view of a `pllm.experiment.v2` document, its digests, and what it resolves
to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import msgspec

from pllm_lang.interchange.experiment.check import (
    experiment_from_spec,
    read_budget,
    read_deployment,
    read_name,
)
from pllm_lang.interchange.experiment.document import (
    BudgetDoc,
    ComponentDoc,
    ExperimentDoc,
    configuration_digest,
    experiment_spec,
    model_spec,
)
from pllm_lang.interchange.experiment.resolve import ResolvedExperiment, resolve_experiment
from pllm_lang.sdk.by_id import component_from_spec
from pllm_lang.sdk.errors import configuration_errors
from pllm_lang.sdk.pipeline import Pipeline, require
from pllm_lang.sdk.profiles import pipeline_of
from pllm_lang.sdk.sources import ModelSource
from pllm_lang.sdk.view import View, fill


class Deployment(View):
    """Where an experiment runs; `local` is the only kind."""

    __slots__ = ("root",)
    root: str

    def __init__(self, kind: str, root: str) -> None:
        with configuration_errors():
            fill(self, root=read_deployment({"kind": kind, "root": root}))
            self.canonical_bytes()

    @classmethod
    def local(cls, *, root: str) -> Self:
        """On this machine, at `root`."""
        return cls("local", root)

    def to_spec(self) -> dict[str, Any]:
        return {"kind": "local", "root": self.root}


class ExecutionBudget(View):
    """The most that a run may use: each at least 1."""

    __slots__ = ("document",)
    document: BudgetDoc

    def __init__(self, requests: int, max_input_tokens: int, max_new_tokens: int) -> None:
        given = {
            "requests": requests,
            "max_input_tokens": max_input_tokens,
            "max_new_tokens": max_new_tokens,
        }
        with configuration_errors():
            fill(self, document=read_budget(given))
            self.canonical_bytes()

    @property
    def requests(self) -> int:
        return self.document.requests

    @property
    def max_input_tokens(self) -> int:
        return self.document.max_input_tokens

    @property
    def max_new_tokens(self) -> int:
        return self.document.max_new_tokens

    def to_spec(self) -> dict[str, Any]:
        return msgspec.to_builtins(self.document)


class Experiment(View):
    """What `resolve` judges and what parties agree on by its `configuration_digest`.

    Raises `ConfigurationError` for a part that is not of its class.
    """

    __slots__ = ("budget", "deployment", "name", "pipeline")
    name: str
    pipeline: Pipeline
    deployment: Deployment
    budget: ExecutionBudget

    def __init__(
        self, name: str, pipeline: Pipeline, deployment: Deployment, budget: ExecutionBudget
    ) -> None:
        require("pipeline", pipeline, Pipeline)
        require("deployment", deployment, Deployment)
        require("budget", budget, ExecutionBudget)
        with configuration_errors():
            fill(self, name=read_name(name), pipeline=pipeline, deployment=deployment, budget=budget)
            self.canonical_bytes()

    @classmethod
    def from_spec(cls, source: Mapping[str, Any] | str | bytes, *, format: str | None = None) -> Self:
        """The experiment that a document states: a mapping, or JSON or YAML text of at most 1 MiB."""
        with configuration_errors():
            document = experiment_from_spec(source, format=format)
        components = {
            slot: component_from_spec(msgspec.to_builtins(used)) for slot, used in document.components.items()
        }
        return cls(
            document.name,
            pipeline_of(ModelSource.from_spec(model_spec(document.model)), components),
            Deployment.local(root=document.root),
            ExecutionBudget(**msgspec.to_builtins(document.budget)),
        )

    def document(self) -> ExperimentDoc:
        """The document as data, for `pllm_lang.interchange`."""
        return ExperimentDoc(
            name=self.name,
            model=self.pipeline.model.document,
            components={s: ComponentDoc(**c.to_spec()) for s, c in self.pipeline.components.items()},
            root=self.deployment.root,
            budget=self.budget.document,
        )

    def to_spec(self) -> dict[str, Any]:
        return experiment_spec(self.document())

    def configuration_digest(self) -> str:
        """Digest of the whole document: 64 hexadecimal digits."""
        return configuration_digest(self.document())

    def resolve(self) -> ResolvedExperiment:
        """What the experiment would run as; `ConfigurationError` where no profile fits its composition."""
        with configuration_errors():
            return resolve_experiment(self.document())
