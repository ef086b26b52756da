"""Clauses after a type: who has the value, whose secret it is, what is stated of it.

In: the clauses of an input, a weight, a state or an output. Out: `Said`, each part once; what does not
belong there is a finding.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import holds
from pllm_lang.catalog.expr import Apply, Between, ListOf, Num, Ref
from pllm_lang.catalog.records import Holding
from pllm_lang.ir.lower.condition import read_condition, tightened
from pllm_lang.ir.lower.context import Context
from pllm_lang.ir.lower.report import report, span_of, suggest, whence
from pllm_lang.ir.plan import Bound, Placement
from pllm_lang.ir.words import show_expr
from pllm_lang.resolve.suggest import meant
from pllm_lang.syntax import nodes as syn


class Said(msgspec.Struct):
    owner: str = ""
    to: tuple[str, ...] = ()
    public: bool = False
    secret_from: tuple[str, ...] = ()
    placement: Placement = Placement()
    bounds: tuple[Bound, ...] = ()


def read_clauses(
    ctx: Context,
    clauses: tuple[syn.Clause, ...],
    anchor: syn.Anchor,
    name: str,
    allowed: Collection[type],
) -> Said:
    said = Said()
    bounds: list[Bound] = []
    seen: set[type] = set()
    for clause in clauses:
        kind = type(clause)
        if kind not in allowed:
            _report_misplaced(ctx, clause, anchor, allowed)
            continue
        if kind in seen and kind is not syn.Where and kind is not syn.To:
            message = f"`{_WORDS[kind]}` is said twice"
            report(ctx, "types.clause", message, span_of(ctx, anchor, clause), "keep one of the two")
            continue
        seen.add(kind)
        _read(ctx, clause, anchor, name, said, bounds)
    said.bounds = tightened(bounds) if bounds else ()
    return said


_WORDS = {
    syn.From: "from",
    syn.To: "to",
    syn.Public: "public",
    syn.Secret: "secret from",
    syn.As: "as",
    syn.At: "@",
    syn.Where: "where",
}


def _report_misplaced(
    ctx: Context, clause: syn.Clause, anchor: syn.Anchor, allowed: Collection[type]
) -> None:
    kind = type(anchor).__name__.lower()
    words = ", ".join(f"`{_WORDS[kind]}`" for kind in _WORDS if kind in allowed)
    message = f"`{_WORDS[type(clause)]}` says nothing of this {kind}"
    report(ctx, "types.clause", message, span_of(ctx, anchor, clause), f"here stand {words}")


def _read(
    ctx: Context, clause: syn.Clause, anchor: syn.Anchor, name: str, said: Said, bounds: list[Bound]
) -> None:
    match clause:
        case syn.From():
            said.owner = party(ctx, clause.party.id, clause.party, anchor)
        case syn.To():
            said.to = tuple(sorted({*said.to, party(ctx, clause.party.id, clause.party, anchor)}))
        case syn.Public():
            said.public = True
            said.placement = Placement("public")
        case syn.Secret():
            said.secret_from = tuple(sorted(set(parties(ctx, clause.owners, anchor))))
        case syn.As():
            said.placement = read_holding(ctx, clause.holding, anchor)
        case syn.At():
            said.placement = Placement("party", (party(ctx, clause.party.id, clause.party, anchor),))
        case syn.Where():
            bounds += [bound for _, bound in read_condition(ctx, clause.condition, anchor, (name,))]


def party(ctx: Context, name: str, node: syn.Node, anchor: syn.Anchor) -> str:
    """The name of a party; under a policy it must be one of the policy's, and a slip goes on as the one meant."""
    if ctx.policy is None or name in ctx.policy.parties:
        return name
    known = ctx.policy.parties
    help = suggest(ctx, name, known)
    message = f"the policy `{ctx.policy.name}` has no party `{name}`"
    said = help or f"its parties are {', '.join(known)}; a policy of your own can name others"
    report(ctx, "names.unknown", message, span_of(ctx, anchor, node), said, data={"name": name})
    found = meant(help)
    return name if found is None else found.name


def parties(ctx: Context, names: syn.ListExpr, anchor: syn.Anchor) -> tuple[str, ...]:
    found: list[str] = []
    for item in names.items:
        if isinstance(item, syn.Name):
            found.append(party(ctx, item.id, item, anchor))
        else:
            report(ctx, "types.clause", "a party's name is needed here", span_of(ctx, anchor, item))
    return tuple(found)


def read_holding(ctx: Context, expr: syn.Expr, anchor: syn.Anchor) -> Placement:
    """`as replicated(p0, p1, p2)`: the holding's record and the parties in the order written."""
    callee = expr.callee if isinstance(expr, syn.Call) else expr
    name = callee.id if isinstance(callee, syn.Name) else ""
    binding = ctx.frame.module.scope.get(name)
    key = "" if binding is None else binding.key
    record = ctx.library.get(key) if key else None
    if not isinstance(record, Holding):
        help = whence(ctx, name, "holding") or "import one, for example from `std.holdings`"
        span = span_of(ctx, anchor, expr)
        report(ctx, "names.unknown", "a holding is needed after `as`", span, help, data={"name": name})
        key = _meant_holding(ctx, name, help)
        record = ctx.library.get(key) if key else None
    if not isinstance(record, Holding):
        return Placement()
    holders = _holders(ctx, expr.args if isinstance(expr, syn.Call) else (), anchor)
    problem = _miscounted(record, holders)
    if problem:
        count = int(record.n_parties.value) if isinstance(record.n_parties, Num) else 2
        names = ", ".join(f"p{index}" for index in range(count))
        help = f"name its parties, each once, in the order of the pieces: `as {record.name}({names})`"
        report(ctx, "types.clause", problem, span_of(ctx, anchor, expr), help)
    return Placement("shared", holders, key)


def _meant_holding(ctx: Context, name: str, help: str) -> str:
    """The holding that was meant by a name that is not in scope, or by a slip: the check goes on with it. "" for none."""
    found = meant(help)
    wanted = name if found is None else found.name
    return next((key for key in ctx.library.keys("holding") if key.rpartition(".")[2] == wanted), "")


def _holders(ctx: Context, args: tuple[syn.Expr | syn.Entry, ...], anchor: syn.Anchor) -> tuple[str, ...]:
    found: list[str] = []
    for arg in args:
        if isinstance(arg, syn.Name):
            found.append(party(ctx, arg.id, arg, anchor))
        else:
            report(ctx, "types.clause", "a party's name is needed here", span_of(ctx, anchor, arg))
    return tuple(found)


def _miscounted(record: Holding, holders: tuple[str, ...]) -> str:
    """What is wrong with the number of parties of a holding, "" for nothing."""
    twice = next((one for one in holders if holders.count(one) > 1), "")
    if twice:
        return f"`{twice}` holds two places of `{record.name}`"
    wanted = record.n_parties
    if wanted is None:
        return ""
    parties = Ref("n_parties")
    condition = Apply("in" if isinstance(wanted, (ListOf, Between)) else "==", (parties, wanted))
    if holds(condition, Env(context={"n_parties": len(holders)})) is not False:
        return ""
    count = "1 party" if len(holders) == 1 else f"{len(holders) or 'no'} parties"
    return f"`{record.name}` is for {show_expr(wanted)} parties, and here {count} hold{'s' * (len(holders) == 1)} it"
