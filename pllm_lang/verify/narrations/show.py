"""A plan's proof as text: the program of every party, and what every coalition sees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pllm_lang.catalog.records import Policy
from pllm_lang.ir import protocol as p
from pllm_lang.verify.narrations.composing import Composed
from pllm_lang.verify.narrations.plan import Proof, coalitions
from pllm_lang.verify.narrations.views import view_of
from pllm_lang.verify.protocol.compose import Instance
from pllm_lang.verify.protocol.prove import prove_protocol

MAX_STEPS = 400
"""Instances that a listing shows; the rest are counted."""


# ---- roles ----
def roles_text(proof: Proof) -> str:
    """For each stage and party, what it draws, computes, sends and gets, step by step."""
    lines: list[str] = []
    for stage in proof.composed:
        lines.append(f"stage {stage.stage or stage.whole.name}")
        for party in stage.whole.parties:
            program = list(_program(stage, party.name))
            if program:
                assumed = f" (assumed: {party.ideal.name})" if party.ideal is not None else ""
                lines += [f"  {party.name}{assumed}", *(f"    {line}" for line in program)]
    return "\n".join(lines)


def _program(stage: Composed, party: str) -> Iterator[str]:
    for instance, made in zip(stage.whole.instances[:MAX_STEPS], stage.made, strict=False):
        own = [line for st in instance.protocol.body for line in _lines(st, instance, party)]
        if own:
            turns = f", {made.times} times" if made.times > 1 else ""
            yield f"# {', '.join(name for _, name in instance.outputs)} by {instance.protocol.name}{turns}"
            yield from own
    left = len(stage.whole.instances) - MAX_STEPS
    if left > 0:
        yield f"# and {left} more steps"


def _lines(st: p.Statement, instance: Instance, party: str) -> Iterator[str]:
    roles, names = dict(instance.roles), {**dict(instance.inputs), **dict(instance.outputs)}

    def at(role: str) -> str:
        return roles.get(role, role)

    def named(variable: str) -> str:
        value, _, piece = variable.partition(".")
        return ".".join(filter(None, (names.get(value, value), piece)))

    match st:
        case p.KeyDraw() if party in map(at, st.holders):
            yield f"{st.phase}: key {st.name} shared by {', '.join(map(at, st.holders))}"
        case p.Draw() if party in map(at, st.holders):
            yield f"{st.phase}: fresh {st.name}: {_type(st.type)} known to {', '.join(map(at, st.holders))}"
        case p.Assign() if at(st.party) == party:
            yield f"{st.phase}: {named(st.target)} = {expr_text(st.value, named)}"
        case p.Check() if at(st.party) == party:
            yield f"{st.phase}: abort unless {expr_text(st.value, named)} is 0"
        case p.Send() if at(st.sender) == party:
            yield f"{st.phase}: send {named(st.name)} to {', '.join(map(at, st.receivers))}"
        case p.Send() if party in map(at, st.receivers):
            yield f"{st.phase}: get {named(st.name)} from {at(st.sender)}"
        case _:
            pass


def _type(type_: p.TensorType) -> str:
    number = type_.number
    base = f"integer of {number.bits} bits" if isinstance(number, p.Integer) else _ring(number.modulus)
    return f"{base}[{', '.join(map(str, type_.shape))}]"


def _ring(modulus: int) -> str:
    bits = modulus.bit_length() - 1
    return f"ring({bits})" if modulus == 1 << bits else f"ring(modulus: {modulus})"


def expr_text(expr: p.Expr, named: object) -> str:
    """An expression as a person writes it; `named` renames variables."""
    rename = named if callable(named) else str

    def go(e: p.Expr, tight: bool = False) -> str:
        match e:
            case p.Ref():
                return str(rename(e.name))
            case p.Const():
                return str(e.value)
            case p.Add():
                text = go(e.terms[0])
                for term in e.terms[1:]:
                    minus = isinstance(term, p.Scale) and term.factor == -1
                    text += (
                        f" - {go(term.arg, True)}"
                        if minus and isinstance(term, p.Scale)
                        else f" + {go(term)}"
                    )
                return f"({text})" if tight else text
            case p.Scale():
                return f"-{go(e.arg, True)}" if e.factor == -1 else f"{e.factor} * {go(e.arg, True)}"
            case p.Mul():
                return f"{go(e.left, True)} * {go(e.right, True)}"
            case p.MatMul():
                return f"matmul({go(e.left)}, {go(e.right)})"
            case p.Call():
                return f"{e.fn}({', '.join(map(go, e.args))})"
            case p.Concat():
                return f"concat({', '.join(map(go, e.args))})"
            case p.Shift():
                return f"shift({go(e.arg)}, {e.bits})"
            case _:
                return f"{type(e).__name__.lower()}({go(e.arg)})"

    return go(expr)


# ---- views ----
def views_text(proof: Proof, policy: Policy) -> str:
    """For each stage and coalition, how its view ended, and what each protocol shows it."""
    lines: list[str] = []
    for stage in proof.composed:
        lines.append(f"stage {stage.stage or stage.whole.name}")
        for coalition in coalitions(policy):
            view = view_of(stage, coalition)
            who = " and ".join(sorted(coalition))
            lines.append(f"  {who}: {view.verdict.value}, {view.reason or 'the stage as one text'}")
            lines += [f"    {line}" for line in _seen(stage, coalition)]
    return "\n".join(lines)


def _seen(stage: Composed, coalition: frozenset[str]) -> Iterator[str]:
    """Each distinct protocol in which the coalition has a part, with how every message to it is explained."""
    counts: Counter[tuple[p.Protocol, tuple[str, ...]]] = Counter()
    for instance, made in zip(stage.whole.instances, stage.made, strict=True):
        roles = tuple(sorted(role for role, party in instance.roles if party in coalition))
        if made.key and roles:
            counts[instance.protocol, roles] += made.times
    for (protocol, roles), count in counts.items():
        view = prove_protocol(protocol, (roles,)).views[0]
        yield f"{protocol.name} as {', '.join(roles)}, {count} time{'s' if count > 1 else ''}: {view.verdict.value}"
        for ended in view.ended:
            how = "looks uniform" if ended.how == "fresh" else "follows from what it may know"
            yield f"  {ended.message} {how}"
        for mask in view.statistical:
            yield f"  {mask.message} hides behind `{mask.draw}` up to 2^-{mask.exponent} an entry"
