"""The typed plan: what is checked, locked and run. Data only, no spans.

Values are numbered. A name lives only in the source map (`ir/source_map.py`), so renaming, reordering and
formatting change no digest: the canonical form numbers values by dataflow from the outputs. Blocks are
expanded in place; `repeat` stays a node with one body, so equal layers cost once. Shapes are concrete.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from pllm_lang.catalog.expr import Expr
from pllm_lang.catalog.records import Format


class Placement(msgspec.Struct, frozen=True, array_like=True):
    """Who has a value: `unplaced` (nothing said), `public`, `party` (in the clear), `shared` (a holding)."""

    kind: Literal["unplaced", "public", "party", "shared"] = "unplaced"
    parties: tuple[str, ...] = ()
    holding: str = ""


class TensorType(msgspec.Struct, frozen=True, array_like=True):
    """`format` indexes `Plan.formats`; `shape` is concrete, () for a scalar."""

    format: int
    shape: tuple[int, ...]


# The type of a result of a step that has a type error, and of what is made from it.
UNKNOWN = TensorType(-1, ())


class Bound(msgspec.Struct, frozen=True, array_like=True):
    """One stated fact: `slot(value) op limit`, e.g. ("max_abs", "<=", "12").

    Slots: `max_abs`, `min`, `max`, `norm2`, `row_norm1`, `row_norm2`, `col_norm1`, `col_norm2`, `error`. In
    an `assume` of a step with several results, `result` tells which one it speaks of.
    """

    slot: str
    op: Literal["<=", ">="]
    limit: str
    result: int = 0


class Member(msgspec.Struct, frozen=True, tag="member", array_like=True):
    """`family[index]`; `index` is affine in the enclosing repeat variables (`Ref("%0")` is the outermost)."""

    family: int
    index: Expr


Operand: TypeAlias = int | Member


class Input(msgspec.Struct, frozen=True, array_like=True):
    """`bounds` are what the plan says of the input; `assumed` are bounds that were only seen on data."""

    value: int
    type: TensorType
    owner: str = ""
    placement: Placement = Placement()
    bounds: tuple[Bound, ...] = ()
    assumed: tuple[Bound, ...] = ()


class Weight(msgspec.Struct, frozen=True, array_like=True):
    """A weight, or a family of `count` equal-shaped ones (`count` 0: a single weight). `secret_from` () is
    public.

    `scale_of` >= 0: the stored scale (`w.scale`) of that weight or family, a value of its own. `facts_key`
    is the digest of the checkpoint that some of the bounds were measured of, "" where all are written in
    the plan; `assumed` are bounds that were only seen on data.
    """

    value: int
    type: TensorType
    count: int = 0
    secret_from: tuple[str, ...] = ()
    bounds: tuple[Bound, ...] = ()
    facts_key: str = ""
    scale_of: int = -1
    assumed: tuple[Bound, ...] = ()


class Constant(msgspec.Struct, frozen=True, array_like=True):
    """A literal in operand position: exact entries, row-major, as `"12"` or `"-1/128"`."""

    value: int
    type: TensorType
    entries: tuple[str, ...]


class State(msgspec.Struct, frozen=True, array_like=True):
    """Handed from stage to stage. `bounds` is the invariant: owed at every write, known at every read."""

    value: int
    type: TensorType
    count: int = 0
    placement: Placement = Placement()
    bounds: tuple[Bound, ...] = ()


class ComponentUse(msgspec.Struct, frozen=True, array_like=True):
    """`using component(args)`: `key` is the record's qualified name, `roles` binds roles to parties."""

    key: str
    params: tuple[tuple[str, Expr], ...] = ()
    roles: tuple[tuple[str, str], ...] = ()


class Step(msgspec.Struct, frozen=True, tag="step", array_like=True):
    """One operation. `operator` is a qualified record name; `results` are new values with `types`.

    `params` holds every parameter of the operator's record in its order, defaults filled in: numbers, words
    and booleans (`Ref("row")`), texts, formats (`Ref("%f3")`). `use` is the component written with `using`;
    `party` the one after `@`; `assumes` are facts that the plan asks to take for granted of its results.
    `structural` steps only move entries (a transpose) and need no component.
    """

    operator: str
    operands: tuple[Operand, ...]
    params: tuple[tuple[str, Expr], ...]
    results: tuple[int, ...]
    types: tuple[TensorType, ...]
    use: ComponentUse | None = None
    party: str = ""
    assumes: tuple[Bound, ...] = ()
    stated_holding: Placement = Placement()
    structural: bool = False


class Carried(msgspec.Struct, frozen=True, array_like=True):
    """A name carried round a repeat: `initial` goes in, `inner` is its value in the body, `next` what the
    body makes of it, `final` its value after the loop."""

    initial: int
    inner: int
    next: int
    final: int


class Repeat(msgspec.Struct, frozen=True, tag="repeat", array_like=True):
    """`body` once for each index low <= i < high; `depth` names the variable (`%depth`)."""

    depth: int
    low: int
    high: int
    carried: tuple[Carried, ...]
    body: tuple[Node, ...]


class StateWrite(msgspec.Struct, frozen=True, tag="write", array_like=True):
    """`state = value`, or one member of a state family."""

    state: Operand
    value: int


class Requirement(msgspec.Struct, frozen=True, tag="requires", array_like=True):
    """`requires E else "reason"` of a plan; values occur as `Ref("%v12")`."""

    condition: Expr
    reason: str = ""


Node: TypeAlias = Step | Repeat | StateWrite | Requirement


class Output(msgspec.Struct, frozen=True, array_like=True):
    """`to` who gets it in the clear (everybody where it is public); else `holding`, with `holders` in the order of its
    pieces."""

    value: int
    to: tuple[str, ...] = ()
    holding: str = ""
    holders: tuple[str, ...] = ()


class Stage(msgspec.Struct, frozen=True, array_like=True):
    """A named graph; a plan without stages has one, named ""."""

    name: str
    body: tuple[Node, ...]
    inputs: tuple[Input, ...] = ()
    outputs: tuple[Output, ...] = ()


class Plan(msgspec.Struct, frozen=True):
    """`policy` is the qualified name of the policy record, "" where the plan is under none."""

    policy: str
    formats: tuple[Format, ...]
    inputs: tuple[Input, ...]
    weights: tuple[Weight, ...]
    states: tuple[State, ...]
    stages: tuple[Stage, ...]
    constants: tuple[Constant, ...] = ()
