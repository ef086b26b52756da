"""The text of one stage while it is written: which name stands for each operand, weight and state.

Operators' texts are written through a `Writer`: it says what an op's operands and weights are called at this
place, and collects the lines. A refusal is a `LoweringError` with a code that starts with `text.`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from pllm_lang.models.errors import LoweringError
from pllm_lang.models.graph import Op, State, Weight
from pllm_lang.models.text.names import result_name
from pllm_lang.models.text.runs import Run, member_index

LAYER = "layer"
TURN = "turn"
"""The loop variable where a turn is one layer, and where it is several."""


class Family(msgspec.Struct, frozen=True):
    """A declared weight or state: its identifier and the layers that its members belong to (none: a single one)."""

    name: str
    layers: tuple[int, ...]


class Place(msgspec.Struct, frozen=True):
    """Where a body stands: body number `member` of a run; none for the ops around the layers. `alone`: a single layer
    outside of any loop."""

    run: Run | None = None
    member: int = 0
    alone: bool = False

    @property
    def layer(self) -> int | None:
        return None if self.run is None else self.run.layers_of(self.member)[0]

    def reading(self, family: Family) -> str:
        if not family.layers:
            return family.name
        if self.run is None:
            raise LoweringError("text.layers", f"{family.name} belongs to layers and is read outside of them")
        variable = LAYER if self.run.period == 1 else TURN
        return f"{family.name}[{member_index(family.layers, self.run, self.member, variable)}]"


class Writer:
    """Writes the ops of one `body`. `renamed` gives the names of values that go in and come out, `written`
    the state that keeps an op's result, `lengths` the least and greatest length of a sequence after this stage;
    `in_chunks`: the stage runs several times on one input. `chosen` says what the scores are called that an op has
    chosen."""

    def __init__(
        self,
        weights: Sequence[tuple[Weight, Family]],
        states: Sequence[tuple[State, Family]],
        dtype: str,
        place: Place,
        renamed: Mapping[str, str],
        written: Mapping[str, str],
        shapes: Mapping[str, tuple[int, ...]],
        lengths: tuple[int, int],
        *,
        body: Sequence[Op],
        in_chunks: bool,
    ) -> None:
        self.lines: list[str] = []
        self.dtype = dtype
        self.place = place
        self.renamed = dict(renamed)
        self.written = written
        self.lengths = lengths
        self.body = body
        self.in_chunks = in_chunks
        self.chosen: dict[str, str] = {}
        self.shapes = dict(shapes)
        self._inputs = frozenset(shapes) - frozenset(renamed)
        self._made: dict[str, Op] = {}
        self._weights = weights
        self._states = states

    def step(self, result: str, call: str) -> None:
        """One step at the client; a state can also be given a value as it is."""
        self.lines.append(f"{result} = {call} @ client" if "(" in call else f"{result} = {call}")

    def rounded(self, op: Op, part: str, call: str) -> None:
        """An exact call, and its result in the format of the computation."""
        self.step(self.result(op, part), call)
        self.step(self.result(op), f"encode({self.result(op, part)}, to: f32)")

    def result(self, op: Op, part: str = "") -> str:
        """The name of an op's result, or of an intermediate `part` of it. Where two ops of a graph's body have one name,
        the later is numbered; who reads the name after it means the later."""
        if part:
            return self._numbered(f"{result_name(op.name)}_{part}")
        self.shapes[op.name] = op.shape
        if self._made.setdefault(op.name, op) is not op:
            self._made[op.name] = op
            self.renamed[op.name] = self._numbered(f"{result_name(op.name)}_again")
        return self.renamed.get(op.name) or self._numbered(result_name(op.name))

    def operand(self, name: str) -> str:
        if name in self._inputs:
            return name
        return self.renamed.get(name) or self._numbered(result_name(name))

    def _numbered(self, name: str) -> str:
        """Bodies of one loop share a scope; the second and later ones number their names. A layer outside of loops
        shares that of the stage."""
        if self.place.alone:
            return f"{name}_of_layer_{self.place.layer}"
        several = self.place.run is not None and self.place.run.period > 1
        return f"{name}_{self.place.member}" if several else name

    def weight(self, op: Op, role: str) -> str:
        return self.place.reading(self._member(self._weights, op.weights[role])[1])

    def weight_shape(self, op: Op, role: str) -> tuple[int, ...]:
        return self._member(self._weights, op.weights[role])[0].shape

    def state(self, name: str) -> str:
        return self.place.reading(self._member(self._states, name)[1])

    def state_shape(self, name: str) -> tuple[int, ...]:
        return self._member(self._states, name)[0].shape

    def _member(
        self, members: Sequence[tuple[Weight, Family]] | Sequence[tuple[State, Family]], name: str
    ) -> tuple[Weight | State, Family]:
        layer = self.place.layer
        for graph, family in members:
            if graph.name == name and (not graph.layers or layer in graph.layers):
                return graph, family
        raise LoweringError("text.layers", f"{name} has no member for layer {layer}")


def refuse_operator(op: Op, why: str) -> LoweringError:
    return LoweringError(
        "text.operator", f"op {op.name!r}: {why}", key=op.operator, help="lower it in Python with lower_model"
    )
