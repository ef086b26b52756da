"""The lock of an accepted plan: what was checked, what each party runs, and why it holds, bound by digests.

In: a checked plan or experiment with the library and the project that it comes from. Out: a `Lock` and its bytes
(`pllm.lang.lock.v1`, RFC 8785). The same plan gives the same bytes wherever it is compiled.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pllm_lang import __version__
from pllm_lang.artifacts.certificate import Proved, certify
from pllm_lang.artifacts.filing import filed
from pllm_lang.artifacts.lock_data import (
    LOCK,
    AnyUse,
    Compiler,
    Digests,
    Documents,
    Filed,
    Lock,
    Program,
    Use,
)
from pllm_lang.artifacts.lock_documents import canonical, digest, document
from pllm_lang.catalog.expr import Apply, Expr, Ref
from pllm_lang.catalog.facts import Exact
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.module_digest import module_digests
from pllm_lang.catalog.records import Kernel, Policy, Record
from pllm_lang.exact.number import text
from pllm_lang.ir.digest import plan_digest
from pllm_lang.ir.experiment import Experiment
from pllm_lang.ir.plan import ComponentUse, Placement, Plan, Step
from pllm_lang.ir.walk import children, nodes
from pllm_lang.resolve.modules import Project
from pllm_lang.verify.check import PlanReport, plan_view
from pllm_lang.verify.failure import met_failure
from pllm_lang.verify.hosting import words_of
from pllm_lang.verify.proving import proof_of
from pllm_lang.verify.rules.assurance.missing import subjects

COMPILER = Compiler("pllm-lang", __version__)


class NotAcceptedError(Exception):
    """The plan has gaps: there is nothing to lock."""


class Compiled(msgspec.Struct, frozen=True):
    """A lock with the bytes of its file."""

    lock: Lock
    content: bytes


def compile_report(
    report: PlanReport, project: Project, library: Library, experiment: Experiment | None
) -> Compiled:
    """Lock what `report` accepted; raises NotAcceptedError for anything else."""
    if not report.accepted or report.flow is None:
        raise NotAcceptedError(report.name)
    key = (experiment.policy if experiment is not None else "") or report.plan.policy
    view = plan_view(report.plan, report.source_map, library, key)
    records = _records(report.plan, experiment, view.policy, library)
    bound = _bound(report, library, view.policy, experiment, records)
    proof = proof_of(view, report.flow)
    proved = certify(report.plan, report.obligations, report.flow, proof, view.policy, bound.about())
    return _sealed(
        report, bound, proved, experiment is not None, _files(project), module_digests(project, library)
    )


class _Bound(msgspec.Struct, frozen=True):
    """The documents that a certificate speaks of, with their digests."""

    plan: Plan
    names: dict[str, str]
    policy: Policy | None
    experiment: Experiment | None
    records: dict[str, Filed]
    record_digests: dict[str, str]
    components: dict[str, tuple[str, str]]
    plan_digest: str

    def about(self) -> dict[str, str]:
        return {
            "ir": digest("ir", document(self.plan)),
            "names": digest("names", self.names),
            "policy": digest("policy", document(self.policy)),
            "experiment": digest("experiment", document(self.experiment)),
            "records": digest("records", self.record_digests),
        }


def _bound(
    report: PlanReport,
    library: Library,
    policy: Policy | None,
    experiment: Experiment | None,
    records: dict[str, Filed],
) -> _Bound:
    named = {str(value): name for value, (name, _) in sorted(report.source_map.values.items())}
    found = {key: library.component(key) for key in records}
    components = {key: (one.id, one.version) for key, one in found.items() if one is not None}
    meaning = plan_digest(report.plan, library).removeprefix("sha256:")
    digests = {key: digest("record", [key, document(one)]) for key, one in sorted(records.items())}
    return _Bound(report.plan, named, policy, experiment, records, digests, components, meaning)


def _sealed(
    report: PlanReport,
    bound: _Bound,
    proved: Proved,
    is_experiment: bool,
    files: dict[str, str],
    modules: dict[str, str],
) -> Compiled:
    about = bound.about()
    digests = Digests(
        plan=bound.plan_digest,
        ir=about["ir"],
        names=about["names"],
        policy=about["policy"],
        experiment=about["experiment"],
        certificate=digest("certificate", document(proved.certificate)),
        records=bound.record_digests,
        protocols=tuple(digest("protocol", document(one)) for one in proved.protocols),
        programs={one.stage: program_digests(one) for one in proved.programs},
        modules=modules,
        files=files,
    )
    documents = Documents(
        bound.plan,
        bound.names,
        bound.policy,
        bound.experiment,
        bound.records,
        proved.protocols,
        proved.programs,
        proved.certificate,
    )
    shapes = _shapes(report.plan, bound.names)
    said = _errors(report, bound.names), _failure(report)
    kind = "experiment" if is_experiment else "plan"
    lock = Lock(LOCK, report.name, kind, COMPILER, *shapes, *said, bound.components, digests, documents, "")
    body = document(lock)
    del body["plan_lock_digest"]
    sealed = digest("lock", body)
    body["plan_lock_digest"] = sealed
    return Compiled(msgspec.structs.replace(lock, plan_lock_digest=sealed), canonical(body) + b"\n")


def program_digests(program: Program) -> dict[str, str]:
    """Party to the digest of what it runs: the uses in which it has a role."""
    found: dict[str, str] = {}
    for party in program.parties:
        own = [use for use in program.uses if party.name in _players(use)]
        found[party.name] = digest("program", [program.stage, party.name, document(tuple(own))])
    return found


def _players(use: AnyUse) -> set[str]:
    return {party for _, party in use.roles} if isinstance(use, Use) else set(use.parties)


def _shapes(
    plan: Plan, names: dict[str, str]
) -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[int, ...]]]:
    """Shapes of the inputs and outputs, by name; those of a stage after `stage.`."""
    from_steps = {
        value: type_.shape
        for stage in plan.stages
        for node, _ in nodes(stage.body)
        if isinstance(node, Step)
        for value, type_ in zip(node.results, node.types, strict=True)
    }
    given = {
        one.value: one.type.shape for one in (*plan.inputs, *plan.weights, *plan.states, *plan.constants)
    }
    staged = {one.value: one.type.shape for stage in plan.stages for one in stage.inputs}
    shapes = from_steps | given | staged | _carried(plan, from_steps | given | staged)
    inputs = {names.get(str(one.value), f"v{one.value}"): one.type.shape for one in plan.inputs}
    outputs: dict[str, tuple[int, ...]] = {}
    for stage in plan.stages:
        prefix = f"{stage.name}." if stage.name else ""
        inputs |= {
            prefix + names.get(str(one.value), f"v{one.value}"): one.type.shape for one in stage.inputs
        }
        outputs |= {
            prefix + names.get(str(o.value), f"v{o.value}"): shapes.get(o.value, ()) for o in stage.outputs
        }
    return inputs, outputs


def _errors(report: PlanReport, names: dict[str, str]) -> dict[str, str]:
    """How far each output is from its real-valued meaning, at most."""
    facts = {} if report.flow is None else report.flow.facts
    found: dict[str, str] = {}
    for stage in report.plan.stages:
        for one in stage.outputs:
            known = facts.get(one.value)
            error = None if known is None else known.error
            name = (f"{stage.name}." if stage.name else "") + names.get(str(one.value), f"v{one.value}")
            found[name] = "" if error is None else text(error)
    return found


def _failure(report: PlanReport) -> str:
    """A union bound over all steps of one run."""
    total: Exact = 0
    for met in () if report.flow is None else report.flow.met:
        chance = met_failure(met)
        if chance is None:
            return ""
        total = total + chance
    return text(total)


def _carried(plan: Plan, shapes: dict[int, tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
    found: dict[int, tuple[int, ...]] = {}
    for stage in plan.stages:
        for node, _ in nodes(stage.body):
            for one in getattr(node, "carried", ()):
                shape = (shapes | found).get(one.initial, ())
                found |= {one.inner: shape, one.final: shape}
    return found


def _files(project: Project) -> dict[str, str]:
    """Configs of models and files of facts, by the path as written in the module that names them."""
    found: dict[str, str] = {}
    for name, module in sorted(project.modules.items()):
        for path, file in sorted({**module.configs, **module.facts}.items()):
            found[f"{name}:{path}"] = file.digest.removeprefix("sha256:")
    return found


# ---- records ----
def _records(
    plan: Plan, experiment: Experiment | None, policy: Policy | None, library: Library
) -> dict[str, Filed]:
    """Every record that the plan or the experiment names, by key; where the policy requires claims, what is known of these."""
    found: dict[str, Filed] = {}
    named = {*_keys(plan, experiment), *_backend(experiment, library)}
    claimed = policy is not None and policy.claims
    named |= set(_primitives(named, library))
    for key in sorted(named | (set(_assuring(named, library)) if claimed else set())):
        record = library.get(key)
        held = None if record is None else filed(record)
        if held is not None:
            found[key] = held
    return found


def _keys(plan: Plan, experiment: Experiment | None) -> Iterator[str]:
    yield "std.methods.clear"
    for one in (*plan.inputs, *plan.states, *(i for s in plan.stages for i in s.inputs)):
        yield from _placed(one.placement)
    for stage in plan.stages:
        yield from (output.holding for output in stage.outputs if output.holding)
        for node, _ in nodes(stage.body):
            if isinstance(node, Step):
                yield node.operator
                yield from _placed(node.stated_holding)
                if node.use is not None:
                    yield from _used(node.use)
    if experiment is not None:
        hosts = () if experiment.deployment is None else experiment.deployment.hosts
        yield from (target for _, target in hosts)
        yield from (stock.provider for stock in experiment.stocks if "." in stock.provider)
        yield from () if experiment.pipeline is None else _used(experiment.pipeline)
        for _, use in experiment.slots:
            yield from _used(use)


def _backend(experiment: Experiment | None, library: Library) -> Iterator[str]:
    """The kernels of the backend that the pipeline names: what they need of a machine is part of the proof."""
    slots = () if experiment is None else experiment.slots
    backends = {use.key for slot, use in slots if slot == "kernels"}
    for key in library.keys("kernel") if backends else ():
        kernel = library.get(key)
        if isinstance(kernel, Kernel) and backends & words_of(kernel.fields.get("backend")):
            yield key


def _primitives(named: set[str], library: Library) -> Iterator[str]:
    """The primitives that take part in components: each beside its component, or the library's."""
    for component in map(library.component, sorted(named)):
        if component is not None and component.primitive:
            keys = (f"{module}.{component.primitive}" for module in (component.module, "std.primitives"))
            yield from [key for key in keys if library.kind(key) == "primitive"][:1]


def _assuring(named: set[str], library: Library) -> Iterator[str]:
    """What is known of the components, for and against: the claims that a policy requires of them rest on it."""
    for key in library.keys("assurance"):
        record = library.get(key)
        if isinstance(record, Record) and named & set(subjects(record)):
            yield key


def _placed(place: Placement) -> Iterator[str]:
    if place.holding:
        yield place.holding


def _used(use: ComponentUse) -> Iterator[str]:
    yield use.key
    left: list[Expr] = [value for _, value in use.params]
    while left:
        part = left.pop()
        name = part.fn if isinstance(part, Apply) else part.name if isinstance(part, Ref) else ""
        if "." in name:
            yield name
        left += children(part)
