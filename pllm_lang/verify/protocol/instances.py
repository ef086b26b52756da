"""Small instances of a protocol: numbers for its symbols, so that it can be executed.

In: a protocol. Out: settings from the smallest upwards, each a protocol with concrete sizes and the text
that says what was chosen. Sizes that are numbers but large are first made symbols, equal ones the same;
where the protocol does not fit at such sizes (a slice, a reshape), the setting is left out by whoever runs
it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec

from pllm_lang.ir import protocol as ir
from pllm_lang.verify.protocol.sizes import symbols_of

MAX_KEPT = 4


class Setting(msgspec.Struct, frozen=True):
    """`text` is "" where the protocol had these sizes anyway; `reduced`: numbers were replaced, not
    symbols."""

    protocol: ir.Protocol
    text: str
    reduced: bool = False


def settings_of(protocol: ir.Protocol, numbers: tuple[int, ...] = (2, 3)) -> list[Setting]:
    """The instance to look at first, then larger ones; the sizes of symbols are these numbers."""
    symbols = sorted({s for d in _dims(protocol) for s in symbols_of(d)})
    large = sorted({d for d in _dims(protocol) if isinstance(d, int) and d > MAX_KEPT})
    if not symbols and not large:
        return [Setting(protocol, "")]
    out: list[Setting] = []
    for size in numbers:
        chosen: dict[str, int] = dict.fromkeys(symbols, size) | {str(d): size for d in large}
        names = [f"{s} = {size}" for s in symbols] + [f"{d} reduced to {size}" for d in large]
        out.append(Setting(with_sizes(protocol, chosen), ", ".join(names), bool(large)))
    return out


def with_sizes(protocol: ir.Protocol, numbers: dict[str, int]) -> ir.Protocol:
    """Every symbol, or large number, replaced."""

    def size(dim: ir.Dim) -> ir.Dim:
        if isinstance(dim, int):
            return numbers.get(str(dim), dim)
        total = 1
        for factor in dim.split("*"):
            name = factor.strip()
            total *= int(name) if name.isdigit() else numbers[name]
        return total

    return _mapped(protocol, size, lambda r: r)


def with_rings(protocol: ir.Protocol, ring: Callable[[ir.Number], ir.Number]) -> ir.Protocol:
    """The same text over other rings."""
    return _mapped(protocol, lambda d: d, ring)


def _dims(thing: Any) -> list[ir.Dim]:
    found: list[ir.Dim] = []

    def note(dim: ir.Dim) -> ir.Dim:
        found.append(dim)
        return dim

    _mapped(thing, note, lambda r: r)
    return found


def _mapped(thing: Any, size: Callable[[ir.Dim], ir.Dim], ring: Callable[[ir.Number], ir.Number]) -> Any:
    """A copy with every size and every number type replaced."""

    def go(x: Any) -> Any:
        return _mapped(x, size, ring)

    match thing:
        case ir.Ring() | ir.Integer():
            return ring(thing)
        case ir.TensorType():
            return ir.TensorType(ring(thing.number), tuple(size(d) for d in thing.shape))
        case ir.Reshape():
            return ir.Reshape(go(thing.arg), tuple(size(d) for d in thing.shape))
        case ir.Broadcast():
            return ir.Broadcast(go(thing.arg), thing.axis, size(thing.size))
        case ir.Repeat():
            count = thing.count if isinstance(thing.count, int) else size(thing.count)
            return ir.Repeat(count, go(thing.body), thing.origin)
        case msgspec.Struct():
            return msgspec.structs.replace(
                thing, **{f: go(getattr(thing, f)) for f in thing.__struct_fields__}
            )
        case tuple():
            return tuple(go(x) for x in cast(tuple[Any, ...], thing))
        case _:
            return thing
