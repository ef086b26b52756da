"""Where the SDK gets the model: `source: huggingface("Qwen/Qwen2.5-0.5B", revision: "main")` of an experiment.

In: the field, or the `model` of a document. Out: the other. What `check` reads of the model is `model:`, a config;
`source:` decides nothing there. The name of the call is the document's kind, with `_` for `-` and `.`.
"""

from __future__ import annotations

import os
import posixpath

from pllm_lang.catalog import expr as ex
from pllm_lang.interchange.errors import ExperimentError, ExportRefused
from pllm_lang.interchange.experiment.check import KINDS, read_model
from pllm_lang.interchange.experiment.document import ModelDoc, model_spec
from pllm_lang.interchange.experiment.quoted import quoted
from pllm_lang.ir.words import show_expr

CALLS = {kind.replace("-", "_").replace(".", "_"): kind for kind in sorted(KINDS)}
FLAGS = {"true": True, "false": False}
CONFIG_NAME = "config.json"


def read_source(value: ex.Expr) -> ModelDoc:
    """The model of a `source:` field. Errors: `ExportRefused`."""
    if not isinstance(value, ex.Apply) or value.fn not in CALLS:
        known = ", ".join(CALLS)
        raise ExportRefused(f"{show_expr(value)} is no source of a model; sources are {known}", "source")
    match value.args:
        case (ex.Text(value=place),):
            given: dict[str, object] = {"source": place, "kind": CALLS[value.fn]}
        case _:
            raise ExportRefused(f"`{value.fn}` takes the place of the model as its one text", "source")
    given |= {name: _plain(argument) for name, argument in value.named if name not in given}
    try:
        return read_model(given)
    except ExperimentError as fault:
        raise ExportRefused(f"{fault.subject}: {fault.message}", "source") from None


def _plain(value: ex.Expr) -> object:
    if isinstance(value, ex.Text):
        return value.value
    if isinstance(value, ex.Ref) and value.name in FLAGS:
        return FLAGS[value.name]
    raise ExportRefused(f"{show_expr(value)} is no text, `true` or `false`", "source")


def source_of_config(path: str) -> tuple[ModelDoc, str]:
    """The model in the folder of a config, and why this is not faithful ("" where it is).

    The SDK takes a folder that holds `config.json`, not the config; and it reads paths from where it runs.
    """
    folder, name = posixpath.split(path)
    if name == CONFIG_NAME:
        return ModelDoc(folder or os.curdir), ""
    return ModelDoc(
        path
    ), f"the SDK takes a folder with a {CONFIG_NAME}, or the name of a model; say which with `source: ...`"


def source_text(model: ModelDoc) -> str:
    """The `source:` that `read_source` reads as `model`."""
    spec = model_spec(model)
    place, kind = quoted(spec.pop("source")), spec.pop("kind", model.kind)
    call = next(name for name, known in CALLS.items() if known == kind)
    named = [f"{name}: {quoted(v) if isinstance(v, str) else str(v).lower()}" for name, v in spec.items()]
    return f"{call}({', '.join([place, *named])})"
