"""An experiment checked: its subject lowered and placed by its pipeline, then everything asked of plan and deployment.

In: a project, the library with its records, the experiment's record. Out: a `CheckedExperiment`. Models of all families and
pipelines load only for an experiment that has one.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from pllm_lang.catalog.expr import Expr, ListOf, Ref
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Record
from pllm_lang.ir.experiment import Drawn, Experiment
from pllm_lang.ir.lower.experiment import LoweredExperiment, lower_experiment
from pllm_lang.ir.lower.facts import OTHER_CHECKPOINT, other_checkpoint, speaks_of
from pllm_lang.ir.lower.plan import Lowered, lower_plan
from pllm_lang.resolve.modules import FactsFile, Module, Project
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Finding, Severity, Span
from pllm_lang.verify.check import PlanReport, check_experiment, check_plan, no_errors, plan_view
from pllm_lang.verify.hints import NORMS_HELP
from pllm_lang.verify.proving import drawn_of

if TYPE_CHECKING:
    from pllm_lang.ir.lower.model import LoweredModel

CheckPlan = Callable[[Project, Library, Module, syn.Plan], PlanReport]

MAX_SHARING = 16
"""Other experiments on its stocks that a check adds up; of more of them it is not known what they burn."""


class CheckedExperiment(msgspec.Struct, frozen=True):
    """`report` is about the plan that runs: placed by the pipeline where there is one. Its `plan`, `source_map`, `flow` and
    `obligations` are those of an ordinary plan, `experiment` is what was asked of it."""

    experiment: Experiment
    report: PlanReport


def check_record(
    project: Project,
    library: Library,
    record: Record,
    plan_of: CheckPlan | None = None,
    seen: Seen | None = None,
) -> CheckedExperiment:
    """Check an experiment. `plan_of` checks a plan that runs as it is written; an editor remembers such reports. `seen` is
    kept from one experiment of a project to the next."""
    plan_of = plan_of or check_declared
    seen = seen or Seen()
    subject = _subject_of(project, library, record, plan_of, seen)
    del seen.subjects[_key_of(record)]  # it is large, and from here on only what it burns is asked
    lowered = subject.lowered
    sharing = _sharing(library, record, lowered.experiment)
    if len(sharing) <= MAX_SHARING:
        for stock in sorted({stock for _, stocks in sharing for stock in stocks}):
            _drawn(library, record, subject, stock, seen)  # while its proof is at hand
    others = tuple(_others(project, library, sharing, plan_of, seen))
    report = check_experiment(lowered.experiment, record, subject.report, library, lowered.findings, others)
    if subject.whole and subject.report is not None:
        findings = _placed_findings(subject, (*subject.report.findings, *report.findings))
        report = msgspec.structs.replace(report, findings=findings)
    unused = tuple(_unused_facts(project, record, subject.report))
    report = msgspec.structs.replace(report, findings=(*report.findings, *unused))
    drawn = [
        Drawn(one.experiment, one.stock, str(one.count), tuple(sorted(one.components)))
        for one in others
        if one.count is not None
    ]
    ordered = tuple(sorted(drawn, key=msgspec.structs.astuple))
    return CheckedExperiment(msgspec.structs.replace(lowered.experiment, drawn=ordered), report)


def check_declared(project: Project, library: Library, module: Module, decl: syn.Plan) -> PlanReport:
    """A plan by itself."""
    return _check(lower_plan(project, library, module.name, decl), library)


def _check(lowered: Lowered, library: Library) -> PlanReport:
    return check_plan(lowered.plan, lowered.source_map, library, lowered.findings)


# ---- what an experiment runs ----
class _Subject(msgspec.Struct, frozen=True):
    """`report` is the plan's, None where there is none; `whole` where nobody else reports its findings. `place` stands for
    the text of a model, which nobody wrote; `fields` are the places of the experiment's fields."""

    lowered: LoweredExperiment
    report: PlanReport | None = None
    whole: bool = False
    place: Span | None = None
    fields: dict[str, Span] = {}


class Seen(msgspec.Struct):
    """What the experiments of one project and library were found to run and to burn, for those that share a stock with them:
    each is looked at once, in whatever order they are asked for."""

    subjects: dict[str, _Subject] = {}
    drawn: dict[tuple[str, str], Any] = {}


def _subject_of(
    project: Project, library: Library, record: Record, plan_of: CheckPlan, seen: Seen
) -> _Subject:
    key = _key_of(record)
    if key not in seen.subjects:
        seen.subjects[key] = _subject(project, library, record, plan_of)
    return seen.subjects[key]


def _subject(project: Project, library: Library, record: Record, plan_of: CheckPlan) -> _Subject:
    if "model" in record.fields and "plan" not in record.fields:
        return _model(project, library, record)
    lowered = lower_experiment(library, record)
    found = _declared(project, lowered.experiment.plan)
    if found is None:
        return _Subject(lowered)
    if lowered.experiment.pipeline is None:
        return _Subject(lowered, plan_of(project, library, *found))
    if not record.under:
        lowered = lower_experiment(library, record, under=_policy_of(*found))
    if lowered.slots is None:
        return _Subject(lowered)
    plan = lower_plan(project, library, found[0].name, found[1])
    if not no_errors(plan.findings) or _has_unknown_names(project, found[0]):
        return _Subject(lowered, _unplaced(plan), whole=True)
    placed = _placed(project, library, record, lowered, plan, stated=True)
    return _Subject(lowered, _check(placed, library), whole=True)


def _has_unknown_names(project: Project, module: Module) -> bool:
    return not no_errors(one for one in project.findings if one.span.file == module.source.name)


def _unplaced(plan: Lowered) -> PlanReport:
    """A plan with mistakes: a pipeline cannot place steps whose types are not known."""
    return PlanReport(
        plan.source_map.name, plan.plan, (), (), plan.findings, None, plan.source_map, accepted=False
    )


def _declared(project: Project, key: str) -> tuple[Module, syn.Plan] | None:
    """The module and the declaration of a plan by its key."""
    name, _, plan = key.rpartition(".")
    module = project.modules.get(name)
    for decl in () if module is None else module.file.decls:
        if module is not None and isinstance(decl, syn.Plan) and decl.name.id == plan:
            return module, decl
    return None


def _policy_of(module: Module, decl: syn.Plan) -> str:
    """The key of the policy that the plan is under, "" for none."""
    binding = module.scope.get(decl.under.id) if decl.under is not None else None
    return "" if binding is None else binding.key


def _model(project: Project, library: Library, record: Record) -> _Subject:
    models = importlib.import_module("pllm_lang.ir.lower.model")
    model: LoweredModel = models.lower_experiment_model(project, library, record)
    lowered = lower_experiment(library, record, model.findings)
    if model.lowered is None or (lowered.experiment.pipeline is not None and lowered.slots is None):
        return _Subject(lowered)
    placed = _placed(project, library, record, lowered, model.lowered, stated=False)
    fields = {name: Span(o.file, o.start, o.end) for name, o in record.field_origins.items()}
    return _Subject(lowered, _check(placed, library), whole=True, place=fields["model"], fields=fields)


_FIELDS = {
    "material": "stock",
    "target": "deployment",
    "coverage.tokens": "budget",
    "bounds.undetected": "pipeline",
    "placement.independence": "deployment",
}
"""Which field of an experiment a finding about its model's text is about: by code, or by family; else `model`."""


def _placed_findings(subject: _Subject, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Findings in the text of a model, at the field that they are about; what is said of several layers or stages, once."""
    if subject.place is None or subject.report is None:
        return findings
    placed_at = importlib.import_module("pllm_lang.ir.lower.model").placed_at
    printed = subject.report.source_map.plan.file
    kept: dict[tuple[str, str, Span], Finding] = {}
    for one in findings:
        place = subject.fields.get(
            _FIELDS.get(one.code) or _FIELDS.get(one.code.split(".")[0], ""), subject.place
        )
        placed = placed_at(place, _measured(one)) if one.span.file == printed else one
        key = (placed.code, placed.message, placed.span)
        known = kept.get(key)
        kept[key] = (
            placed if known is None else msgspec.structs.replace(known, count=known.count + placed.count)
        )
    return tuple(kept.values())


_MEASURE_HELP = (
    "`pllm measure CHECKPOINT -o facts.json` writes those of the weights (with `--quantize 8` of weights that the plan stores in"
    ' 8 bits), and `facts: "facts.json"` in the experiment names them'
)


def _measured(finding: Finding) -> Finding:
    """Nobody writes `where` into the text of a model: its weights are measured."""
    notes = tuple(note.replace(NORMS_HELP, _MEASURE_HELP) for note in finding.notes)
    return msgspec.structs.replace(finding, notes=notes)


# ---- pipelines ----
def _placed(
    project: Project,
    library: Library,
    record: Record,
    lowered: LoweredExperiment,
    plan: Lowered,
    *,
    stated: bool,
) -> Lowered:
    """The plan as the pipeline of the experiment places it, under its own policy, or the experiment's where it has none: under
    another policy of the experiment it is asked again."""
    policy = plan.plan.policy or lowered.experiment.policy
    under = msgspec.structs.replace(plan, plan=msgspec.structs.replace(plan.plan, policy=policy))
    if lowered.slots is None:
        return under
    apply = importlib.import_module("pllm_lang.ir.lower.pipeline.apply").apply_pipeline
    return apply(under, lowered.slots, library, _facts(project, record), stated)


def _facts(project: Project, record: Record) -> tuple[FactsFile, ...]:
    """The facts file that the experiment names."""
    module = project.modules.get(record.module)
    named = record.fields.get("facts")
    found = None if module is None else module.facts.get(getattr(named, "value", ""))
    return () if found is None else (found,)


def _unused_facts(project: Project, record: Record, plan: PlanReport | None) -> Iterator[Finding]:
    """A warning where the experiment's facts say nothing of a weight that the plan stores, or the plan's own are of another
    checkpoint."""
    if plan is None:
        return
    for file in _facts(project, record):
        place = record.field_origins["facts"]
        span = Span(place.file, place.start, place.end)
        others = _of_other_checkpoints(file, plan)
        if others:
            message, help_ = other_checkpoint(others)
            yield Finding(OTHER_CHECKPOINT, message, span, Severity.WARNING, help=help_)
        elif file.checkpoint not in {weight.facts_key for weight in plan.plan.weights}:
            yield Finding(
                "facts.unused",
                "nothing of this facts file is used: it names no weight of the plan, or measured other numbers than it stores",
                span,
                severity=Severity.WARNING,
                help="names are those that `pllm lower` prints; weights of a quantising pipeline are measured with `--quantize 8`",
            )


def _of_other_checkpoints(file: FactsFile, plan: PlanReport) -> list[str]:
    """Names of weights that the file speaks of, and the plan's own facts too, of another checkpoint."""
    names = plan.source_map.values
    counts = {
        names[weight.value][0]: weight.count
        for weight in plan.plan.weights
        if weight.facts_key not in ("", file.checkpoint) and weight.scale_of < 0 and weight.value in names
    }
    return [name for name, count in counts.items() if speaks_of(file, name, count)]


# ---- stocks that several experiments draw on ----
def _sharing(library: Library, record: Record, experiment: Experiment) -> list[tuple[Record, set[str]]]:
    """The other experiments of the project that draw on stocks of this one, with these stocks."""
    mine = {stock.key for stock in experiment.stocks}
    shared = ((other, mine & _stocks(other)) for other in _experiments(library, record)) if mine else ()
    return [(other, stocks) for other, stocks in shared if stocks]


def _others(
    project: Project,
    library: Library,
    sharing: list[tuple[Record, set[str]]],
    plan_of: CheckPlan,
    seen: Seen,
) -> Iterator[Any]:
    """What the other experiments burn of this one's stocks."""
    if len(sharing) > MAX_SHARING:  # the sum is not known, so nothing of it is worked out
        for other, stocks in sharing:
            unknown = Experiment(other.name, other.under)
            yield from (drawn_of(unknown, None, None, stock) for stock in sorted(stocks))
        return
    for other, stocks in sharing:
        for stock in sorted(stocks):
            if (_key_of(other), stock) not in seen.drawn:
                subject = _subject_of(project, library, other, plan_of, seen)
                _drawn(library, other, subject, stock, seen)
            yield seen.drawn[_key_of(other), stock]


def _drawn(library: Library, record: Record, subject: _Subject, stock: str, seen: Seen) -> None:
    """Work out what an experiment burns of a stock, once."""
    plan, experiment = subject.report, subject.lowered.experiment
    if (_key_of(record), stock) in seen.drawn:
        return
    if plan is None:
        found = drawn_of(experiment, None, None, stock)
    else:
        policy = record.under or plan.plan.policy
        view = plan_view(plan.plan, plan.source_map, library, policy)
        found = drawn_of(experiment, view, plan.flow, stock)
    seen.drawn[_key_of(record), stock] = found


def _key_of(record: Record) -> str:
    return f"{record.module}.{record.name}"


def _experiments(library: Library, record: Record) -> Iterator[Record]:
    for other in map(library.get, library.keys("experiment")):
        own = isinstance(other, Record) and (other.module, other.name) == (record.module, record.name)
        if isinstance(other, Record) and not own:
            yield other


def _stocks(record: Record) -> set[str]:
    named: Expr | None = record.fields.get("stock")
    items = named.items if isinstance(named, ListOf) else (named,)
    return {item.name for item in items if isinstance(item, Ref)}
