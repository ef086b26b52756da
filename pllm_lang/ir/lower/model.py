"""`model x = huggingface("config.json")` and `model: huggingface("...")` of an experiment: the model as a plan.

In: the project, the library and an experiment's record. Out: the lowered plan of the model's text, and findings at the
place that names the model: what the config is refused for, what of it had no effect, and what keeps the model from
being checked. A model without a plan is never proved.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

import msgspec

from pllm_lang.catalog import expr as ex
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.load import open_project
from pllm_lang.catalog.policies import effective
from pllm_lang.catalog.records import Record
from pllm_lang.ir.lower.model_passes import passes_of
from pllm_lang.ir.lower.plan import Lowered, lower_plan
from pllm_lang.models.errors import LoweringError, Note
from pllm_lang.models.findings import NOT_SUPPORTED, note, refusal
from pllm_lang.models.graph import ModelGraph
from pllm_lang.models.lower import lower_model, read_model
from pllm_lang.models.passes.apply import PassUse, apply_passes
from pllm_lang.models.text.model import unformatted_text
from pllm_lang.resolve.modules import ConfigFile, Module, Project
from pllm_lang.resolve.places import node_span
from pllm_lang.resolve.texts import read_text
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Finding, Span, Verdict

CLIENT = "client"
"""The party at which a model's plan computes."""


class LoweredModel(msgspec.Struct, frozen=True):
    """`lowered` is None where the model has no plan; then a finding says why."""

    lowered: Lowered | None
    findings: tuple[Finding, ...]


def declared_models(module: Module) -> Iterator[Finding]:
    """What is to be said of the configs of the models that a module declares."""
    for decl in module.file.decls:
        if isinstance(decl, syn.Model):
            config = _config_of(module, decl.value)
            if config is not None:
                yield from _read(config, node_span(module.source.name, decl, decl.value))


def lower_experiment_model(project: Project, library: Library, record: Record) -> LoweredModel:
    """The plan of the model that an experiment names with `model:`, under the experiment's policy."""
    origin = record.field_origins.get("model", record.origin)
    place = Span(origin.file, origin.start, origin.end)
    found = _Subject(project, record).config()
    if isinstance(found, str):
        return _unsupported(found, "write the plan out and name it with `plan: ...`", place)
    passes = _passes(record, library)
    if isinstance(passes, str):
        return _unsupported(passes, "`std.passes` has the passes of the library", place)
    refused = _beyond_the_text(record, library)
    if refused is not None:
        return _unsupported(*refused, place)
    tokens = _workload(record)
    try:
        lowering = lower_model(
            found.text, batch=1, max_input_tokens=tokens["max_input_tokens"], max_new_tokens=tokens["max_new_tokens"]
        )  # fmt: skip
        graph = apply_passes(lowering.graph, passes)
        _refuse_chunks(graph)
        text = unformatted_text(graph)
    except LoweringError as error:
        return LoweredModel(None, (refusal(error, _called(found), place),))
    lowered = _lower_text(text, record.under, place)
    return LoweredModel(lowered, tuple(_notes(lowering.notes, found, place)))


def _refuse_chunks(graph: ModelGraph) -> None:
    """An experiment's budget counts the first stage once a request, so chunks would cost a part of what they do. Raises
    LoweringError."""
    stage = graph.prefill
    if stage.steps > 1:
        raise LoweringError(
            "text.chunks",
            f"`prefill` runs {stage.steps} times a request, with {stage.query} tokens each, and an experiment counts it once",
            key="passes",
            help="leave `chunk_prefill` out, which changes no result; `pllm lower --pass` prints the plan of a chunk",
        )


def _lower_text(text: str, policy: str, place: Span) -> Lowered:
    """The plan of a printed text; what is said of it points at the place that names the model."""
    path = os.path.abspath(os.path.join(os.path.dirname(place.file) or ".", "model.pllm"))
    opened = open_project([path], os.path.dirname(path), {path: text})
    module = opened.project.modules[opened.project.main[0]]
    decl = next(decl for decl in module.file.decls if isinstance(decl, syn.Plan))
    lowered = lower_plan(opened.project, opened.library, module.name, decl)
    return msgspec.structs.replace(
        lowered,
        plan=msgspec.structs.replace(lowered.plan, policy=policy),
        findings=tuple(placed_at(place, found) for found in (*opened.findings, *lowered.findings)),
    )


def placed_at(place: Span, found: Finding) -> Finding:
    """A finding about a text that nobody wrote, at the place that stands for it."""
    return msgspec.structs.replace(found, span=place, labels=(), fixes=())


class _Subject(msgspec.Struct):
    project: Project
    record: Record

    def config(self) -> ConfigFile | str:
        """The config that the experiment's model is made from, or why there is none."""
        value = self.record.fields["model"]
        module = self.project.modules.get(self.record.module)
        if isinstance(value, ex.Ref):
            return self._declared(value.name)
        match value:
            case ex.Apply(fn="huggingface", args=(ex.Text(value=path),), named=()) if module is not None:
                return module.configs.get(path) or "the model's config could not be read"
            case _:
                return "this form of a model cannot be checked yet"

    def _declared(self, key: str) -> ConfigFile | str:
        name, _, short = key.rpartition(".")
        module = self.project.modules.get(name)
        for decl in () if module is None else module.file.decls:
            if module is not None and isinstance(decl, syn.Model) and decl.name.id == short:
                return _config_of(module, decl.value) or "this form of a model cannot be checked yet"
        return f"no model `{short}` is known here"


def _passes(record: Record, library: Library) -> tuple[PassUse, ...] | str:
    """The passes of a model that is declared by itself."""
    named = record.fields["model"]
    declared = library.get(named.name) if isinstance(named, ex.Ref) else None
    return passes_of(declared, library) if isinstance(declared, Record) else ()


def _config_of(module: Module, value: syn.Expr) -> ConfigFile | None:
    match value:
        case syn.Call(callee=syn.Name(id="huggingface"), args=(syn.String() as path,)):
            return module.configs.get(read_text(path))
        case _:
            return None


def _beyond_the_text(record: Record, library: Library) -> tuple[str, str] | None:
    """What an experiment asks of a model that a plan in the clear at the client cannot give."""
    missing = [name for name in ("max_input_tokens", "max_new_tokens") if name not in _workload(record)]
    if missing:
        return f"the budget does not state {' and '.join(missing)}, so the model has no size", (
            "add them: `budget: { requests: 1, max_input_tokens: 64, max_new_tokens: 16 }`"
        )
    policy = effective(record.under, library) if record.under else None
    if policy is not None and CLIENT not in policy.parties:
        return f"what of a model is in the clear lies at `{CLIENT}`, which is no party of `{policy.name}`", (
            "write the plan out and name it with `plan: ...`"
        )
    return None


def _workload(record: Record) -> dict[str, int]:
    budget = record.fields.get("budget")
    entries = budget.entries if isinstance(budget, ex.MapOf) else ()
    return {name: int(n.value) for name, n in entries if isinstance(n, ex.Num) and n.value.isdecimal()}


def _read(config: ConfigFile, place: Span) -> Iterator[Finding]:
    try:
        yield from _notes(read_model(config.text).notes, config, place)
    except LoweringError as error:
        yield refusal(error, _called(config), place)


def _notes(notes: Iterable[Note], config: ConfigFile, place: Span) -> Iterator[Finding]:
    for one in notes:
        yield note(one, _called(config), place)


def _called(config: ConfigFile) -> str:
    return os.path.basename(config.path)


def _unsupported(message: str, help: str, place: Span) -> LoweredModel:
    return LoweredModel(None, (Finding(NOT_SUPPORTED, message, place, verdict=Verdict.UNPROVED, help=help),))
