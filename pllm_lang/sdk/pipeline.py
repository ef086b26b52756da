"""A pipeline: a model and, for each slot, one component.

In: a source and components by slot. Out: a view of the `pipeline` of an experiment, with its digest.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pllm_lang.interchange.canonical import digest_bytes
from pllm_lang.interchange.experiment.check import read_components
from pllm_lang.interchange.experiment.document import PIPELINE_DOMAIN
from pllm_lang.sdk.component import Component
from pllm_lang.sdk.errors import ConfigurationError, configuration_errors
from pllm_lang.sdk.sources import ModelSource
from pllm_lang.sdk.view import View, fill


class Pipeline(View):
    """Any composition. Which compositions run is decided by `Experiment.resolve`.

    Slot names are non-empty and without "__". Raises `ConfigurationError`.
    """

    __slots__ = ("_components", "model")
    model: ModelSource
    _components: tuple[tuple[str, Component], ...]

    def __init__(self, model: ModelSource, components: Mapping[str, Component]) -> None:
        require("model", model, ModelSource)
        require("components", components, Mapping)
        for slot, component in components.items():
            require(slot, component, Component)
        fill(self, model=model, _components=tuple(components.items()))
        with configuration_errors():
            read_components({slot: component.to_spec() for slot, component in self._components})
            self.canonical_bytes()

    @property
    def components(self) -> Mapping[str, Component]:
        """The components by slot; read-only."""
        return MappingProxyType(dict(self._components))

    def to_spec(self) -> dict[str, Any]:
        components = {slot: component.to_spec() for slot, component in self._components}
        return {"model": self.model.to_spec(), "components": components}

    def digest(self) -> str:
        """Digest of model and components: 64 hexadecimal digits."""
        return digest_bytes(PIPELINE_DOMAIN, self.canonical_bytes())


def require(name: str, value: object, kind: type) -> None:
    """Refuses an argument that is not of the class which its place asks for."""
    if not isinstance(value, kind):
        found = type(value).__name__
        raise ConfigurationError("configuration.type", f"{name} must be a {kind.__name__}, not {found}", name)
