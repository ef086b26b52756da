"""Records: what the library and a project's files declare, checked for form and free of spans.

Data only. Every record keeps its `origin`; clauses keep theirs. Fields whose value depends on parameters stay
expressions; the others are plain values. A record is named by `module` and `name`; components also have a
public `id`.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from pllm_lang.catalog.expr import NOWHERE, Apply, Expr, ListOf, Origin, Text


class Clause(msgspec.Struct, frozen=True, array_like=True):
    """`requires E else "reason"`, `ensures E`, `intermediate name: E`, `means name = E`."""

    expr: Expr
    name: str = ""
    reason: str = ""
    origin: Origin = NOWHERE


class ParamSpec(msgspec.Struct, frozen=True, array_like=True):
    """A parameter: `kind` is what it accepts; `allowed` None where anything of the kind goes, else a `ListOf`, a `Between`,
    a comparison with the parameter (`Apply(">=", (Ref(name), limit))`), or `Apply` of `text` (a range of lengths, or
    `pattern:`) or `list` (the kind of its items)."""

    name: str
    kind: Literal[
        "integer", "real", "boolean", "word", "text", "format", "list", "party", "component", "ratio", "shape"
    ]
    allowed: Expr | None = None
    default: Expr | None = None
    origin: Origin = NOWHERE


class OperandSpec(msgspec.Struct, frozen=True, array_like=True):
    """A typed operand or result. `format` is a format, a format variable or `exact`; `shape` None means a scalar.

    `placement` is used by protocols: ("from", party), ("to", party), ("public",), or ("as", holding expression).
    """

    name: str
    format: Expr
    shape: tuple[Expr, ...] = ()
    placement: tuple[str, Expr | None] = ("", None)
    origin: Origin = NOWHERE


class Format(msgspec.Struct, frozen=True, array_like=True):
    """A number format: its exact set of values is `{raw * 2^-frac : low <= raw <= high}`.

    `modulus` is the carrier ring ("" where there is none); `bits` the storage width; `scale` names the axis of a
    run-time or stored scale ("" where values stand for themselves). `kind` float, index, label and boolean have
    no raw bounds unless given.
    """

    name: str
    kind: Literal["int", "fixed", "ring", "float", "index", "label", "boolean", "exact"]
    low: str = ""
    high: str = ""
    frac: int = 0
    modulus: str = ""
    bits: int = 0
    scale: str = ""
    doc: str = ""
    origin: Origin = NOWHERE


class Holding(msgspec.Struct, frozen=True):
    """A sharing. `pieces` maps a piece to the indices of the parties that hold it; `value` rebuilds the value."""

    name: str
    module: str
    n_parties: Expr | None
    fields: dict[str, Expr]
    doc: str = ""
    origin: Origin = NOWHERE


class Operator(msgspec.Struct, frozen=True):
    """A semantic operation. `means` defines every result; `ensures` sharpens; `requires` is owed by every use."""

    name: str
    module: str
    format_vars: tuple[str, ...]
    operands: tuple[OperandSpec, ...]
    params: tuple[ParamSpec, ...]
    results: tuple[OperandSpec, ...]
    means: tuple[Clause, ...] = ()
    ensures: tuple[Clause, ...] = ()
    requires: tuple[Clause, ...] = ()
    fields: dict[str, Expr] = {}
    doc: str = ""
    origin: Origin = NOWHERE

    @property
    def rests_on(self) -> tuple[str, ...]:
        """What a step takes for granted of it: its claims of its results."""
        return _claimed(self.name, self.module, self.ensures)


def _claimed(name: str, module: str, ensures: tuple[Clause, ...]) -> tuple[str, ...]:
    """Bounds that a record states beside what is derived; those of the library are tested against execution. What a method's
    rounding is off by nothing but its record can say."""
    bounds = [c.expr for c in ensures if not (isinstance(c.expr, Apply) and _is_error(c.expr))]
    return (f"of `{name}`: what its record ensures of its results",) if bounds and not _ours(module) else ()


def _is_error(claim: Apply) -> bool:
    return any(isinstance(side, Apply) and side.fn == "error" for side in claim.args)


def _ours(module: str) -> bool:
    return module == "std" or module.startswith("std.")


class ProtocolLine(msgspec.Struct, frozen=True, array_like=True):
    """One line of a narration. `kind`: fresh, local, send, bundle, needs.

    fresh: name, type in `exprs[0]`, `via` in `exprs[1:]`, `parties` = owner or sharers, `word` = lifetime.
    local: `parties` = (party,), exprs = (target, value). send: parties = (sender, *receivers), exprs = values.
    bundle: name, `word` = unit, exprs = member names. needs: name.
    """

    kind: Literal["fresh", "local", "send", "bundle", "needs"]
    name: str = ""
    parties: tuple[str, ...] = ()
    word: str = ""
    exprs: tuple[Expr, ...] = ()
    shared: bool = False
    origin: Origin = NOWHERE


class ProtocolText(msgspec.Struct, frozen=True):
    """A narration as written: statements stay in a simple list form, lowered by `ir` (issue of its own)."""

    inputs: tuple[OperandSpec, ...]
    outputs: tuple[OperandSpec, ...]
    offline: tuple[ProtocolLine, ...]
    online: tuple[ProtocolLine, ...]


class Component(msgspec.Struct, frozen=True):
    """A way to do something. `kind`: method, schedule, pass, role, preparation, state, verification, kernels, metric.

    For a method: `implements` names operators; `takes`/`gives` state formats or holdings per operand (absent: the
    operator's own); `carrier` is the ring it computes in; `n_parties` and `adversaries` what it is good for;
    `failure` the failure probability per result entry and call; `reveals` what it discloses beyond its outputs.
    `fields` keeps every other declared field (cost, memory, evidence, assumptions, ...) as expressions.
    """

    name: str
    module: str
    id: str
    version: str
    kind: str
    implements: tuple[str, ...] = ()
    params: tuple[ParamSpec, ...] = ()
    takes: dict[str, Expr] = {}
    gives: dict[str, Expr] = {}
    carrier: Expr | None = None
    requires: tuple[Clause, ...] = ()
    ensures: tuple[Clause, ...] = ()
    intermediates: tuple[Clause, ...] = ()
    failure: Expr | None = None
    roles: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    n_parties: Expr | None = None
    adversaries: tuple[str, ...] = ()
    reveals: tuple[str, ...] = ()
    host_features: tuple[str, ...] = ()
    memory: Expr | None = None
    security: Expr | None = None
    protocol: ProtocolText | None = None
    primitive: str = ""
    fields: dict[str, Expr] = {}
    doc: str = ""
    origin: Origin = NOWHERE

    @property
    def is_published_system(self) -> bool:
        """Whether it is somebody's system as it was published: to be chosen by a person who knows it, never proposed as a fix."""
        return self.module.startswith("std.published")

    @property
    def rests_on(self) -> tuple[str, ...]:
        """What a step by it takes for granted: the texts of its `assumptions`, and its claims of its results."""
        listed = self.fields.get("assumptions")
        texts = listed.items if isinstance(listed, ListOf) else ()
        told = tuple(f"of `{self.name}`: {text.value}" for text in texts if isinstance(text, Text))
        return (*told, *_claimed(self.name, self.module, self.ensures))


class Kernel(msgspec.Struct, frozen=True):
    """A native kernel: `variants` are ISA feature sets; `defects` exclude features, versions or parameters."""

    name: str
    module: str
    id: str
    version: str
    operations: tuple[str, ...]
    variants: tuple[str, ...]
    params: tuple[ParamSpec, ...] = ()
    requires: tuple[Clause, ...] = ()
    fields: dict[str, Expr] = {}
    doc: str = ""
    origin: Origin = NOWHERE


class AdversaryRule(msgspec.Struct, frozen=True, array_like=True):
    """At most `count` of `among` are corrupted together, behaving as `kind` says."""

    kind: str
    count: int
    among: tuple[str, ...]
    origin: Origin = NOWHERE


class ClaimRule(msgspec.Struct, frozen=True, array_like=True):
    claim: str
    outcomes: tuple[str, ...] = ()
    refinements: tuple[str, ...] = ()
    origin: Origin = NOWHERE


class Policy(msgspec.Struct, frozen=True):
    """Who takes part, who may collude, what each may learn, and what must be shown."""

    name: str
    module: str
    tightens: str
    parties: tuple[str, ...]
    adversaries: tuple[AdversaryRule, ...]
    learns: dict[str, tuple[str, ...]]
    claims: tuple[ClaimRule, ...] = ()
    forbids: tuple[str, ...] = ()
    security: dict[str, str] = {}
    fields: dict[str, Expr] = {}
    doc: str = ""
    origin: Origin = NOWHERE


class Record(msgspec.Struct, frozen=True):
    """Any other declaration: assurance, pipeline, suite, experiment, target, deployment, stock, sweep, primitive, model.

    `under` names the policy of an experiment. Fields are kept in the order written.
    """

    kind: str
    name: str
    module: str
    id: str = ""
    under: str = ""
    fields: dict[str, Expr] = {}
    clauses: tuple[Clause, ...] = ()
    params: tuple[ParamSpec, ...] = ()
    field_origins: dict[str, Origin] = {}
    doc: str = ""
    origin: Origin = NOWHERE


AnyRecord: TypeAlias = Format | Holding | Operator | Component | Kernel | Policy | Record
