"""Documents of the pllm.run SDK, to and from files: what `export` and `import` do.

In: a target or a file. Out: the text to write, messages, and whether there was anything to write. Whatever is wrong
with what was asked for is a finding with its place; only the command decides on exit codes.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping

import msgspec

from pllm_lang.catalog.load import Opened, open_project
from pllm_lang.catalog.records import Record
from pllm_lang.cli.config import find_settings
from pllm_lang.cli.given import head_of, need_file
from pllm_lang.cli.naming import not_chosen, split_target
from pllm_lang.interchange.decoder.plan import SCHEMA as PLAN_SCHEMA
from pllm_lang.interchange.decoder.plan import Workload
from pllm_lang.interchange.decoder.record import config_path, decoder_plan_of_record
from pllm_lang.interchange.errors import ExportRefused, InterchangeError, NotFaithful, NotSaid
from pllm_lang.interchange.experiment.check import experiment_from_spec
from pllm_lang.interchange.experiment.document import SCHEMA as EXPERIMENT_SCHEMA
from pllm_lang.interchange.experiment.document import configuration_digest
from pllm_lang.interchange.experiment.record import experiment_of_record
from pllm_lang.interchange.experiment.round_trip import import_experiment
from pllm_lang.interchange.experiment.text import MAX_BYTES
from pllm_lang.interchange.experiment.written import written
from pllm_lang.text.finding import Finding, Severity, Span
from pllm_lang.text.render_full import render_full
from pllm_lang.text.source import Source, make_source
from pllm_lang.text.style import style_for

EXPORTED = ("experiment", "model")
SUFFIXES = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}


class Exchanged(msgspec.Struct, frozen=True):
    """`text` is None where nothing is to be written; `messages` say why, or what the text does not say."""

    text: str | None
    messages: str


# ---- out ----------------------------------------------------------------------------------------------


def export(target: str, format: str, sizes: Mapping[str, int], *, lossy: bool) -> Exchanged:
    """The document of an experiment or a model. Raises NotGivenError where there is no such file, or none of that name in it."""
    path, name = split_target(target)
    need_file(path)
    opened = open_project([path], find_settings(os.path.dirname(os.path.abspath(path))).root)
    sources = {module.source.name: module.source for module in opened.project.modules.values()}
    errors = [one for one in opened.findings if one.severity is Severity.ERROR]
    if errors:
        return Exchanged(None, render_full(errors, sources, style_for(sys.stderr)))
    record = _record(opened, path, name)
    try:
        if record.kind == "model":
            return _model(opened, record, sizes, format, lossy=lossy)
        return _experiment(opened, record, format, lossy=lossy)
    except InterchangeError as fault:
        finding = Finding(*_export_fault(fault), _place(record, fault), help=_export_help(fault))
        return Exchanged(None, render_full([finding], sources, style_for(sys.stderr)))


def _record(opened: Opened, path: str, name: str) -> Record:
    module = opened.project.main[0]
    found = {
        key.rpartition(".")[2]: record
        for kind in EXPORTED
        for key in opened.library.keys(kind)
        if isinstance(record := opened.library.get(key), Record) and record.module == module
    }
    if name in found or (not name and len(found) == 1):
        return found[name] if name else next(iter(found.values()))
    raise not_chosen(path, name, [*found], "experiment or model")


def _experiment(opened: Opened, record: Record, format: str, *, lossy: bool) -> Exchanged:
    done = experiment_of_record(opened.library, record, lossy=lossy)
    digest = configuration_digest(done.document)
    lines = [f"{record.name}: {EXPERIMENT_SCHEMA}, configuration digest {digest}"]
    lines += [f"  not in the document: {path} ({why})" for path, why in done.kept_here.items()]
    return Exchanged(written(done.document, format or "json"), "\n".join(lines) + "\n")


def _model(
    opened: Opened, record: Record, sizes: Mapping[str, int], format: str, *, lossy: bool
) -> Exchanged:
    if format == "yaml":
        raise InterchangeError(
            "export.format", "a decoder plan is written in its canonical form, which is JSON"
        )
    config = opened.project.modules[record.module].configs[config_path(record)]
    plan = decoder_plan_of_record(opened.library, record, config.text, Workload(**sizes), lossy=lossy)
    message = f"{record.name}: {PLAN_SCHEMA}, digest {plan.digest}\n"
    return Exchanged(plan.canonical_bytes.decode(), message)


def _export_fault(fault: InterchangeError) -> tuple[str, str]:
    if isinstance(fault, NotFaithful):
        return "export.not_faithful", "; ".join(_reasons(fault))
    about = f"{fault.subject}: " if fault.subject else ""
    return "export.refused", f"{about}{fault.message}" + (
        "" if fault.code == "export.refused" else f" ({fault.code})"
    )


def _reasons(fault: NotFaithful) -> Iterator[str]:
    """Each reason once, behind the keys that share it."""
    for why in dict.fromkeys(fault.reasons.values()):
        yield f"{', '.join(key for key, one in fault.reasons.items() if one == why)}: {why}"


def _export_help(fault: InterchangeError) -> str:
    if isinstance(fault, NotFaithful):
        return "`--lossy` exports it without that"
    return _HELPS.get(fault.subject, "") if isinstance(fault, ExportRefused) else ""


_HELPS = {
    "plan": "export an experiment with `model:` in place of `plan:`; a plan of your own is locked by `pllm compile`",
    "deployment": 'the document says where the SDK runs: export an experiment with `deployment: local(root: "local://name")`, '
    "and keep this one for the check",
}


def _place(record: Record, fault: InterchangeError) -> Span:
    """The field that the fault is about, of a model whose config it is about its value, else the record."""
    subjects = fault.keys if isinstance(fault, NotFaithful) else (fault.subject,)
    fields = [*(subject.partition(".")[0] for subject in subjects), "value"]
    origin = next((record.field_origins[f] for f in fields if f in record.field_origins), record.origin)
    return Span(origin.file, origin.start, origin.end)


# ---- in -----------------------------------------------------------------------------------------------


def import_(path: str, config: str, folder: str) -> Exchanged:
    """The `.pllm` text of a document; `folder` is where it will lie, which `config` is relative to. Raises
    NotGivenError for a file that gives nothing."""
    data = head_of(path, MAX_BYTES)
    source = make_source(path, data.decode("utf-8", "replace"))
    format = SUFFIXES.get(os.path.splitext(path)[1].lower())
    try:
        text = import_experiment(experiment_from_spec(data, format=format), config, folder)
    except InterchangeError as fault:
        code = "import.not_said" if isinstance(fault, NotSaid) else "import.refused"
        about = f"{fault.subject}: " if fault.subject else ""
        inner = "" if fault.code == code else f" ({fault.code})"
        finding = Finding(code, f"{about}{fault.message}{inner}", _key_place(source, fault.subject))
        return Exchanged(None, render_full([finding], {source.name: source}, style_for(sys.stderr)))
    return Exchanged(text, "")


def _key_place(source: Source, subject: str) -> Span:
    """Where the last part of a path stands as a key, after the parts before it; else the beginning."""
    at, end = 0, 0
    for part in subject.split("."):
        name = part.partition("[")[0]
        found = re.compile(rf'(?<![\w"])"?{re.escape(name)}"?\s*:').search(source.text, at) if name else None
        if found is not None:
            at, end = found.start(), found.end()
    return Span(source.name, at, end)
