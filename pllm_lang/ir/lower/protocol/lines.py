"""Lines of a narration as statements: draws, local steps, messages, checks, bundles.

`client: u = x - r` computes, `client: 0 = y - z` checks that a value is 0 and aborts otherwise, `a -> b: x, x + y`
sends; what is sent without a name gets one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pllm_lang.catalog.expr import Apply, Attr, Expr, Item, Num, Ref, Text
from pllm_lang.catalog.records import ProtocolLine
from pllm_lang.ir import protocol as p
from pllm_lang.ir.lower.protocol.meaning import failure_exponent
from pllm_lang.ir.lower.protocol.setting import FollowsError, MalformedError, Scope, Typed
from pllm_lang.ir.lower.protocol.terms import term
from pllm_lang.ir.lower.protocol.types import format_of, read_type

LIFETIMES: dict[str, p.Lifetime] = {
    "execution": "execution",
    "request": "request",
    "session": "session",
    "weights": "weights",
}

COUNTER = "counter"
"""The part of a label that never repeats."""


def statements(lines: tuple[ProtocolLine, ...], phase: p.Phase, scope: Scope) -> Iterator[p.Statement]:
    """The statements of a phase; a line without a meaning is reported and left out."""
    for line in lines:
        try:
            yield from _statement(line, phase, scope)
        except FollowsError:
            scope.lost |= _made_by(line)
        except MalformedError as problem:
            scope.lost |= _made_by(line)
            scope.report(problem, line.origin)


def _made_by(line: ProtocolLine) -> set[str]:
    if line.kind == "local" and isinstance(line.exprs[0], Ref):
        return {line.exprs[0].name}
    return {line.name} if line.kind == "fresh" else set()


def _statement(line: ProtocolLine, phase: p.Phase, scope: Scope) -> Iterator[p.Statement]:
    origin = scope.origin(line.origin)
    match line.kind:
        case "fresh":
            yield _fresh(line, phase, origin, scope)
        case "local":
            yield _local(line, phase, origin, scope)
        case "send":
            yield from _send(line, phase, origin, scope)
        case "bundle":
            yield _bundle(line, origin, scope)
        case "needs":
            if line.name not in {spec.name for spec in scope.text.inputs}:
                raise MalformedError(
                    "protocol.malformed", f"`{line.name}` is no operand, so it cannot be needed fresh"
                )


def _fresh(line: ProtocolLine, phase: p.Phase, origin: int, scope: Scope) -> p.Statement:
    lifetime = LIFETIMES.get(line.word, "execution")
    _named_once(line.name, scope.values if line.exprs[0] == Ref("key") else scope.keys)
    if line.exprs[0] == Ref("key"):
        scope.keys.add(line.name)
        return p.KeyDraw(line.name, line.parties, lifetime, phase, origin=origin)
    via = _via(line, scope)
    type_, scale = read_type(line.exprs[0], scope)
    if not _is_mask(line.exprs[0]) and not _is_ring(line.exprs[0], scope):
        text = f"`{line.name}` is drawn from a format that is no ring, so it cannot be uniform"
        raise MalformedError(
            "protocol.malformed", text, "draw from `ring(...)`, or a mask with `uniform_int(bits)`"
        )
    scope.values[line.name] = Typed(p.Ref(line.name), type_.number, type_.shape, scale)
    return p.Draw(line.name, type_, line.parties, via, lifetime, phase, origin)


def _named_once(name: str, others: Collection[str]) -> None:
    """A value under a key's name would be sent as the key."""
    if name in others:
        text = f"`{name}` names a key and a value, so a line that sends it does not say which"
        raise MalformedError("protocol.malformed", text, "give one of them another name")


def _is_mask(expr: Expr) -> bool:
    base = expr.base if isinstance(expr, Item) else expr
    return isinstance(base, Apply) and base.fn == "uniform_int"


def _is_ring(expr: Expr, scope: Scope) -> bool:
    """Whether the format's own values are residues; those of `int8` lie in a carrier, and are few of its residues."""
    format_ = format_of(expr.base if isinstance(expr, Item) else expr, scope)
    return bool(format_.modulus) or format_.kind in ("boolean", "label")


def _via(line: ProtocolLine, scope: Scope) -> p.ViaMessage | p.ViaPrf:
    match line.exprs[1:]:
        case () | (Ref(name="message"),):
            return p.ViaMessage()
        case (Apply(fn="prf", args=(Ref() as key, *labels)),) if labels:
            if key.name not in scope.keys:
                raise MalformedError("protocol.malformed", f"no key `{key.name}` is drawn before this line")
            return p.ViaPrf(key.name, tuple(_label(label) for label in labels))
        case _:
            text = f"`{line.name}` is shared in a way that is not known"
            raise MalformedError(
                "protocol.malformed", text, 'write `via message` or `via prf(seed, "label")`'
            )


def _label(expr: Expr) -> str:
    """The word `counter` as it is; a text that reads the same is quoted, as it never changes."""
    match expr:
        case Text():
            return expr.value if expr.value != COUNTER else f'"{COUNTER}"'
        case Ref(name="counter"):
            return COUNTER
        case _:
            raise MalformedError("protocol.malformed", "a label is a text, or the word `counter`")


def _local(line: ProtocolLine, phase: p.Phase, origin: int, scope: Scope) -> p.Statement:
    target, value = line.exprs
    party = line.parties[0]
    if target == Num("0"):
        return p.Check(
            party, term(value, scope).expr, failure_exponent(scope.component, scope), phase, origin
        )
    name = variable(target)
    _named_once(name, scope.keys)
    wanted = scope.values.get(name)
    found = term(value, scope, wanted)
    if found.number != (wanted or found).number and name in _declared(scope):
        raise MalformedError("protocol.malformed", f"`{name}` is of another ring than what it is set to")
    if wanted is not None and name in _declared(scope):
        _fits(name, found, wanted)
        found = Typed(found.expr, found.number, found.shape, wanted.scale)
    scope.values[name] = Typed(p.Ref(name), found.number, found.shape, found.scale)
    return p.Assign(party, name, found.expr, phase, origin=origin)


def _declared(scope: Scope) -> set[str]:
    """Results and their pieces: their types stand in the signature."""
    results = {spec.name for spec in scope.text.outputs}
    return {name for name in scope.values if name.split(".")[0] in results}


def _fits(name: str, found: Typed, wanted: Typed) -> None:
    if found.shape != wanted.shape:
        shapes = " and ".join("[" + ", ".join(map(str, s)) + "]" for s in (found.shape, wanted.shape))
        raise MalformedError("protocol.malformed", f"`{name}` is set to a value of another shape: {shapes}")
    if None not in (found.scale, wanted.scale) and found.scale != wanted.scale:
        text = f"`{name}` has {wanted.scale} fraction bits and is set to a value with {found.scale}"
        raise MalformedError("protocol.scale", text, "shift the value by the difference")


def variable(target: Expr) -> str:
    match target:
        case Ref():
            return target.name
        case Attr(base=Ref(name=value), name=piece):
            return f"{value}.{piece}"
        case _:
            raise MalformedError(
                "protocol.malformed", "a party sets a name or a piece as a whole, not single entries"
            )


def _send(line: ProtocolLine, phase: p.Phase, origin: int, scope: Scope) -> Iterator[p.Statement]:
    sender, receivers = line.parties[0], line.parties[1:]
    for position, expr in enumerate(line.exprs):
        if isinstance(expr, Ref) and expr.name in scope.keys:
            yield p.Send(sender, receivers, expr.name, phase, origin=origin)
            continue
        found = term(expr, scope)
        if isinstance(expr, Ref | Attr):
            name = variable(expr)
        else:
            name = f"message {origin}.{position}"
            scope.values[name] = Typed(p.Ref(name), found.number, found.shape, found.scale)
            yield p.Assign(sender, name, found.expr, phase, origin=origin)
        yield p.Send(sender, receivers, name, phase, origin=origin)


def _bundle(line: ProtocolLine, origin: int, scope: Scope) -> p.Statement:
    members = tuple(expr.name for expr in line.exprs if isinstance(expr, Ref))
    unknown = [name for name in members if name not in scope.values]
    if unknown and unknown[0] in scope.lost:
        raise FollowsError("", "")
    if unknown:
        raise MalformedError("protocol.malformed", f"nothing called `{unknown[0]}` is made before this line")
    match line.word:
        case "entry" | "row" | "call":
            return p.Bundle(line.name, line.word, members, origin)
        case _:
            raise MalformedError(
                "protocol.malformed", f"a bundle is issued per entry, row or call, not per {line.word}"
            )
