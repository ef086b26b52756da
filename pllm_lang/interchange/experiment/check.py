"""From a `pllm.experiment.v2` value to an `ExperimentDoc`, with everything checked that the SDK checks on
loading.

In: a mapping, or JSON or YAML text. Out: the experiment with defaults filled in and parameters normalised,
or an error that names the path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from pllm_lang.interchange.canonical import python_canonical_bytes
from pllm_lang.interchange.components import checked_params
from pllm_lang.interchange.errors import ExperimentError
from pllm_lang.interchange.experiment.document import (
    DEFAULT_KIND,
    SCHEMA,
    BudgetDoc,
    ComponentDoc,
    ExperimentDoc,
    ModelDoc,
)
from pllm_lang.interchange.experiment.text import read_text
from pllm_lang.interchange.reading import as_object, check_depth, shown

HUB_KINDS = frozenset({"huggingface", "safetensors", "vllm"})
KINDS = HUB_KINDS | {"mlx", "mlx-lm", "gguf", "llama.cpp", "ollama", "tiny"}
TINY_SOURCES = frozenset({"qwen2"})
DEFAULT_ENDPOINT = "http://127.0.0.1:11434"
MODEL_KEYS = frozenset(ModelDoc.__struct_fields__)
BUDGET_KEYS = BudgetDoc.__struct_fields__


def experiment_from_spec(
    source: Mapping[str, Any] | str | bytes, *, format: str | None = None
) -> ExperimentDoc:
    """Read an experiment; `format` ("json" or "yaml") is guessed from text when absent.

    Errors: `DocumentError`, `ExperimentError`, `ComponentError`.
    """
    spec = _object(
        _value(source, format), "experiment", ("schema", "name", "pipeline", "deployment", "budget")
    )
    if spec["schema"] != SCHEMA:
        raise ExperimentError("experiment.schema", f"must be {SCHEMA!r}, not {spec['schema']!r}", "schema")
    pipeline = _object(spec["pipeline"], "pipeline", ("model", "components"))
    return ExperimentDoc(
        name=read_name(spec["name"]),
        model=read_model(pipeline["model"]),
        components=read_components(pipeline["components"]),
        root=read_deployment(spec["deployment"]),
        budget=read_budget(spec["budget"]),
    )


def read_name(value: Any) -> str:
    """The `name` of an experiment."""
    return _text(value, "name")


def read_deployment(value: Any) -> str:
    """The root of a `deployment`, which is local."""
    found = _object(value, "deployment", ("kind", "root"))
    if found["kind"] != "local":
        raise ExperimentError("experiment.value", "must be 'local'", "deployment.kind")
    return _text(found["root"], "deployment.root")


def _value(source: object, format: str | None) -> object:
    """The JSON value of `source`; a mapping is only checked to be one."""
    mapping = as_object(source)
    if mapping is None:
        return read_text(source, format)
    check_depth(python_canonical_bytes(mapping).decode())
    return mapping


def _object(value: Any, path: str, keys: tuple[str, ...]) -> Mapping[str, Any]:
    """`value` if it is an object with exactly `keys`."""
    found = _mapping(value, path)
    for key in sorted(set(found) - set(keys)):
        raise ExperimentError("experiment.unknown", "is no key of the format", f"{path}.{key}")
    for key in keys:
        if key not in found:
            raise ExperimentError("experiment.missing", "is missing", f"{path}.{key}")
    return found


def _mapping(value: Any, path: str) -> Mapping[str, Any]:
    found = as_object(value)
    if found is None:
        raise ExperimentError("experiment.type", "must be an object", path)
    for key in cast("Mapping[object, object]", found):
        if not isinstance(key, str):
            raise ExperimentError("experiment.type", f"the key {key!r} is not text", path)
    return found


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str) or not value:
        raise ExperimentError("experiment.type", f"must be a non-empty string, not {shown(value)}", path)
    return value


def _optional_text(value: Any, path: str) -> str | None:
    return None if value is None else _text(value, path)


def read_model(value: Any) -> ModelDoc:
    """The `model` of a pipeline."""
    found = _mapping(value, "model")
    for key in sorted(set(found) - MODEL_KEYS):
        raise ExperimentError("experiment.unknown", "is no key of the format", f"model.{key}")
    if "source" not in found:
        raise ExperimentError("experiment.missing", "is missing", "model.source")
    source, kind = (
        _text(found["source"], "model.source"),
        _text(found.get("kind", DEFAULT_KIND), "model.kind"),
    )
    if kind not in KINDS:
        raise ExperimentError(
            "experiment.value", f"{kind!r} is none of {', '.join(sorted(KINDS))}", "model.kind"
        )
    if kind == "tiny" and source not in TINY_SOURCES:
        raise ExperimentError(
            "experiment.value", f"a tiny model is one of {', '.join(TINY_SOURCES)}", "model.source"
        )
    local = found.get("local_files_only", False)
    if not isinstance(local, bool):
        raise ExperimentError("experiment.type", "must be true or false", "model.local_files_only")
    model_id = _optional_text(found.get("model_id"), "model.model_id")
    revision = _optional_text(found.get("revision"), "model.revision")
    endpoint = _optional_text(found.get("endpoint"), "model.endpoint")
    for key, given in (("revision", revision), ("local_files_only", local)):
        if given and kind not in HUB_KINDS:
            raise ExperimentError("experiment.value", f"does not apply to kind {kind!r}", f"model.{key}")
    if kind == "ollama":
        endpoint = _origin(endpoint or DEFAULT_ENDPOINT)
    elif endpoint is not None:
        raise ExperimentError("experiment.value", f"does not apply to kind {kind!r}", "model.endpoint")
    return ModelDoc(source, kind, model_id, revision, endpoint, local)


def _origin(text: str) -> str:
    """An http(s) origin, with its scheme in lower case."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as fault:
        raise ExperimentError("experiment.value", str(fault), "model.endpoint") from None
    has_credentials = parts.username is not None or parts.password is not None
    is_origin = parts.path in {"", "/"} and not parts.query and not parts.fragment and port != 0
    if parts.scheme not in {"http", "https"} or not parts.hostname or has_credentials or not is_origin:
        raise ExperimentError(
            "experiment.value", "must be an http(s) origin without credentials", "model.endpoint"
        )
    return f"{parts.scheme}://{parts.netloc}"


def read_components(value: Any) -> dict[str, ComponentDoc]:
    """The `components` of a pipeline, by slot."""
    found: dict[str, ComponentDoc] = {}
    for slot, spec in _mapping(value, "pipeline.components").items():
        if not slot or "__" in slot:
            why = f"{slot!r} is no slot name: names are nonempty and without '__'"
            raise ExperimentError("experiment.value", why, "pipeline.components")
        path = f"pipeline.components.{slot}"
        entry = _object(spec, path, ("component", "params"))
        component = _text(entry["component"], f"{path}.component")
        params = checked_params(component, _mapping(entry["params"], f"{path}.params"))
        found[slot] = ComponentDoc(component, params)
    return found


def read_budget(value: Any) -> BudgetDoc:
    """The `budget` of an experiment."""
    found = _object(value, "budget", BUDGET_KEYS)
    for key in BUDGET_KEYS:
        if not isinstance(found[key], int) or isinstance(found[key], bool) or found[key] < 1:
            why = f"must be an integer >= 1, not {shown(found[key])}"
            raise ExperimentError("experiment.value", why, f"budget.{key}")
    return BudgetDoc(**found)
