"""Complete enumeration of a small protocol: the truth that the prover's verdicts are held against.

Every assignment of inputs and draws is run at once, as numpy arrays, by the plain meaning of each
statement. Nothing here is shared with the prover but the data types. A coalition's view is independent if,
whenever its own inputs and what it may learn agree, its messages and draws have the same distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm

import numpy as np
from numpy.typing import NDArray

from pllm_lang.ir import protocol as ir

Array = NDArray[np.int64]


class TooMany(Exception):
    """More assignments than asked for."""


class Value:
    """One tensor for each assignment: `data` is [assignments, *shape] (or [1, *shape] where all are
    equal)."""

    def __init__(self, data: Array, modulus: int) -> None:
        self.data = data % modulus if modulus else data
        self.modulus = modulus


class Run:
    """All executions of a protocol, `copies` after one another, sharing what outlives one."""

    def __init__(self, protocol: ir.Protocol, copies: int, limit: int) -> None:
        self.protocol, self.copies = protocol, copies
        self.input_sizes: dict[tuple[str, int], tuple[int, tuple[int, ...]]] = {}
        self.draw_sizes: dict[object, tuple[int, int]] = {}
        self.planned = False
        self.count = 1
        self._walk()
        self._place(limit)
        self.planned = True
        self._walk()

    # ---- assignments ----
    def _place(self, limit: int) -> None:
        """Draws vary fastest, so that data.reshape(secrets, draws) splits an assignment."""
        self.strides: dict[object, list[int]] = {}
        step = 1
        for place, (radix, size) in self.draw_sizes.items():
            self.strides[place] = []
            for _ in range(size):
                self.strides[place].append(step)
                step *= radix
        self.n_draws = step
        for place, (radix, shape) in self.input_sizes.items():
            self.strides[place] = []
            for _ in range(int(np.prod(shape, dtype=int))):
                self.strides[place].append(step)
                step *= radix
            if step > limit:
                raise TooMany(str(step))
        if step > limit:
            raise TooMany(str(step))
        self.count = step
        self.n_inputs = step // self.n_draws
        self.numbers = np.arange(step, dtype=np.int64)

    def _entries(self, place: object, radix: int, shape: tuple[int, ...]) -> Array:
        columns = [self.numbers // step % radix for step in self.strides[place]]
        size = int(np.prod(shape, dtype=int))
        return np.stack(columns[:size], axis=1).reshape((self.count, *shape))

    # ---- the run ----
    def _walk(self) -> None:
        self.received: list[tuple[tuple[str, ...], str, str, Value]] = []
        self.known: list[tuple[frozenset[str] | None, Value]] = []
        self.own: list[tuple[set[str], Value]] = []
        self.outputs: list[tuple[ir.Output, list[Value]]] = []
        self.key_holders: dict[object, set[str]] = {}
        self.prf_values: list[tuple[object, Value]] = []
        for copy in range(1, self.copies + 1):
            self.copy = copy
            self._execute()

    def _execute(self) -> None:
        self.vars: dict[str, dict[str, Value]] = {p.name: {} for p in self.protocol.parties}
        self.values: dict[str, Value] = {}
        self.keys: dict[str, object] = {}
        for given in self.protocol.inputs:
            self._give(given)
        for place, st in enumerate(self.protocol.body):
            self._statement(st, place)
        for output in self.protocol.outputs:
            self.outputs.append((output, self._output(output)))

    def _output(self, output: ir.Output) -> list[Value]:
        if output.meaning is not None:
            return [self._compute(output.meaning, self.values)]
        if isinstance(output.holding, ir.Clear):
            return [self.vars[output.holding.parties[0]][output.name]]
        return []

    def _give(self, given: ir.Input) -> None:
        copy = self.copy if given.lifetime == "execution" else 0
        if not isinstance(given.holding, ir.Shared):
            holders = None if isinstance(given.holding, ir.Public) else given.holding.parties
            value = self._input((given.name, copy), given.type)
            self.known.append((None if holders is None else frozenset(holders), value))
            self.values[given.name] = value
            for party in self.vars if holders is None else holders:
                self.vars[party][given.name] = value
            return
        total: Value | None = None
        for piece in given.holding.pieces:
            name = f"{given.name}.{piece.label}"
            value = self._input((name, copy), given.type)
            self.known.append((frozenset(piece.holders), value))
            for party in piece.holders:
                self.vars[party][name] = value
            part = piece.coefficient * value.data
            total = Value(part if total is None else total.data + part, value.modulus)
        assert total is not None
        self.values[given.name] = total

    def _input(self, place: tuple[str, int], type_: ir.TensorType) -> Value:
        shape = tuple(d for d in type_.shape if isinstance(d, int))
        radix, modulus = _radix(type_.number), _modulus(type_.number)
        self.input_sizes.setdefault(place, (radix, shape))
        if not self.planned:
            return Value(np.zeros((1, *shape), np.int64), modulus)
        return Value(self._entries(place, radix, shape), modulus)

    def _statement(self, st: ir.Statement, place: int) -> None:
        match st:
            case ir.KeyDraw():
                key = (place, self.copy if st.lifetime == "execution" else 0)
                self.keys[st.name] = key
                self.key_holders.setdefault(key, set()).update(st.holders)
            case ir.Draw():
                self._draw(st, place)
            case ir.Assign():
                self.vars[st.party][st.target] = self._compute(st.value, self.vars[st.party])
            case ir.Send():
                self._send(st)
            case ir.Bundle():
                pass
            case _:
                raise NotImplementedError(type(st).__name__)

    def _send(self, st: ir.Send) -> None:
        if st.name in self.keys:
            self.key_holders[self.keys[st.name]].update(st.receivers)
            return
        value = self.vars[st.sender][st.name]
        self.received.append((st.receivers, st.sender, st.name, value))
        for receiver in st.receivers:
            self.vars[receiver][st.name] = value

    def _draw(self, st: ir.Draw, place: int) -> None:
        shape = tuple(d for d in st.type.shape if isinstance(d, int))
        radix, size = _radix(st.type.number), int(np.prod(shape, dtype=int))
        spot: object
        if isinstance(st.via, ir.ViaPrf):
            counted = self.copy if "counter" in st.via.label else 0
            spot = ("stream", self.keys[st.via.key], st.via.label, counted)
        else:
            spot = ("draw", place, self.copy if st.lifetime == "execution" else 0)
        old_radix, old_size = self.draw_sizes.get(spot, (1, 0))
        if not self.planned:
            self.draw_sizes[spot] = (lcm(old_radix, radix), max(old_size, size))
            value = Value(np.zeros((1, *shape), np.int64), _modulus(st.type.number))
        else:
            full = self._entries(spot, self.draw_sizes[spot][0], shape)
            value = Value(full % radix, _modulus(st.type.number))
        self.own.append((set(st.holders), value))
        if isinstance(st.via, ir.ViaPrf):
            self.prf_values.append((self.keys[st.via.key], value))
        for party in st.holders:
            self.vars[party][st.name] = value

    def _compute(self, expr: ir.Expr, store: dict[str, Value]) -> Value:  # noqa: PLR0912 - one case a form
        def go(e: ir.Expr) -> Value:
            return self._compute(e, store)

        match expr:
            case ir.Ref():
                return store[expr.name]
            case ir.Const():
                shape = tuple(d for d in expr.type.shape if isinstance(d, int))
                return Value(np.full((1, *shape), expr.value), _modulus(expr.type.number))
            case ir.Add():
                terms = [go(t) for t in expr.terms]
                return Value(sum((t.data for t in terms[1:]), terms[0].data), terms[0].modulus)
            case ir.Scale():
                arg = go(expr.arg)
                return Value(expr.factor * arg.data, arg.modulus)
            case ir.Mul():
                left, right = go(expr.left), go(expr.right)
                return Value(left.data * right.data, left.modulus)
            case ir.MatMul():
                left, right = go(expr.left), go(expr.right)
                return Value(left.data @ right.data, left.modulus)
            case ir.Transpose():
                arg = go(expr.arg)
                rank = arg.data.ndim - 1
                axes = expr.axes or (*range(rank - 2), rank - 1, rank - 2)
                return Value(arg.data.transpose(0, *(a + 1 for a in axes)), arg.modulus)
            case ir.Reshape():
                arg = go(expr.arg)
                return Value(arg.data.reshape((arg.data.shape[0], *expr.shape)), arg.modulus)
            case ir.Slice():
                arg = go(expr.arg)
                indices = list(range(expr.start, expr.stop, expr.step))
                return Value(np.take(arg.data, indices, expr.axis + 1), arg.modulus)
            case ir.Gather():
                arg = go(expr.arg)
                return Value(np.take(arg.data, list(expr.indices), expr.axis + 1), arg.modulus)
            case ir.Concat():
                args = [go(a) for a in expr.args]
                rows = max(a.data.shape[0] for a in args)
                wide = [np.broadcast_to(a.data, (rows, *a.data.shape[1:])) for a in args]
                return Value(np.concatenate(wide, expr.axis + 1), args[0].modulus)
            case ir.Sum():
                arg = go(expr.arg)
                return Value(arg.data.sum(expr.axis + 1), arg.modulus)
            case ir.Broadcast():
                arg = go(expr.arg)
                assert isinstance(expr.size, int)
                return Value(
                    np.repeat(np.expand_dims(arg.data, expr.axis + 1), expr.size, expr.axis + 1), arg.modulus
                )
            case ir.Cast():
                return Value(go(expr.arg).data, _modulus(expr.number))
            case ir.Shift():
                arg = go(expr.arg)
                return Value(arg.data >> expr.bits, arg.modulus)
            case ir.Call():
                table = np.array(expr.table)
                return Value(table[go(expr.args[0]).data % len(table)], _modulus(expr.type.number))

    # ---- judgement ----
    def independent(self, coalition: frozenset[str], allowed: Sequence[ir.Expr] = ()) -> bool:
        """Whether the coalition's view is a function of what it knows and may learn, in distribution."""
        groups = [v for holders, v in self.known if holders is None or holders & coalition]
        views = [
            v
            for receivers, sender, _, v in self.received
            if sender not in coalition and coalition & set(receivers)
        ]
        views += [v for holders, v in self.own if holders & coalition]
        views += [v for key, v in self.prf_values if self.key_holders[key] & coalition]
        for output, values in self.outputs:
            parties = output.holding.parties if isinstance(output.holding, ir.Clear) else ()
            if coalition & set(parties):
                (groups if all(self._settled(v) for v in values) else views).extend(values)
        for copy in range(len(allowed)):
            groups.append(self._compute(allowed[copy], self.values))
        group = self._codes(groups)[:, 0]
        rows = np.sort(self._codes(views), axis=1)
        order = np.argsort(group, kind="stable")
        same = group[order][1:] == group[order][:-1]
        equal = (rows[order][1:] == rows[order][:-1]).all(axis=1)
        return bool((equal | ~same).all())

    def meets_secret(self, coalition: frozenset[str]) -> bool:
        """Whether some message that the coalition gets depends on an input that it does not know."""
        known = self._codes([v for holders, v in self.known if holders is None or holders & coalition])[:, 0]
        order = np.argsort(known, kind="stable")
        same = known[order][1:] == known[order][:-1]
        for receivers, sender, _, value in self.received:
            if sender in coalition or not coalition & set(receivers):
                continue
            rows = self._codes([value])[order]
            if ((rows[1:] != rows[:-1]).any(axis=1) & same).any():
                return True
        return False

    def outputs_hold(self) -> bool:
        """Whether every output in the clear, or recombined, is its meaning for every assignment."""
        return all(self._holds(output) for output in self.protocol.outputs)

    def _holds(self, output: ir.Output) -> bool:
        assert output.meaning is not None
        want = self._compute(output.meaning, self.values).data
        if isinstance(output.holding, ir.Shared):
            parts = [
                p.coefficient * self.vars[p.holders[0]][f"{output.name}.{p.label}"].data
                for p in output.holding.pieces
            ]
            got = sum(parts[1:], parts[0])
        else:
            assert isinstance(output.holding, ir.Clear)
            got = self.vars[output.holding.parties[0]][output.name].data
        modulus = _modulus(output.type.number)
        return bool(((got - want) % modulus == 0).all()) if modulus else bool((got == want).all())

    def _settled(self, value: Value) -> bool:
        """Free of draws: equal for all draws under equal inputs."""
        rows = self._codes([value])
        return bool((rows == rows[:, :1]).all())

    def _codes(self, values: list[Value]) -> Array:
        """One number for each assignment, [inputs, draws], equal where all the values are equal."""
        code = np.zeros(self.count, np.int64)
        radix = 1
        for value in values:
            flat = np.broadcast_to(value.data, (self.count, *value.data.shape[1:])).reshape(self.count, -1)
            low = int(flat.min(initial=0))
            width = int(flat.max(initial=0)) - low + 1
            for column in flat.T:
                if radix * width > 1 << 62:
                    code = np.unique(code, return_inverse=True)[1].astype(np.int64)
                    radix = int(code.max()) + 1
                code = code * width + (column - low)
                radix *= width
        return code.reshape(self.n_inputs, self.n_draws)


def _modulus(number: ir.Number) -> int:
    return number.modulus if isinstance(number, ir.Ring) else 0


def _radix(number: ir.Number) -> int:
    return number.modulus if isinstance(number, ir.Ring) else 1 << number.bits
