"""From an experiment's record to the resolved experiment: every reference followed, or found missing.

In: the library with the project's records, and the experiment's record. Out: the `Experiment` and findings.
Fields have been checked for form when the record was read; here what they name is looked up.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from pllm_lang.catalog import expr as ex
from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.policies import effective
from pllm_lang.catalog.records import Policy, Record
from pllm_lang.ir.experiment import Deployment, Experiment, Stock
from pllm_lang.ir.lower.pipeline.slots import Slots, read_slots
from pllm_lang.ir.plan import ComponentUse
from pllm_lang.ir.words import show_expr
from pllm_lang.resolve.suggest import did_you_mean
from pllm_lang.text.finding import Finding, Span, Verdict


class LoweredExperiment(msgspec.Struct, frozen=True):
    """`slots` are those of the pipeline, None where the experiment has none that could be read."""

    experiment: Experiment
    findings: tuple[Finding, ...]
    slots: Slots | None = None


class _Reading(msgspec.Struct):
    """The experiment's record, the library, the policy that names the parties, and what was found."""

    record: Record
    library: Library
    policy: Policy | None
    findings: list[Finding]

    def report(
        self, code: str, message: str, field: str, help: str = "", verdict: Verdict | None = None
    ) -> None:
        place = self.record.field_origins.get(field, self.record.origin)
        span = Span(place.file, place.start, place.end)
        self.findings.append(Finding(code, message, span, verdict=verdict, help=help))


def lower_experiment(
    library: Library, record: Record, model: tuple[Finding, ...] | None = None, under: str = ""
) -> LoweredExperiment:
    """`model` is what was found when the experiment's model was lowered, None where that was not tried; `under` is the
    policy of its plan, for an experiment that names none."""
    key = record.under or under
    policy = effective(key, library) if key else None
    reading = _Reading(record, library, policy, [])
    fields = record.fields
    pipeline = _pipeline(reading)
    slots = None if pipeline is None else _slots(reading, pipeline)
    experiment = Experiment(
        name=record.name,
        policy=record.under,
        plan=_plan(reading, model),
        model=fields.get("model"),
        pipeline=pipeline,
        deployment=_deployment(reading),
        stocks=tuple(_stocks(reading)),
        budget=_budget(reading),
        measure=_listed(fields.get("measure")),
        slots=() if slots is None else slots.named,
        session=_text(fields.get("session")),
    )
    return LoweredExperiment(experiment, tuple(reading.findings), slots)


def _listed(value: ex.Expr | None) -> tuple[ex.Expr, ...]:
    if value is None:
        return ()
    return value.items if isinstance(value, ex.ListOf) else (value,)


def _key(value: ex.Expr | None) -> str:
    """The declaration that an expression names, "" for none."""
    if isinstance(value, ex.Ref):
        return value.name
    return value.fn if isinstance(value, ex.Apply) else ""


def _plan(reading: _Reading, found: tuple[Finding, ...] | None) -> str:
    fields = reading.record.fields
    plan, model = fields.get("plan"), fields.get("model")
    if plan is None and model is None:
        help = "add `plan: ...` with a plan's name, or `model: ...`"
        reading.report("experiments.no_subject", "the experiment names neither a plan nor a model", "", help)
    elif plan is not None and model is not None:
        message = "the experiment names a plan and a model; it runs one of them"
        reading.report("experiments.no_subject", message, "model", "leave one of the two out")
    elif model is not None and found is None:
        _refuse_model(reading)
    elif found is not None:
        reading.findings += found
    return _key(plan)


def _refuse_model(reading: _Reading) -> None:
    message = "models cannot be checked yet, so nothing is proved of this experiment"
    help = "write the plan out and name it with `plan: ...`"
    reading.report("models.not_supported", message, "model", help, Verdict.UNPROVED)


def _pipeline(reading: _Reading) -> ComponentUse | None:
    value = reading.record.fields.get("pipeline")
    if value is None:
        return None
    params = value.named if isinstance(value, ex.Apply) else ()
    return ComponentUse(_key(value), params)


def _slots(reading: _Reading, pipeline: ComponentUse) -> Slots | None:
    """None after a finding: what a wrong pipeline would make of the plan tells nothing more."""
    before = len(reading.findings)

    def report(code: str, message: str, help: str) -> None:
        reading.report(code, message, "pipeline", help, Verdict.REFUTED)

    slots = read_slots(pipeline, reading.library, reading.policy, report)
    return slots if len(reading.findings) == before else None


# ---- deployments -------------------------------------------------------------------------------------


def _deployment(reading: _Reading) -> Deployment | None:
    """`deployment: name`, `local(root: "...", hosts: {...})`, or parties with their targets."""
    value = reading.record.fields.get("deployment")
    match value:
        case None:
            return None
        case ex.MapOf():
            return Deployment("remote", hosts=_hosts(reading, value))
        case ex.Apply(fn="local"):
            named = dict(value.named)
            root = named.get("root")
            return Deployment(
                "local", root.value if isinstance(root, ex.Text) else "", _hosts(reading, named.get("hosts"))
            )
        case _:
            return _declared_deployment(reading, _key(value))


def _declared_deployment(reading: _Reading, key: str) -> Deployment | None:
    record = _record(reading, key, "deployment", "deployment")
    if record is None:
        return None
    fields = record.fields
    root = fields.get("root")
    administered = fields.get("administered_by")
    entries = administered.entries if isinstance(administered, ex.MapOf) else ()
    return Deployment(
        _key(fields.get("kind")) or "remote",
        root.value if isinstance(root, ex.Text) else "",
        _hosts(reading, fields.get("hosts")),
        tuple((party, _text(who)) for party, who in sorted(entries, key=_by_name)),
    )


def _hosts(reading: _Reading, value: ex.Expr | None) -> tuple[tuple[str, str], ...]:
    hosts: list[tuple[str, str]] = []
    for party, target in sorted(value.entries, key=_by_name) if isinstance(value, ex.MapOf) else ():
        if reading.policy is not None and party not in reading.policy.parties:
            known = reading.policy.parties
            help = did_you_mean(party, known) or "its parties are " + ", ".join(known)
            message = f"the policy `{reading.policy.name}` has no party `{party}`"
            reading.report("names.unknown", message, "deployment", help)
        elif _record(reading, _key(target), "target", "deployment") is not None:
            hosts.append((party, _key(target)))
    return tuple(hosts)


def _record(reading: _Reading, key: str, kind: str, field: str) -> Record | None:
    found = reading.library.get(key) if key else None
    if isinstance(found, Record) and found.kind == kind:
        return found
    known = {name.rsplit(".", 1)[-1] for name in reading.library.keys(kind)}
    name = key.rsplit(".", 1)[-1]
    help = did_you_mean(name, known) or f"declare it: `{kind} {name or 'name'} {{ ... }}`"
    reading.report("names.unknown", f"no {kind} `{name}` is known here", field, help)
    return None


# ---- stocks and budget -------------------------------------------------------------------------------


def _stocks(reading: _Reading) -> Iterable[Stock]:
    for value in _listed(reading.record.fields.get("stock")):
        record = _record(reading, _key(value), "stock", "stock")
        if record is not None:
            yield _stock(reading, _key(value), record)


def _stock(reading: _Reading, key: str, record: Record) -> Stock:
    fields = record.fields

    def text(name: str) -> str:
        return _text(fields.get(name))

    provider = fields.get("provider")
    return Stock(
        key,
        fields.get("of", ex.Text("")),
        _whole(reading, record, "count"),
        provider.name if isinstance(provider, ex.Ref) else text("provider"),
        _whole(reading, record, "ring_bits"),
        text("weights"),
        text("session"),
        text("fresh") == "true",
    )


def _whole(reading: _Reading, record: Record, field: str) -> str:
    """A field of a stock that counts something, worked out; "" where it is left out, or no such number."""
    value = record.fields.get(field)
    if value is None:
        return ""
    found = exact_term(value, Env())
    if isinstance(found, int) and 0 <= found <= LARGEST:
        return str(found)
    place = record.field_origins.get(field, record.origin)
    text = f"`{field}` of the stock `{record.name}` is no whole number up to 10^18"
    help_ = "write how many were issued" if field == "count" else "write the width of the ring in bits"
    finding = Finding("records.wrong_value", text, Span(place.file, place.start, place.end), help=help_)
    if finding not in reading.findings:
        reading.findings.append(finding)
    return ""


def _text(value: ex.Expr | None) -> str:
    return "" if value is None else value.value if isinstance(value, ex.Text) else show_expr(value)


LIMITS = {"requests": 1, "max_input_tokens": 0, "max_new_tokens": 0}
"""The limits of a budget, each with the least number that it can be."""

LARGEST = 10**18
"""Largest number of a budget: more than any run, and small enough to multiply and to print."""


def _budget(reading: _Reading) -> tuple[tuple[str, str], ...]:
    value = reading.record.fields.get("budget")
    entries: list[tuple[str, str]] = []
    for name, limit in sorted(value.entries, key=_by_name) if isinstance(value, ex.MapOf) else ():
        if name not in LIMITS:
            text = f"a budget has no limit `{name}`, so nothing would be checked against it"
            help_ = did_you_mean(name, LIMITS) or f"its limits are {', '.join(LIMITS)}"
            reading.report("experiments.budget", text, "budget", help_)
        elif not isinstance(limit, ex.Num):
            message = f"the budget `{name}` is a number"
            reading.report(
                "experiments.budget", message, "budget", "write a number, or the name of a constant"
            )
        elif not (limit.value.isdecimal() and LIMITS[name] <= int(limit.value) <= LARGEST):
            text = f"the budget `{name}` is a whole number from {LIMITS[name]} to 10^18; {_short(limit.value)} is not"
            reading.report("experiments.budget", text, "budget", "write how many the experiment may use")
        else:
            entries.append((name, limit.value))
    return tuple(entries)


def _short(number: str) -> str:
    return number if len(number) <= 24 else f"a number of {len(number)} characters"


def _by_name(entry: tuple[str, ex.Expr]) -> str:
    return entry[0]
