"""Replay: a step on shares that nobody sends anything for is the same move of entries on every piece."""

from __future__ import annotations

from fractions import Fraction

import msgspec

from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay import terms as t
from pllm_lang.artifacts.replay.derive import bind
from pllm_lang.artifacts.replay.holdings import At, Seated
from pllm_lang.catalog.expr import Apply, Expr, ListOf, Ref
from pllm_lang.catalog.records import Operator
from pllm_lang.ir import protocol as p
from pllm_lang.ir.plan import Step

RANK = " rank"


def moved_alike(at: At, step: Step, operator: Operator, seat: Seated) -> None:
    """The text moves entries as the step's operator does, and each result is said to be that move; ReplayError otherwise.

    Its operands have to lie alike in pieces, which the caller asks of each use."""
    text = seat.text
    if any(not isinstance(line, p.Assign) for line in text.body):
        raise at.refuse("a step on shares sends or draws something")
    if step.party and set(seat.roles.values()) != {step.party}:
        raise at.refuse(f"a step runs elsewhere than at `{step.party}`")
    names = t.Names()
    for spec, given in zip(operator.operands, text.inputs, strict=True):
        shape = tuple(dim for dim in given.type.shape if isinstance(dim, int))
        bind(spec.shape, shape, names)
        names.exact.setdefault(RANK, len(shape))
    params = {name: _substituted(value) for name, value in step.params}
    means = {clause.name: clause.expr for clause in operator.means}
    if "structural" not in operator.fields or any(
        output.scale_bits
        or output.error
        or output.name != spec.name
        or not _moved_as(output.meaning, means.get(spec.name), params, names)
        for output, spec in zip(text.outputs, operator.results, strict=True)
    ):
        raise at.refuse("a step on shares is more than its move of entries")


def _substituted(value: Expr) -> list[n.Number] | n.Number | None:
    """A parameter that is a number or a list of numbers."""
    if isinstance(value, ListOf):
        found = [t.exact(one, t.Names()) for one in value.items]
        return [one for one in found if one is not None] if None not in found else None
    return t.exact(value, t.Names())


def _moved_as(
    said: p.Expr | None,
    means: Expr | None,
    params: dict[str, list[n.Number] | n.Number | None],
    sizes: t.Names,
) -> bool:
    """Whether a term moves entries as the meaning of a structural operator does with these parameters."""
    if not isinstance(means, Apply) or not all(isinstance(one, Ref) for one in means.args):
        return False
    known = msgspec.structs.replace(
        sizes, exact={**sizes.exact, **{k: v for k, v in params.items() if isinstance(v, int | Fraction)}}
    )
    named = {name: t.exact(one, known) for name, one in means.named}
    args = tuple(p.Ref(one.name) for one in means.args if isinstance(one, Ref))
    match said:
        case p.Transpose(arg=arg, axes=()):
            return means.fn == "transpose" and args == (arg,)
        case p.Transpose(arg=arg, axes=axes):
            order = dict(means.named).get("order")
            stated = params.get(order.name) if isinstance(order, Ref) else None
            return means.fn == "permute" and args == (arg,) and stated == [*axes]
        case p.Reshape(arg=arg):  # its shape is the result's, and entries keep their order
            return means.fn == "reshape" and args == (arg,)
        case p.Slice(arg=arg, axis=axis, start=start, stop=stop, step=1):
            ends = named.get("from"), named.get("to")
            return (
                means.fn == "slice"
                and args == (arg,)
                and ends == (start, stop)
                and _same_axis(named, axis, sizes)
            )
        case p.Concat(args=parts, axis=axis):
            return means.fn == "concat" and args == parts and _same_axis(named, axis, sizes)
        case _:
            return False


def _same_axis(named: dict[str, n.Size], axis: int, sizes: t.Names) -> bool:
    """Axes may be counted from the end; the rank is that of the first operand."""
    stated = named.get("axis", -1)
    return stated is not None and int(stated) % int(sizes.exact[RANK]) == axis
