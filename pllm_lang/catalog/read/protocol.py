"""`protocol (inputs) -> (outputs) { offline {...} online {...} }`: read for form; `ir` gives it meaning."""

from __future__ import annotations

from pllm_lang.catalog.expr import Expr, ListOf, Ref
from pllm_lang.catalog.read.context import Context
from pllm_lang.catalog.read.expressions import to_expr
from pllm_lang.catalog.read.needed import needless_draws
from pllm_lang.catalog.read.params import read_operand, signature_names
from pllm_lang.catalog.records import ProtocolLine, ProtocolText
from pllm_lang.resolve.suggest import did_you_mean
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Severity, Span

LIFETIMES = ("execution", "request", "session", "weights")
UNITS = ("entry", "row", "column", "call")


def read_protocol(item: syn.Protocol, ctx: Context) -> ProtocolText:
    phases: dict[str, tuple[ProtocolLine, ...]] = {"offline": (), "online": ()}
    seen: set[str] = set()
    for phase in item.phases:
        name = phase.name.id
        if name in seen:
            ctx.report(
                "records.duplicate_field",
                f"a protocol has one `{name}` phase",
                ctx.span(phase, phase.name),
                "join the two",
            )
        seen.add(name)
        phases[name] = tuple(_line(line, ctx.in_clause()) for line in phase.body)
    text = ProtocolText(
        inputs=tuple(read_operand(p, ctx) for p in item.params),
        outputs=tuple(read_operand(p, ctx) for p in item.results),
        offline=phases["offline"],
        online=phases["online"],
    )
    for line in needless_draws(text):
        _report_needless(line, ctx)
    return text


def _report_needless(line: ProtocolLine, ctx: Context) -> None:
    """A warning: it is no leak, but a mask may have been forgotten, and what is drawn has to be issued."""
    ctx.report(
        "protocol.unused_draw",
        f"no message, check or result needs the draw `{line.name}`",
        Span(line.origin.file, line.origin.start, line.origin.end),
        "remove it, or use it where it was meant",
        severity=Severity.WARNING,
    )


def protocol_names(item: syn.Protocol) -> set[str]:
    """Every name that a protocol binds: operands, shapes, draws, what parties compute, parties."""
    names = set(signature_names(item.params + item.results))
    for param in item.params + item.results:
        names |= {c.party.id for c in param.clauses if isinstance(c, syn.From | syn.To | syn.At)}
    for phase in item.phases:
        for line in phase.body:
            names |= _bound(line)
    return names


def _bound(line: syn.ProtocolStmt) -> set[str]:
    match line:
        case syn.Fresh():
            return {line.name.id}
        case syn.Local():
            return {line.party.id} | ({_root(line.target)} if _root(line.target) else set())
        case syn.Send():
            return {line.sender.id, *(w.id for w in line.receivers)}
        case syn.Bundle() | syn.Needs():
            return {line.name.id}


def _root(target: syn.Expr) -> str:
    while isinstance(target, syn.Attribute | syn.Index):
        target = target.base
    return target.id if isinstance(target, syn.Name) else ""


def _is_check(target: syn.Expr) -> bool:
    """`client: 0 = E`: the client checks that E is 0, and aborts otherwise."""
    return isinstance(target, syn.Number) and target.text == "0"


def _line(line: syn.ProtocolStmt, ctx: Context) -> ProtocolLine:
    match line:
        case syn.Fresh():
            return _fresh(line, ctx)
        case syn.Local():
            if not _root(line.target) and not _is_check(line.target):
                ctx.report(
                    "records.wrong_value",
                    "a party assigns to a name, a piece or an entry",
                    ctx.span(line, line.target),
                )
            exprs = (to_expr(line.target, ctx, line), to_expr(line.value, ctx, line))
            return ProtocolLine("local", parties=(line.party.id,), exprs=exprs, origin=ctx.origin(line))
        case syn.Send():
            parties = (line.sender.id, *(w.id for w in line.receivers))
            if line.sender.id in parties[1:]:
                ctx.report(
                    "records.wrong_value",
                    f"`{line.sender.id}` sends to itself",
                    ctx.span(line),
                    "remove it from the receivers",
                )
            return ProtocolLine(
                "send",
                parties=parties,
                exprs=tuple(to_expr(v, ctx, line) for v in line.values),
                origin=ctx.origin(line),
            )
        case syn.Bundle():
            _one_of(line.unit, UNITS, "unit", line, ctx)
            members: tuple[Expr, ...] = tuple(Ref(w.id) for w in line.members)
            return ProtocolLine(
                "bundle", line.name.id, word=line.unit.id, exprs=members, origin=ctx.origin(line)
            )
        case syn.Needs():
            return ProtocolLine("needs", line.name.id, origin=ctx.origin(line))


def _fresh(line: syn.Fresh, ctx: Context) -> ProtocolLine:
    if line.lifetime is not None:
        _one_of(line.lifetime, LIFETIMES, "lifetime", line, ctx)
    sharers = to_expr(line.shared_by, ctx.without_names(), line) if line.shared_by else None
    parties = (
        (line.owner.id,)
        if line.owner
        else tuple(p.name for p in getattr(sharers, "items", ()) if isinstance(p, Ref))
    )
    if not parties:
        help_ = "write `from party`, or `shared by [a, b] via ...`"
        ctx.report(
            "records.missing_field", f"nobody draws `{line.name.id}`", ctx.span(line, line.name), help_
        )
    if sharers is not None and line.via is None:
        help_ = 'add `via prf(seed, "label")` or `via message`'
        ctx.report(
            "records.missing_field", f"how is `{line.name.id}` shared?", ctx.span(line, line.name), help_
        )
    exprs = [to_expr(line.type, ctx, line)]
    if line.via is not None:
        exprs.append(to_expr(line.via, ctx, line))
    lifetime = line.lifetime.id if line.lifetime else "execution"
    return ProtocolLine(
        "fresh", line.name.id, parties, lifetime, tuple(exprs), isinstance(sharers, ListOf), ctx.origin(line)
    )


def _one_of(word: syn.Word, known: tuple[str, ...], what: str, line: syn.Anchor, ctx: Context) -> None:
    if word.id not in known:
        help_ = did_you_mean(word.id, known) or "it may be " + ", ".join(known)
        ctx.report("records.wrong_value", f"`{word.id}` is no {what}", ctx.span(line, word), help_)
