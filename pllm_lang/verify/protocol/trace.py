"""What a symbolic run of a protocol leaves: the one source for correctness, views, cost and leaks."""

from __future__ import annotations

import msgspec

from pllm_lang.ir import protocol as ir
from pllm_lang.verify.protocol.atoms import Atoms
from pllm_lang.verify.protocol.report import Finding
from pllm_lang.verify.protocol.scopes import Scope
from pllm_lang.verify.protocol.sizes import Sizes
from pllm_lang.verify.protocol.tensors import Value


class Key:
    """One PRF key in one run. Whoever is sent it becomes a holder, of everything it ever made. `called` once a function takes
    it: of that function's results nothing is known, so they may be parts of its streams."""

    def __init__(self, name: str, holders: tuple[str, ...], scope: Scope) -> None:
        self.name, self.holders, self.scope = name, set(holders), scope
        self.called = False


class DrawFacts:
    """Who knows a draw (through `key` too), how long it lives; `blocked` says why it can never be a mask;
    `stream` numbers the PRF stream that it is the beginning of."""

    def __init__(self, name: str, scope: Scope, key: Key | None, origin: int, stream: int = -1) -> None:
        self.name, self.scope, self.key, self.origin = name, scope, key, origin
        self.holders: set[str] = set()
        self.blocked = ""
        self.stream = stream

    def is_of_called_key(self) -> bool:
        return self.key is not None and self.key.called

    def known_to(self, party: str) -> bool:
        return party in self.holders or (self.key is not None and party in self.key.holders)


class InputFacts(msgspec.Struct, frozen=True):
    """An input atom: the input, the piece of it (None: the value itself), who holds it (None: everybody)."""

    given: ir.Input
    piece: ir.Piece | None
    holders: frozenset[str] | None
    scope: Scope


class Message(msgspec.Struct, frozen=True):
    """A value that was sent. `copy` counts executions from 1; `depth` is its round within the phase."""

    name: str
    sender: str
    receivers: tuple[str, ...]
    value: Value
    number: ir.Number
    phase: ir.Phase
    depth: int
    copy: int
    origin: int


class Delivery(msgspec.Struct, frozen=True):
    """A key or a shared draw sent to whoever did not draw it: for the cost only."""

    name: str
    sender: str
    receivers: tuple[str, ...]
    bits: int
    entries: int
    phase: ir.Phase
    origin: int


class Seen(msgspec.Struct, frozen=True):
    """What happens, or not, depending on a value: everybody in `parties` learns whether the value is 0."""

    value: Value
    parties: frozenset[str]
    what: str
    copy: int
    origin: int


class Copy:
    """One execution: the inputs' values, the pieces (input, [(piece, atom)]), the outputs per (party,
    variable)."""

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self.pieces: dict[str, list[tuple[ir.Piece, int]]] = {}
        self.outputs: dict[tuple[str, str], Value] = {}


class Trace:
    def __init__(self, protocol: ir.Protocol, sizes: Sizes) -> None:
        self.protocol, self.sizes, self.atoms = protocol, sizes, Atoms()
        self.draws: dict[int, DrawFacts] = {}
        self.inputs: dict[int, InputFacts] = {}
        self.copies: list[Copy] = []
        self.messages: list[Message] = []
        self.deliveries: list[Delivery] = []
        self.seen: list[Seen] = []
        self.computed: dict[str, tuple[int, ...]] = {}
        self.checks: list[tuple[ir.Check, Value]] = []
        self.findings: list[Finding] = []
        self.assumptions: set[ir.Assumption] = set()
