"""The state of one lowering: tables that only grow, the names in scope, and a journal that can be rolled
back.

Data, and the few functions that keep it consistent. Every statement appends to the tables; a `Mark`
remembers how long they were before it. An editor keeps the context, rolls back to the first changed
statement and lowers on from there (`ir/lower/again.py`).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from pllm_lang.catalog.expr import Origin
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Format, Policy
from pllm_lang.ir.plan import (
    Constant,
    Input,
    Node,
    Operand,
    Output,
    Placement,
    Stage,
    State,
    TensorType,
    Weight,
)
from pllm_lang.resolve.modules import ConstValue, FactsFile, Module
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Finding, Span


class Value(msgspec.Struct, frozen=True, gc=False):
    """A name of a value: an input, a weight, a result; in a block also of a member that was handed in."""

    id: Operand
    type: TensorType


class Family(msgspec.Struct, frozen=True, gc=False):
    """A name of `count` equal values; they are read as `w[i]`."""

    id: int
    type: TensorType
    count: int


class StateName(msgspec.Struct, frozen=True, gc=False):
    """A name of a state, or of a family of states where `count` > 0."""

    id: int
    type: TensorType
    count: int


class LoopVariable(msgspec.Struct, frozen=True, gc=False):
    """Runs from `low` up to, but not including, `high`; `%depth` in expressions."""

    depth: int
    low: int
    high: int


class Exactly(msgspec.Struct, frozen=True, gc=False):
    """A shape variable or a numeric parameter of a block, bound to its value."""

    value: ConstValue


class FormatName(msgspec.Struct, frozen=True, gc=False):
    """A format variable of a block, bound: an index into the table of formats."""

    index: int


Named: TypeAlias = Value | Family | StateName | LoopVariable | Exactly | FormatName


class Scope(msgspec.Struct):
    """The names of one body. `outer` is read only; a block's scope has none, so nothing leaks into it.

    `carried` are the names that the body of a repeat may assign once although they exist outside.
    """

    names: dict[str, Named] = {}
    outer: Scope | None = None
    carried: set[str] = set()
    places: dict[str, Span] = {}


class Frame(msgspec.Struct):
    """Which text and body are lowered, inside which blocks and repeats (`loop` numbers the outermost)."""

    module: Module
    scope: Scope
    prefix: str = ""
    call: Origin | None = None
    blocks: tuple[str, ...] = ()
    loops: tuple[LoopVariable, ...] = ()
    loop: int = -1
    stage: str = ""
    body: tuple[syn.Stmt, ...] = ()
    later: dict[str, Span] | None = None


class Carrier(msgspec.Struct, frozen=True):
    """A name on its way round a repeat: its value before, its value inside, where the repeat names it."""

    name: str
    initial: int
    inner: int
    type: TensorType
    span: Span


class Accesses(msgspec.Struct):
    """What one stage has done with one state; accesses by a constant index are kept apart."""

    reads: list[Any] = []
    writes: list[Any] = []
    fixed_reads: dict[int, Any] = {}
    fixed_writes: dict[int, Any] = {}


class Context(msgspec.Struct):
    """Everything that lowering one plan reads and grows."""

    library: Library
    modules: dict[str, Module]
    policy: Policy | None
    policy_key: str
    frame: Frame
    formats: list[Format] = []
    format_index: dict[str, int] = {}
    next_value: int = 0
    inputs: list[Input] = []
    weights: list[Weight] = []
    states: list[State] = []
    stages: list[Stage] = []
    constants: list[Constant] = []
    constant_index: dict[tuple[tuple[int, ...], tuple[str, ...]], int] = {}
    weight_of: dict[int, Weight] = {}
    scales: dict[int, Value] = {}
    body: list[Node] = []
    outputs: list[Output] = []
    stage_inputs: list[Input] = []
    accesses: dict[int, Accesses] = {}
    placements: dict[int, Placement] = {}
    statements: int = 0
    values: dict[int, tuple[str, Origin]] = {}
    parts: dict[tuple[int, str], Origin] = {}
    expanded: dict[int, Origin] = {}
    findings: list[Finding] = []
    signatures: dict[Any, Any] = {}
    callees: dict[str, Any] = {}
    blocks: dict[str, dict[str, syn.Block]] = {}
    rebound: list[tuple[str, Named | None]] = []
    facts: list[FactsFile] = []
    loops: int = 0
    requirements: int = 0
    suggestions: int = 0
    stopped: bool = False
