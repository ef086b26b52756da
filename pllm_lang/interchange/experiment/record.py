"""`experiment_of_record`: an experiment of a `.pllm` file as a `pllm.experiment.v2` document.

In: the library with the file's records, and the experiment's record. Out: the document, and what of the experiment
the document has no place for. What would make the SDK run something else is `lost`, and refused unless asked for;
what only judges the run (a policy, a stock, machines, metrics) stays in the `.pllm` file and is told.
"""

from __future__ import annotations

import msgspec

from pllm_lang.catalog import expr as ex
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Record
from pllm_lang.interchange.errors import DocumentError, ExportRefused, NotFaithful
from pllm_lang.interchange.experiment.check import read_budget
from pllm_lang.interchange.experiment.composition import composition_of
from pllm_lang.interchange.experiment.document import BudgetDoc, ExperimentDoc, ModelDoc
from pllm_lang.interchange.experiment.model_source import read_source, source_of_config
from pllm_lang.interchange.reading import MAX_SAFE_INTEGER
from pllm_lang.ir.words import show_expr

JUDGEMENTS = {
    "stock": "the document has no stock",
    "measure": "the document has no metrics; they are asked for when it runs",
    "facts": "the document has no facts of the weights",
}
KNOWN = frozenset({"model", "source", "pipeline", "deployment", "budget", *JUDGEMENTS})
MACHINES = frozenset({"hosts", "administered_by", "links"})
BUDGET = BudgetDoc.__struct_fields__


class ExportedExperiment(msgspec.Struct, frozen=True):
    """`kept_here` is what the document does not say, and why, by path; none of it changes what the SDK runs."""

    document: ExperimentDoc
    kept_here: dict[str, str]


def experiment_of_record(library: Library, record: Record, *, lossy: bool = False) -> ExportedExperiment:
    """The document of an experiment.

    Errors: `ExportRefused` where there is none, `NotFaithful` where the SDK would run something else (not with
    `lossy`), `ComponentError` and `ExperimentError` for values outside of the SDK's bounds.
    """
    model, lost = _model(library, record)
    found = composition_of(library, _required(record, "pipeline", "a pipeline from `std.pipelines`"))
    root, kept = _deployment(library, record)
    budget, unknown = _budget(record)
    document = ExperimentDoc(record.id or record.name, model, found.components, root, budget)
    lost |= found.lost | unknown
    lost |= {name: "the document has no such field" for name in record.fields if name not in KNOWN}
    if lost and not lossy:
        raise NotFaithful(lost)
    check_safe_integers(document)
    kept |= {name: why for name, why in JUDGEMENTS.items() if name in record.fields}
    if record.under:
        kept["under"] = "the document has no policy; it is held to one by `pllm check` only"
    return ExportedExperiment(document, kept | found.left_to_sdk)


def check_safe_integers(document: ExperimentDoc) -> None:
    """Refuse a budget that readers of JSON with doubles would change. Errors: `DocumentError`."""
    for name, amount in msgspec.to_builtins(document.budget).items():
        if amount > MAX_SAFE_INTEGER:
            raise DocumentError("document.integer", f"is beyond {MAX_SAFE_INTEGER}", f"budget.{name}")


def _required(record: Record, field: str, what: str) -> ex.Expr:
    value = record.fields.get(field)
    if value is None:
        raise ExportRefused(f"the document needs {what}: add `{field}: ...`", field)
    return value


def _model(library: Library, record: Record) -> tuple[ModelDoc, dict[str, str]]:
    """The model, and what the document would not say of it."""
    if "plan" in record.fields:
        raise ExportRefused(
            "the document runs a whole model; a plan that is written out has no place in it", "plan"
        )
    value, source = record.fields.get("model"), record.fields.get("source")
    declared = library.get(value.name) if isinstance(value, ex.Ref) else None
    lost: dict[str, str] = {}
    if isinstance(declared, Record) and declared.kind == "model":
        passes = [declared.fields[name] for name in declared.fields if name != "value"]
        value = declared.fields["value"]
        if passes:
            shown = ", ".join(map(show_expr, passes))
            lost["model"] = f"the document has no passes of a model: {shown}"
    if source is not None:
        return read_source(source), lost
    match value:
        case ex.Apply(fn="huggingface", args=(ex.Text(value=path),), named=()):
            found, why = source_of_config(path)
            return found, lost | ({"model": why} if why else {})
        case _:
            raise ExportRefused("the document needs the place of a model: add `source: ...`", "model")


def _deployment(library: Library, record: Record) -> tuple[str, dict[str, str]]:
    """The root of a local deployment, and what the document does not say of its machines."""
    value = _required(record, "deployment", 'a place, `local(root: "local://here")`')
    fields: dict[str, ex.Expr] = {}
    local = False
    found = library.get(value.name) if isinstance(value, ex.Ref) else None
    if isinstance(value, ex.Apply) and value.fn == "local":
        fields, local = dict(value.named), True
    elif isinstance(found, Record) and found.kind == "deployment":
        fields, local = dict(found.fields), found.fields.get("kind") == ex.Ref("local")
    root = fields.get("root")
    if not local or not isinstance(root, ex.Text) or not root.value:
        raise ExportRefused("the document knows local deployments with a `root` only", "deployment")
    if unknown := sorted(set(fields) - {"kind", "root", *MACHINES}):
        raise ExportRefused(f"the document has no {unknown[0]} of a deployment", "deployment")
    kept = [name for name in fields if name in MACHINES]
    return root.value, {f"deployment.{name}": "the document has no machines" for name in kept}


def _budget(record: Record) -> tuple[BudgetDoc, dict[str, str]]:
    """The three limits of the document, and those that it does not have."""
    value = _required(record, "budget", f"a budget of {', '.join(BUDGET)}")
    entries = dict(value.entries) if isinstance(value, ex.MapOf) else {}
    for name in BUDGET:
        amount = entries.get(name)
        if not isinstance(amount, ex.Num) or not amount.value.isdecimal():
            raise ExportRefused(f"the document needs a whole number for {name}", f"budget.{name}")
    lost = {f"budget.{name}": "the document has no such limit" for name in entries if name not in BUDGET}
    numbers = {name: int(show_expr(entries[name])) for name in BUDGET}
    return read_budget(numbers), lost
