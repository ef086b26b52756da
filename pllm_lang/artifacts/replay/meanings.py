"""Replay: a use of a component's protocol means what its step's operator means, and its operands fit the text."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pllm_lang.artifacts.replay import numbers as n
from pllm_lang.artifacts.replay import terms as t
from pllm_lang.artifacts.replay.called import in_pieces, name_of_call
from pllm_lang.artifacts.replay.holdings import At, Held, Seated, is_boolean
from pllm_lang.artifacts.replay.numbers import Range
from pllm_lang.artifacts.replay.refusal import ReplayError
from pllm_lang.artifacts.replay.seats import IDEAL
from pllm_lang.artifacts.replay.walked import Said, form_of, value_of
from pllm_lang.catalog.expr import Apply, Expr, Ref
from pllm_lang.catalog.records import OperandSpec, Operator
from pllm_lang.ir import protocol as p
from pllm_lang.ir.plan import Step, TensorType

FREE = ("exact", "float")
"""Kinds of formats that have no fraction bits of their own."""


def in_range(at: At, bits: int, type_: TensorType, limit: Range, what: str) -> None:
    """|raw| < 2^bits, by what was worked out of the value."""
    if not bits:
        return
    scale = n.two_to(form_of(at.walked.lock, type_).frac)
    if limit is None or max(-limit[0], limit[1]) * scale >= 1 << bits:
        raise ReplayError("certificate.bound", f"`{what}` is not shown to be below 2^{bits}")


def _fits(at: At, thing: p.Input | p.Output, type_: TensorType, limit: Range, bits: int | None) -> None:
    """The value is one of the numbers that the text computes with, so that a residue stands for it alone. `bits` are the fraction
    bits of its residues where its format has none."""
    if isinstance(thing, p.Input):
        in_range(at, thing.range_bits, type_, limit, thing.name)
    if is_boolean(thing.holding):
        return
    form, number = form_of(at.walked.lock, type_), thing.type.number
    scale = n.two_to((bits or 0) if form.kind in FREE else form.frac)
    if isinstance(number, p.Ring):
        held = -(number.modulus // 2), (number.modulus - 1) // 2
        held = held if number.modulus > 2 else (0, 1)
    else:
        held = -(1 << number.bits) if number.signed else 0, (1 << number.bits) - 1
    if limit is None or not held[0] <= limit[0] * scale or not limit[1] * scale <= held[1]:
        raise ReplayError(
            "certificate.bound", f"`{thing.name}` is not shown to be a number of `{at.program.stage}`'s text"
        )


def by_component(at: At, step: Step, said: Said, seat: Seated, operands: list[Held]) -> list[int | None]:
    """The parties play the roles that the step gives them, operands are as small as the text takes them to be, and what the
    text says of its results is what the operator means. Gives the fraction bits of the residues of each result."""
    text, operator, component = seat.text, said.operator, said.component
    if [one.name for one in text.inputs] != [spec.name for spec in operator.operands]:
        raise at.refuse(f"`{text.name}` takes other operands than `{operator.name}`, or in another order")
    bound = {} if step.use is None else dict(step.use.roles)
    for role in text.parties:
        if role.ideal is not None and component is not None and role.name in component.roles:
            raise at.refuse(f"the role `{role.name}` is one of its component's, and no primitive")
        wanted = IDEAL + role.name if role.ideal is not None else bound.get(role.name, role.name)
        if seat.roles[role.name] != wanted:
            raise at.refuse(f"the role `{role.name}` is played by another party than the step says")
    if step.party:
        raise at.refuse("a step of several parties runs at one of them")
    names, numbers = (
        at.walked.names[at.walked.number[id(step)]],
        {one.name: one.type.number for one in text.inputs},
    )
    own = {name: None if form.kind in FREE else form.frac for name, form in names.formats.items()}
    own |= {
        spec.name: held.frac
        for spec, held in zip(operator.operands, operands, strict=True)
        if own[spec.name] is None
    }
    raw = [None if one.meaning is None else _fraction(one.meaning, own) for one in text.outputs]
    bits = [
        None if one is None else one - output.scale_bits
        for one, output in zip(raw, text.outputs, strict=True)
    ]
    reach = at.walked.reach[at.walked.number[id(step)]]
    types = [value_of(at.walked, one).type for one in step.operands]
    things = zip((*text.inputs, *text.outputs), (*types, *step.types), reach, strict=True)
    for (thing, type_, limit), residues in zip(
        things, (*(held.frac for held in operands), *bits), strict=True
    ):
        _fits(at, thing, type_, limit, residues)
    scope = Scope(operator, numbers, names.exact, lambda: _called(at, step, said, seat, types))
    for output, spec in zip(text.outputs, operator.results, strict=True):
        means = (
            None
            if output.meaning is None
            else unrounded(said.means.get(spec.name), spec, output.meaning, own)
        )
        if output.meaning is None or output.name != spec.name or not is_meant(output.meaning, means, scope):
            raise at.refuse(
                f"`{output.name}` of `{text.name}` is not said to be what `{operator.name}` means"
            )
    _bits_apart(at, text)
    _cut_as_said(at, step, own, text)
    return bits


def _called(at: At, step: Step, said: Said, seat: Seated, types: list[TensorType]) -> str:
    """The step's operator as its text calls it as a whole."""
    assert said.component is not None
    lock = at.walked.lock
    taken = [in_pieces(form_of(lock, one), given) for one, given in zip(types, seat.text.inputs, strict=True)]
    return name_of_call(step, said.operator, said.component, [*lock.documents.ir.formats], taken)


def _bits_apart(at: At, text: p.Protocol) -> None:
    """Only bits lie as bits: a number in pieces called so would be held against no range."""
    taken = any(is_boolean(given.holding) for given in text.inputs)
    for thing in (*text.inputs, *text.outputs):
        said = isinstance(thing, p.Input) or taken or _is_bits(thing.meaning)
        if is_boolean(thing.holding) and not (thing.type.number == p.Ring(2) and said):
            raise at.refuse(f"`{thing.name}` of `{text.name}` lies as bits and is a number")
        if isinstance(thing, p.Output) and _is_bits(thing.meaning) and not is_boolean(thing.holding):
            raise at.refuse(f"`{thing.name}` of `{text.name}` are bits and lies as a number")


def _is_bits(meaning: p.Expr | None) -> bool:
    return isinstance(meaning, p.Call) and meaning.fn == "bits"


def _cut_as_said(at: At, step: Step, own: dict[str, int | None], text: p.Protocol) -> None:
    """The raw numbers of a result have its format's fraction bits, and what the text rounds the record says."""
    number = at.walked.number[id(step)]
    for i, (output, type_) in enumerate(zip(text.outputs, step.types, strict=True)):
        form = form_of(at.walked.lock, type_)
        raw = None if output.meaning is None else _fraction(output.meaning, own)
        if raw is not None and form.kind not in ("exact", "float") and raw - output.scale_bits != form.frac:
            raise at.refuse(f"`{output.name}` of `{text.name}` has other fraction bits than its format")
        unit, error = t.step_of(form), at.walked.errors[number][i]
        if (output.scale_bits or output.error) and (
            unit is None or (error is not None and error < output.error * unit)
        ):
            raise at.refuse(f"`{output.name}` of `{text.name}` rounds more than its record says")


def _fraction(said: p.Expr, own: dict[str, int | None]) -> int | None:
    """Fraction bits of a polynomial of raw numbers; None where they are not known."""
    match said:
        case p.Ref(name=name):
            return own.get(name)
        case p.Mul(left=left, right=right) | p.MatMul(left=left, right=right):
            x, y = _fraction(left, own), _fraction(right, own)
            return None if x is None or y is None else x + y
        case p.Add(terms=terms):
            found = {_fraction(one, own) for one in terms}
            return found.pop() if len(found) == 1 else None
        case p.Scale(arg=arg) | p.Cast(arg=arg) | p.Transpose(arg=arg):
            return _fraction(arg, own)
        case _:
            return None


class Scope(msgspec.Struct, frozen=True):
    """What a meaning is read with: its operator, the numbers that operands are in the text, exact parameters and sizes, and what the
    operator is called as a whole."""

    operator: Operator
    numbers: dict[str, p.Number]
    exact: dict[str, n.Number]
    called: Callable[[], str]


def unrounded(means: Expr | None, spec: OperandSpec, said: p.Expr, own: dict[str, int | None]) -> Expr | None:
    """A meaning without its last rounding, where that is the result's own or takes nothing away."""
    match means:
        case Apply(fn="nearest", args=(arg, Ref(name=grid))):
            bits, result, raw = own.get(grid), own.get(spec.name), _fraction(said, own)
            return arg if bits is not None and (bits == result or (raw is not None and raw <= bits)) else None
        case _:
            return means


def _number(expr: p.Expr, numbers: dict[str, p.Number]) -> p.Number | None:
    """What kind of number an expression gives; None where that does not show."""
    match expr:
        case p.Ref(name=name):
            return numbers.get(name)
        case p.Cast(number=number):
            return number
        case p.Scale(arg=arg) | p.Transpose(arg=arg):
            return _number(arg, numbers)
        case p.Mul(left=left) | p.MatMul(left=left):
            return _number(left, numbers)
        case p.Add(terms=terms):
            return _number(terms[0], numbers) if terms else None
        case _:
            return None


def _width(arg: p.Expr, scope: Scope) -> tuple[int, ...]:
    """How many bits a residue has; () where it is not known to be one."""
    number = _number(arg, scope.numbers)
    return ((number.modulus - 1).bit_length(),) if isinstance(number, p.Ring) else ()


def _keeps(number: p.Number, before: p.Number | None) -> bool:
    """A cast of integers to a ring, or onto a ring whose modulus divides the old one, keeps sums and products."""
    if not isinstance(number, p.Ring):
        return number == before
    return isinstance(before, p.Integer) or (
        isinstance(before, p.Ring) and before.modulus % number.modulus == 0
    )


def is_meant(said: p.Expr, means: Expr | None, scope: Scope) -> bool:
    """Whether a term over raw numbers says what an operator's meaning says, form by form; of what is known by its name alone,
    that it is the operator of its operands."""
    operator = scope.operator
    match said, means:
        case p.Call(fn="bits", args=(arg,)), _ if operator.name != "bits":
            return said.type.shape[-1:] == _width(arg, scope) and is_meant(arg, means, scope)
        case p.Call(fn=fn, args=args), _:
            names = tuple(p.Ref(spec.name) for spec in operator.operands)
            return args == names and fn == scope.called()
        case p.Cast(arg=arg, number=number), _:
            return _keeps(number, _number(arg, scope.numbers)) and is_meant(arg, means, scope)
        case p.Ref(name=name), Ref(name=other):
            return name == other
        case p.Scale(factor=-1, arg=arg), Apply(fn="-", args=(other,)):
            return is_meant(arg, other, scope)
        case p.Scale(factor=factor, arg=arg), Apply(fn="*", args=(x, y)):
            known = t.Names(exact=scope.exact)
            by_first = t.exact(x, known) == factor and is_meant(arg, y, scope)
            return by_first or (t.exact(y, known) == factor and is_meant(arg, x, scope))
        case p.Add(terms=(left, p.Scale(factor=-1, arg=right))), Apply(fn="-", args=(x, y)):
            return is_meant(left, x, scope) and is_meant(right, y, scope)
        case p.Add(terms=(left, right)), Apply(fn="+", args=(x, y)):
            return is_meant(left, x, scope) and is_meant(right, y, scope)
        case p.Mul(left=left, right=right), Apply(fn="*", args=(x, y)):
            return is_meant(left, x, scope) and is_meant(right, y, scope)
        case p.MatMul(left=left, right=right), Apply(fn="matmul", args=(x, y)):
            return is_meant(left, x, scope) and is_meant(right, y, scope)
        case p.Transpose(arg=arg, axes=()), Apply(fn="transpose", args=(other,)):
            return is_meant(arg, other, scope)
        case _:
            return False
