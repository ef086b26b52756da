"""Where the model of a pipeline comes from.

In: a place, and what kind of place it is. Out: a view of the `model` of an experiment, defaults left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import msgspec

from pllm_lang.interchange.experiment.check import read_model
from pllm_lang.interchange.experiment.document import DEFAULT_KIND, ModelDoc, model_spec
from pllm_lang.sdk.errors import configuration_errors
from pllm_lang.sdk.view import View, fill


class ModelSource(View):
    """A model at `source`.

    `kind` is one of huggingface, safetensors, vllm, mlx, mlx-lm, gguf, llama.cpp, ollama and tiny; `revision`
    and `local_files_only` are for the first three, `endpoint` (an http or https origin) for ollama. Raises
    `ConfigurationError`.
    """

    __slots__ = ("document",)
    document: ModelDoc

    def __init__(
        self,
        source: str,
        *,
        kind: str = DEFAULT_KIND,
        model_id: str | None = None,
        revision: str | None = None,
        endpoint: str | None = None,
        local_files_only: bool = False,
    ) -> None:
        given = {
            "source": source,
            "kind": kind,
            "model_id": model_id,
            "revision": revision,
            "endpoint": endpoint,
            "local_files_only": local_files_only,
        }
        self._read(given)

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Self:
        """The source that a document states."""
        found = object.__new__(cls)
        found._read(spec)
        return found

    def _read(self, spec: Mapping[str, Any]) -> None:
        with configuration_errors():
            fill(self, document=read_model(spec))
            self.canonical_bytes()

    @property
    def model_id(self) -> str | None:
        return self.document.model_id

    def to_spec(self) -> dict[str, Any]:
        return msgspec.to_builtins(model_spec(self.document))


class TinyModel(ModelSource):
    """A built-in model of random weights, small enough for tests; the only `family` is qwen2."""

    __slots__ = ()

    def __init__(self, family: str = "qwen2", *, model_id: str | None = None) -> None:
        super().__init__(family, kind="tiny", model_id=model_id)


class BundleModel(ModelSource):
    """A model in a folder or file at `path`, in one of the formats that `ModelSource` names as kinds."""

    __slots__ = ()

    def __init__(self, path: str, *, format: str = DEFAULT_KIND, model_id: str | None = None) -> None:
        super().__init__(path, kind=format, model_id=model_id)
