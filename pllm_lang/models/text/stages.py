"""The text of a stage: its inputs, the ops before the layers, loops of layers, the ops behind them, outputs.

What layers hand on besides `hidden` is carried by the loops only where a later layer reads it. A loop needs a value to
begin with; so where the first layer makes one, it stands alone, before the loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from pllm_lang.models.errors import LoweringError
from pllm_lang.models.graph import ModelGraph, Repeat, Stage, State, Weight
from pllm_lang.models.text.operators import write
from pllm_lang.models.text.runs import Run, runs
from pllm_lang.models.text.writer import LAYER, TURN, Family, Place, Writer

HIDDEN = "hidden"
MakeWriter: TypeAlias = Callable[[Place, Mapping[str, str], "Repeat | None"], Writer]


class Declared(msgspec.Struct, frozen=True):
    """Weights and states with the names that they are declared under; `dtype` is the weights' format."""

    weights: Sequence[tuple[Weight, Family]]
    states: Sequence[tuple[State, Family]]
    dtype: str


def stage_lines(graph: ModelGraph, stage: Stage, declared: Declared) -> Iterator[str]:
    make = _writers(graph, stage, declared)
    last_token, last_position = graph.dimensions.vocab - 1, graph.dimensions.max_positions - 1
    batch = graph.workload.batch
    yield f"stage {stage.mode} {{"
    yield f"input tokens: token[{batch}, {stage.query}] from client where tokens in 0..{last_token}"
    if _reads_positions(graph, stage):
        yield f"input positions: token[{stage.query}] from client where positions in 0..{last_position}"
    before = make(Place(), {stage.carried[HIDDEN]: HIDDEN}, None)
    carried = _read_later(stage.layers)
    found = runs(stage.layers)
    if carried:
        before.renamed = {}
    for op in stage.before:
        write(before, op)
    yield from before.lines
    if carried:
        entering = before.operand(stage.carried[HIDDEN])
        yield from _first_layer(found[0], entering, carried, make)
        found = found[0].rest() + found[1:]
    for run in found:
        yield from _loop(run, (HIDDEN, *carried), make)
    after = make(Place(), {}, None)
    for op in stage.after:
        write(after, op)
    yield from after.lines
    for output in stage.outputs:
        yield f"output {after.operand(output)} to client"
    yield "}"


def _reads_positions(graph: ModelGraph, stage: Stage) -> bool:
    """Decoders without attention look at no position, unless a state has to know where a sequence begins."""
    if _in_chunks(stage) and any(state.kind != "cache" for state in graph.states):
        return True
    ops = (*stage.before, *(op for repeat in stage.layers for op in repeat.ops))
    return any("positions" in op.inputs and op.operator != "alibi_bias" for op in ops)


def _in_chunks(stage: Stage) -> bool:
    return stage.mode == "prefill" and stage.steps > 1


def written_ops(stage: Stage) -> int:
    """How many ops stand in the text of a stage: each distinct body of a run once."""
    layers = sum(len(body.ops) for run in runs(stage.layers) for body in run.bodies)
    return len(stage.before) + layers + len(stage.after)


def _writers(graph: ModelGraph, stage: Stage, declared: Declared) -> MakeWriter:
    batch = graph.workload.batch
    shapes = {tensor.name: tensor.shape[1:] for tensor in stage.inputs}
    shapes["tokens"] = (batch, stage.query)
    first = graph.workload.max_input_tokens + (stage.mode == "decode")
    lengths = (first, max(first, first + stage.steps - 1) if stage.mode == "decode" else first)
    known = shapes | {HIDDEN: (batch, stage.query, 0)}
    for repeat in stage.layers:
        made = {op.name: op.shape for op in repeat.ops}
        known |= {name: made[op] for name, op in repeat.carried.items() if name != HIDDEN and op in made}

    def make(place: Place, renamed: Mapping[str, str], repeat: Repeat | None) -> Writer:
        written = {} if repeat is None else {op: state for state, op in repeat.writes.items()}
        body = (*stage.before, *stage.after) if repeat is None else repeat.ops
        return Writer(
            declared.weights, declared.states, declared.dtype, place, renamed, written, known, lengths,
            body=body, in_chunks=_in_chunks(stage),
        )  # fmt: skip

    return make


def _read_later(layers: Sequence[Repeat]) -> tuple[str, ...]:
    """What is handed on besides `hidden`, and read by a layer."""
    handed = {name for repeat in layers for name in repeat.carried if name != HIDDEN}
    read = {name for repeat in layers for op in repeat.ops for name in op.inputs}
    return tuple(sorted(handed & read))


def _first_layer(run: Run, entering: str, carried: Sequence[str], make: MakeWriter) -> Iterator[str]:
    """The first layer by itself; it gives every carried name its first value."""
    repeat = run.bodies[0]
    for name in carried:
        if name in {operand for op in repeat.ops for operand in op.inputs}:
            raise LoweringError(
                "text.carried", f"the first layer reads {name}, which none has made", key="layers"
            )
    leaving = {repeat.carried[name]: name for name in (HIDDEN, *carried)}
    first = Run(run.first, 1, (repeat,))
    writer = make(Place(first, 0, alone=True), {HIDDEN: entering} | leaving, repeat)
    for op in repeat.ops:
        write(writer, op)
    yield from writer.lines


def _loop(run: Run, carried: Sequence[str], make: MakeWriter) -> Iterator[str]:
    """A name that no layer of the run makes anew is read as the value before the loop."""
    variable = LAYER if run.period == 1 else TURN
    anew = [name for name in carried if any(body.carried[name] != name for body in run.bodies)]
    yield f"repeat {variable} in {run.low}..<{run.low + run.turns} carrying [{', '.join(anew)}] {{"
    called = {name: name for name in carried}
    for member, repeat in enumerate(run.bodies):
        if repeat.ops[-1].name != repeat.carried[HIDDEN]:
            raise LoweringError(
                "text.carried",
                f"layer {run.first}: the carried value is not the last one made",
                key="layers",
            )
        made = {name: _made_as(run, member, name) for name in anew if repeat.carried[name] != name}
        one = make(
            Place(run, member), called | {repeat.carried[name]: word for name, word in made.items()}, repeat
        )
        called |= made
        for op in repeat.ops:
            write(one, op)
        yield from one.lines
    yield "}"


def _made_as(run: Run, member: int, name: str) -> str:
    """The carried name for the last one made in a turn; those before it are numbered by the layer that reads them."""
    again = any(body.carried[name] != name for body in run.bodies[member + 1 :])
    return f"{name}_{member + 1}" if again else name
