"""`experiment_text`: a `pllm.experiment.v2` document as `.pllm` text.

In: the document and the library. Out: the text in the formatter's layout. It names a pipeline of the library where one
has just this composition, else it declares one. Nothing is guessed: a document that the text cannot say exactly is
refused, and the caller proves it by exporting the text again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from pllm_lang.catalog import expr as ex
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Component, Record
from pllm_lang.interchange.errors import InterchangeError, NotSaid
from pllm_lang.interchange.experiment.argument import NotSayable, json_of, text_of
from pllm_lang.interchange.experiment.component import own_params
from pllm_lang.interchange.experiment.composition import (
    NAMED_SLOTS,
    OF_THE_CLIENT,
    OF_THE_RUNTIME,
    composition_of,
)
from pllm_lang.interchange.experiment.document import (
    SCHEMA,
    ComponentDoc,
    ExperimentDoc,
    configuration_digest,
)
from pllm_lang.interchange.experiment.model_source import source_text
from pllm_lang.interchange.experiment.quoted import quoted
from pllm_lang.ir.words import show_expr
from pllm_lang.syntax.format import format_source
from pllm_lang.syntax.parse import parse
from pllm_lang.text.source import make_source

OWN_PIPELINE = "composition"
MAX_NAME = 60
FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]+")


class _Text(msgspec.Struct):
    """What the text needs: the library, and the names that it imports, by module."""

    library: Library
    imports: dict[str, set[str]]

    def name(self, key: str) -> str:
        module, _, name = key.rpartition(".")
        self.imports.setdefault(module, set()).add(name)
        return name


def experiment_text(library: Library, document: ExperimentDoc, config: str = "") -> str:
    """The text; `config` is the path of the model's `config.json`, which the document does not know.

    Errors: `NotSaid` with the path of what `.pllm` has no word for.
    """
    text = _Text(library, {})
    pipeline, declared = _pipeline(text, document.components)
    name = _experiment_name(document.name, text)
    fields = [
        *([f"model: huggingface({quoted(config)})"] if config else []),
        f"source: {source_text(document.model)}",
        f"pipeline: {pipeline}",
        f"deployment: local(root: {quoted(document.root)})",
        f"budget: {_map(msgspec.to_builtins(document.budget))}",
    ]
    lines = [
        "pllm 1",
        "",
        *(f"import {module} [{', '.join(sorted(names))}]" for module, names in sorted(text.imports.items())),
        "",
        *declared,
        "",
        f"# from a {SCHEMA} document of digest {configuration_digest(document)}",
        f"experiment {name}{'' if name == document.name else f' = {quoted(document.name)}'} {{",
        *fields,
        "}",
    ]
    return format_source(parse(make_source("imported.pllm", "\n".join(lines) + "\n")))


def _map(entries: dict[str, int]) -> str:
    return "{ " + ", ".join(f"{name}: {amount}" for name, amount in entries.items()) + " }"


def _experiment_name(name: str, text: _Text) -> str:
    """The document's name as an identifier that nothing else in the text has."""
    short = NOT_IN_NAMES.sub("_", name)[:MAX_NAME].strip("_") or "experiment"
    found = short if FIELD_NAME.fullmatch(short) else f"experiment_{short}"
    taken = {OWN_PIPELINE, *(one for names in text.imports.values() for one in names)}
    known = {key.rpartition(".")[2] for key in text.library.keys("")}
    return f"{found}_experiment" if found in taken | known else found


# ---- the pipeline -------------------------------------------------------------------------------------


def _pipeline(text: _Text, components: dict[str, ComponentDoc]) -> tuple[str, list[str]]:
    """How the experiment names its pipeline, and the lines that declare it, if any."""
    for key in text.library.keys("pipeline"):
        record = text.library.get(key)
        if (
            isinstance(record, Record)
            and (arguments := _fitting(text.library, record, key, components)) is not None
        ):
            named = [f"{name}: {_component(text, used, path)}" for name, used, path in arguments]
            return text.name(key) + (f"({', '.join(named)})" if named else ""), []
    return OWN_PIPELINE, [f"pipeline {OWN_PIPELINE} {{", *_own(text, components), "}"]


def _fitting(
    library: Library, record: Record, key: str, wanted: dict[str, ComponentDoc]
) -> list[tuple[str, ComponentDoc, str]] | None:
    """The arguments with which a pipeline of the library is just this composition, None if it cannot be."""
    try:
        usual = composition_of(library, ex.Ref(key)).components
    except InterchangeError:
        return None
    if {s: c.component for s, c in usual.items()} != {s: c.component for s, c in wanted.items()}:
        return None
    params = {param.name for param in record.params}
    found: list[tuple[str, ComponentDoc, str]] = []
    for slot in sorted(slot for slot in wanted if wanted[slot] != usual[slot]):
        value = record.fields.get(slot)
        if not isinstance(value, ex.Ref) or value.name not in params:
            return None
        found.append((value.name, wanted[slot], f"pipeline.components.{slot}"))
    return found


def _own(text: _Text, components: dict[str, ComponentDoc]) -> Iterator[str]:
    """The fields of a declared pipeline, with what the SDK's client does by itself."""
    others: list[str] = []
    for slot, used in sorted(components.items()):
        path = f"pipeline.components.{slot}"
        if not FIELD_NAME.fullmatch(slot):
            raise NotSaid(f"{slot!r} is no name of a slot in .pllm", path)
        entry = f"{slot}: {_component(text, used, path)}"
        if slot in NAMED_SLOTS:
            yield entry
        else:
            others.append(entry)
    if others:
        yield f"slots: {{ {', '.join(others)} }}"
    linear = components.get("linear")
    method = text.library.by_id(linear.component) if linear else None
    runtime = OF_THE_RUNTIME.get(f"{method.module}.{method.name}", {}) if method else {}
    for slot, key in (runtime | OF_THE_CLIENT).items():
        yield f"{slot}: {text.name(key)}"


def _component(text: _Text, used: ComponentDoc, path: str) -> str:
    """A component with the arguments that differ from its defaults."""
    key, component = _known(text.library, used.component, path)
    own = own_params(component)
    arguments: list[str] = []
    for param in component.params:
        if param.name in own:
            value = None if param.default is not None else _usual(text.library, key, param.name)
            arguments += [] if value is None else [f"{param.name}: {value}"]
            continue
        given = used.params[param.name]
        if param.default is None or json_of(param, param.default) != given:
            try:
                arguments.append(f"{param.name}: {text_of(param, given)}")
            except NotSayable as fault:
                raise NotSaid(str(fault), f"{path}.params.{param.name}") from None
    return text.name(key) + (f"({', '.join(arguments)})" if arguments else "")


def _known(library: Library, id: str, path: str) -> tuple[str, Component]:
    component = library.by_id(id)
    if component is None:
        raise NotSaid(f"the library has no component {id!r}", path)
    return f"{component.module}.{component.name}", component


def _usual(library: Library, key: str, param: str) -> str | None:
    """A parameter of ours, which no document has, as the pipelines of the library set it."""
    for name in library.keys("pipeline"):
        record = library.get(name)
        for value in record.fields.values() if isinstance(record, Record) else ():
            if isinstance(value, ex.Apply) and value.fn == key and param in dict(value.named):
                return show_expr(dict(value.named)[param])
    return None
