"""A lowered protocol: what a narration says, with every name resolved. Data only, no spans.

The front end makes it from a `protocol` of a component (or from a whole plan, inlined); the prover, the exact
executor, the role programs and the replayer read it. `origin` is an opaque index into a source map, -1: none.

Values. A *variable* is a string. Every party has its own variables: a local step defines one at its party, a
message gives the sender's value to the receivers under the same name, and a piece of a shared value `x` is
the variable `x.<label>`. A shared input's bare name stands for the value and occurs in `meaning` only.

Numbers. A `Ring` value is a residue 0..modulus-1; an `Integer` value is exact. A `Cast` embeds the
representative 0..modulus-1; to a ring whose modulus divides the old one it is the ring homomorphism.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Dim: TypeAlias = int | str
"""A size, a symbol (`"m"`), or a product of symbols and numbers (`"heads*d"`, `"3*d"`)."""

Lifetime = Literal["execution", "request", "session", "weights"]
Phase = Literal["offline", "online"]


# ---- types ----
class Ring(msgspec.Struct, frozen=True, tag_field="form", tag="ring", array_like=True):
    """The integers modulo `modulus` >= 2."""

    modulus: int


class Integer(msgspec.Struct, frozen=True, tag_field="form", tag="integer", array_like=True):
    """Exact integers: 0 <= v < 2^bits, or |v| < 2^bits where `signed`."""

    bits: int
    signed: bool = False


Number: TypeAlias = Ring | Integer


class TensorType(msgspec.Struct, frozen=True, array_like=True):
    number: Number
    shape: tuple[Dim, ...] = ()


# ---- expressions: polynomials, structural maps, calls ----
class Ref(msgspec.Struct, frozen=True, tag_field="form", tag="ref", array_like=True):
    name: str


class Const(msgspec.Struct, frozen=True, tag_field="form", tag="const", array_like=True):
    """The same number in every entry."""

    value: int
    type: TensorType


class Add(msgspec.Struct, frozen=True, tag_field="form", tag="add", array_like=True):
    """Sum of equal shapes over one number type; nothing broadcasts."""

    terms: tuple[Expr, ...]


class Scale(msgspec.Struct, frozen=True, tag_field="form", tag="scale", array_like=True):
    """`factor * arg`, `factor` a known integer; -1 negates."""

    factor: int
    arg: Expr


class Mul(msgspec.Struct, frozen=True, tag_field="form", tag="mul", array_like=True):
    """Entrywise product of equal shapes."""

    left: Expr
    right: Expr


class MatMul(msgspec.Struct, frozen=True, tag_field="form", tag="matmul", array_like=True):
    """`[..., m, k] x [..., k, n] -> [..., m, n]`, leading axes equal."""

    left: Expr
    right: Expr


class Transpose(msgspec.Struct, frozen=True, tag_field="form", tag="transpose", array_like=True):
    """Axis `a` of the result is axis `axes[a]` of `arg`; () reverses the last two."""

    arg: Expr
    axes: tuple[int, ...] = ()


class Reshape(msgspec.Struct, frozen=True, tag_field="form", tag="reshape", array_like=True):
    """Row-major reshape to `shape`, of equal size."""

    arg: Expr
    shape: tuple[Dim, ...]


class Slice(msgspec.Struct, frozen=True, tag_field="form", tag="slice", array_like=True):
    """Entries start, start+step, ... below stop along `axis`; 0 <= start < stop, step >= 1."""

    arg: Expr
    axis: int
    start: int
    stop: int
    step: int = 1


class Gather(msgspec.Struct, frozen=True, tag_field="form", tag="gather", array_like=True):
    """`arg` at the known positions `indices` along `axis`."""

    arg: Expr
    axis: int
    indices: tuple[int, ...]


class Concat(msgspec.Struct, frozen=True, tag_field="form", tag="concat", array_like=True):
    args: tuple[Expr, ...]
    axis: int


class Sum(msgspec.Struct, frozen=True, tag_field="form", tag="sum", array_like=True):
    """Sum along `axis`, which disappears."""

    arg: Expr
    axis: int


class Broadcast(msgspec.Struct, frozen=True, tag_field="form", tag="broadcast", array_like=True):
    """A new axis of `size` at position `axis`, every entry along it equal."""

    arg: Expr
    axis: int
    size: Dim


class Cast(msgspec.Struct, frozen=True, tag_field="form", tag="cast", array_like=True):
    arg: Expr
    number: Number


class Shift(msgspec.Struct, frozen=True, tag_field="form", tag="shift", array_like=True):
    """Entrywise `floor(v / 2^bits)`, v the representative 0..modulus-1, or the centred one where `signed`."""

    arg: Expr
    bits: int
    signed: bool = False


class Call(msgspec.Struct, frozen=True, tag_field="form", tag="call", array_like=True):
    """A function that the prover knows only by name: equal arguments give equal results, nothing more.

    Of `entrywise` functions `fn` of one argument `table` is the exact meaning, table[v] for v = 0, 1, ...
    `keys` are key variables that the computing party must hold.
    """

    fn: str
    args: tuple[Expr, ...]
    type: TensorType
    keys: tuple[str, ...] = ()
    table: tuple[int, ...] = ()


Expr: TypeAlias = (
    Ref
    | Const
    | Add
    | Scale
    | Mul
    | MatMul
    | Transpose
    | Reshape
    | Slice
    | Gather
    | Concat
    | Sum
    | Broadcast
    | Cast
    | Shift
    | Call
)


# ---- who has a value ----
class Public(msgspec.Struct, frozen=True, tag_field="form", tag="public", array_like=True):
    pass


class Clear(msgspec.Struct, frozen=True, tag_field="form", tag="clear", array_like=True):
    """In the clear at these parties."""

    parties: tuple[str, ...]


class Piece(msgspec.Struct, frozen=True, array_like=True):
    """The variable `<value>.<label>`, equal at every holder; the value is the sum of coefficient * piece."""

    label: str
    holders: tuple[str, ...]
    coefficient: int = 1


class Shared(msgspec.Struct, frozen=True, tag_field="form", tag="shared", array_like=True):
    """A sharing under a named scheme (`additive`, `replicated`, `masked`, `boolean_shares`)."""

    scheme: str
    pieces: tuple[Piece, ...]


Holding: TypeAlias = Public | Clear | Shared


class Input(msgspec.Struct, frozen=True, array_like=True):
    """`range_bits`: every entry v of the value, centred, has |v| < 2^range_bits; 0 where nothing is known.

    `fresh` is `needs fresh x`: the protocol uses the pieces as draws and consumes the sharing.
    """

    name: str
    type: TensorType
    holding: Holding
    lifetime: Lifetime = "execution"
    range_bits: int = 0
    fresh: bool = False
    origin: int = -1


class Output(msgspec.Struct, frozen=True, array_like=True):
    """`meaning`, over the inputs' values, is what must be computed; None: whatever the text computes.

    Where the text rounds, the value is meant to be `meaning` / 2^`scale_bits`; `error` is the declared
    largest |value - that|, and `failure` the declared exponent e of a failure probability of at most 2^-e
    an entry (0: never fails).
    """

    name: str
    type: TensorType
    holding: Holding
    meaning: Expr | None = None
    scale_bits: int = 0
    error: int = 0
    failure: int = 0
    origin: int = -1


# ---- parties and statements ----
class Assumption(msgspec.Struct, frozen=True, array_like=True):
    """What a primitive or a PRF rests on. `security` in bits, 0 for unconditional."""

    name: str
    security: int = 128
    adversary: Literal["semi_honest", "malicious"] = "semi_honest"


class IdealCost(msgspec.Struct, frozen=True, array_like=True):
    """What one use of a primitive costs: rounds, and bytes an entry that it sends out."""

    rounds: int = 1
    bytes_per_entry: int = 0


class Party(msgspec.Struct, frozen=True, array_like=True):
    """A party; with `ideal`, a primitive: a trusted party that nobody corrupts, doing what the text says.

    Messages to and from an ideal party cost `cost`, not their own length.
    """

    name: str
    ideal: Assumption | None = None
    cost: IdealCost = IdealCost()


class ViaMessage(msgspec.Struct, frozen=True, tag_field="form", tag="message", array_like=True):
    """The first holder draws and sends to the others."""


class ViaPrf(msgspec.Struct, frozen=True, tag_field="form", tag="prf", array_like=True):
    """Every holder expands `prf(key, label)`; a key that outlives an execution needs "counter" in the
    label."""

    key: str
    label: tuple[str, ...]


class KeyDraw(msgspec.Struct, frozen=True, tag_field="form", tag="key", array_like=True):
    """A PRF key known to `holders`; drawn by the first and sent to the others."""

    name: str
    holders: tuple[str, ...]
    lifetime: Lifetime = "execution"
    phase: Phase = "offline"
    bits: int = 128
    origin: int = -1


class Draw(msgspec.Struct, frozen=True, tag_field="form", tag="draw", array_like=True):
    """Uniform entries: over the ring, or over 0..2^bits-1 for an `Integer`. Known to `holders`."""

    name: str
    type: TensorType
    holders: tuple[str, ...]
    via: ViaMessage | ViaPrf = ViaMessage()
    lifetime: Lifetime = "execution"
    phase: Phase = "offline"
    origin: int = -1


class Assign(msgspec.Struct, frozen=True, tag_field="form", tag="assign", array_like=True):
    """`party: target = value`."""

    party: str
    target: str
    value: Expr
    phase: Phase = "online"
    lifetime: Lifetime = "execution"
    origin: int = -1


class Send(msgspec.Struct, frozen=True, tag_field="form", tag="send", array_like=True):
    """`sender -> receivers: name`. A key variable may be sent whole."""

    sender: str
    receivers: tuple[str, ...]
    name: str
    phase: Phase = "online"
    lifetime: Lifetime = "execution"
    origin: int = -1


class Check(msgspec.Struct, frozen=True, tag_field="form", tag="check", array_like=True):
    """`party` aborts unless all of `value` is 0. A wrong value passes with probability at most
    2^-`failure`."""

    party: str
    value: Expr
    failure: int = 0
    phase: Phase = "online"
    origin: int = -1


class When(msgspec.Struct, frozen=True, tag_field="form", tag="when", array_like=True):
    """`body` happens only if `condition` (a scalar at `party`) is not 0: whoever takes part sees that."""

    party: str
    condition: Expr
    body: tuple[Statement, ...]
    phase: Phase = "online"
    origin: int = -1


class Repeat(msgspec.Struct, frozen=True, tag_field="form", tag="repeat", array_like=True):
    """`body` `count` times; a number is unrolled, a symbol is any number of times (nothing is carried)."""

    count: Dim
    body: tuple[Statement, ...]
    origin: int = -1


class Bundle(msgspec.Struct, frozen=True, tag_field="form", tag="bundle", array_like=True):
    """What the offline phase issues and burns as a whole: these draws and values, one `unit` at a time."""

    name: str
    unit: Literal["entry", "row", "call"]
    members: tuple[str, ...]
    origin: int = -1


Statement: TypeAlias = KeyDraw | Draw | Assign | Send | Check | When | Repeat | Bundle


class Protocol(msgspec.Struct, frozen=True):
    """`adversary` is the strongest one that the component declares security against."""

    name: str
    parties: tuple[Party, ...]
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    body: tuple[Statement, ...]
    adversary: Literal["semi_honest", "malicious"] = "semi_honest"
