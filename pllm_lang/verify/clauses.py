"""`requires` clauses: which there are, and how one came out, with the numbers of both sides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import holds, term
from pllm_lang.catalog.expr import Apply, Expr
from pllm_lang.catalog.facts import Interval
from pllm_lang.catalog.names import is_exact
from pllm_lang.catalog.records import Clause
from pllm_lang.exact.number import text
from pllm_lang.ir.walk import references
from pllm_lang.verify.numbers import shown
from pllm_lang.verify.terms import term_text
from pllm_lang.verify.view import StepView

COMPARISONS = ("<=", "<", ">=", ">", "==", "!=")


class Judgement(msgspec.Struct, frozen=True):
    """A clause as it came out: `text` the condition, `found` what the numbers are, `value` and `limit` of its sides."""

    clause: Clause
    holds: bool | None
    text: str
    found: str
    value: str
    limit: str
    help: str


def clauses_reading_facts(view: StepView) -> Iterator[tuple[str, Clause]]:
    """Owner and clause of every `requires` that needs facts of a tensor."""
    return (pair for pair in _clauses(view) if not is_exact(pair[1].expr, view.env))


def clauses_of_exact_names(view: StepView) -> Iterator[tuple[str, Clause]]:
    return (pair for pair in _clauses(view) if is_exact(pair[1].expr, view.env))


def _clauses(view: StepView) -> Iterator[tuple[str, Clause]]:
    for record in (view.operator, view.component):
        if record is not None:
            yield from ((record.name, clause) for clause in record.requires)


def judge_clause(clause: Clause, view: StepView) -> Judgement:
    return judge(clause, view.env)


def judge(clause: Clause, env: Env, names: Mapping[str, str] | None = None) -> Judgement:
    """Kleene's verdict of a clause in `env`, told by its deciding comparison; `names` replaces names in what is told."""
    judged = _judge(clause, env)
    return judged if not names else _renamed(judged, names)


def _renamed(judged: Judgement, names: Mapping[str, str]) -> Judgement:
    def told(text_: str) -> str:
        return _NUMBERED.sub(lambda found: names.get(found[0], found[0]), text_)

    return msgspec.structs.replace(judged, text=told(judged.text), found=told(judged.found))


_NUMBERED = re.compile(r"%v[0-9]+")


def _judge(clause: Clause, env: Env) -> Judgement:
    verdict = holds(clause.expr, env)
    if verdict:
        return Judgement(clause, True, term_text(clause.expr), "", "", "", "")
    part = _deciding(clause.expr, env)
    range_helps = not is_exact(part, env)
    if not isinstance(part, Apply) or part.fn not in COMPARISONS:
        return Judgement(
            clause, verdict, term_text(clause.expr), "it does not hold", "", "", _advice(None, range_helps)
        )
    left, right = term(part.args[0], env), term(part.args[1], env)
    return Judgement(
        clause,
        verdict,
        term_text(part),
        _found(part, left, right),
        _end(left, part.fn),
        _end(right, _MIRROR[part.fn]),
        _advice(left if left is not None and right is not None else None, range_helps),
    )


_MIRROR = {"<=": ">=", "<": ">", ">=": "<=", ">": "<", "==": "==", "!=": "!="}


def _deciding(expr: Expr, env: Env) -> Expr:
    """The first part of a conjunction that does not hold."""
    if isinstance(expr, Apply) and expr.fn == "and":
        for arg in expr.args:
            if not holds(arg, env):
                return _deciding(arg, env)
    return expr


def _found(part: Apply, left: Interval | None, right: Interval | None) -> str:
    sides = [(part.args[0], left), (part.args[1], right)]
    told = [_side(expr, found) for expr, found in sides if any(references(expr))]
    return " and ".join(told) or "it does not hold"


def _side(expr: Expr, found: Interval | None) -> str:
    name = term_text(expr)
    if found is None:
        return f"{name} is unknown"
    if found.low == found.high:
        return f"{name} is {shown(found.low)}"
    return (
        f"{name} is at most {shown(found.high)}"
        if found.low >= 0
        else f"{name} is in [{shown(found.low)}, {shown(found.high)}]"
    )


def _end(found: Interval | None, fn: str) -> str:
    if found is None:
        return ""
    return text(found.low if fn in (">=", ">") else found.high)


def _advice(known: Interval | None, range_helps: bool) -> str:
    if not range_helps:
        return "choose a component made for this format and these parameters, or change them: no range of the inputs would do"
    if known is None:
        return (
            "state what is missing: a range with `where abs(x) <= ...` on the inputs, or `assume` on a step"
        )
    return "narrow the inputs, or choose a component made for this range"
