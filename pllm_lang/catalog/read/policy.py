"""`policy`: who takes part, who may collude, what each may learn, what must be shown."""

from __future__ import annotations

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.evaluate import exact_term
from pllm_lang.catalog.expr import Expr, Num
from pllm_lang.catalog.read.body import read_body
from pllm_lang.catalog.read.context import Context
from pllm_lang.catalog.read.expressions import to_expr
from pllm_lang.catalog.read.fields import FORBIDDABLE
from pllm_lang.catalog.read.values import listed, word
from pllm_lang.catalog.records import AdversaryRule, ClaimRule, Policy
from pllm_lang.resolve.suggest import did_you_mean
from pllm_lang.resolve.texts import read_text
from pllm_lang.syntax import nodes as syn

ADVERSARIES = ("semi_honest", "covert", "malicious")
OUTCOMES = ("proved", "proved_in_model", "tested", "reviewed", "refuted", "open")
CLAIM_LISTS = ("outcomes", "refinements")


def read_policy(decl: syn.Policy, ctx: Context) -> Policy:
    body = read_body("policy", decl, decl.body, ctx)
    words = ctx.without_names()
    parties = tuple(n for i in decl.body if isinstance(i, syn.Parties) for n in _words(i.names, words, i))
    _check_distinct(decl, ctx)
    learns: dict[str, tuple[str, ...]] = {}
    adversaries: list[AdversaryRule] = []
    claims: list[ClaimRule] = []
    forbids: list[str] = []
    for item in decl.body:
        match item:
            case syn.Learns():
                _known_party(item.party, parties, decl, item, ctx)
                learns[item.party.id] = learns.get(item.party.id, ()) + _words(item.what, words, item)
            case syn.Adversary():
                adversaries.append(_adversary(item, parties, decl, ctx))
            case syn.Claim():
                claims.append(_claim(item, ctx))
            case syn.Forbids():
                forbids += _forbidden(item, ctx)
            case _:
                pass
    if not parties and decl.tightens is None:
        ctx.report(
            "records.missing_field",
            "the policy has no parties",
            ctx.span(decl, decl.name),
            "add `parties [a, b]`",
        )
    return Policy(
        name=decl.name.id,
        module=ctx.module,
        tightens=_tightened(decl, ctx),
        parties=parties,
        adversaries=tuple(adversaries),
        learns=learns,
        claims=tuple(claims),
        forbids=tuple(dict.fromkeys(forbids)),
        security=_security(decl, body.mapping("security"), ctx),
        fields={name: value for name, value in body.fields.items() if name != "security"},
        doc=decl.doc,
        origin=ctx.origin(decl, decl.name),
    )


MAX_SECURITY = 4096
"""Bits that a policy may ask for: two to the power of them is written out."""


def _security(decl: syn.Policy, levels: dict[str, Expr], ctx: Context) -> dict[str, str]:
    """Bits by sort; a level that is no number of bits would ask nothing."""
    found: dict[str, str] = {}
    for name, value in levels.items():
        bits = exact_term(value, Env())
        if isinstance(bits, int) and 0 <= bits <= MAX_SECURITY:
            found[name] = str(bits)
            continue
        field = next(i for i in decl.body if isinstance(i, syn.Field) and i.name.id == "security")
        text = f"`{name}` security is a whole number of bits up to {MAX_SECURITY}"
        ctx.report("records.wrong_value", text, ctx.span(field, field.value), "write it as `128`")
    return found


def _words(node: syn.ListExpr, plain: Context, anchor: syn.Anchor) -> tuple[str, ...]:
    return tuple(_label(item) for item in listed(to_expr(node, plain, anchor)))


def _forbidden(item: syn.Forbids, ctx: Context) -> tuple[str, ...]:
    """A misspelt word here would forbid nothing, so only known ones are taken."""
    words = _words(item.what, ctx.without_names(), item)
    for one in words:
        if one not in FORBIDDABLE:
            help_ = did_you_mean(one, FORBIDDABLE) or "it can forbid " + ", ".join(FORBIDDABLE)
            ctx.report(
                "records.wrong_value", f"a policy cannot forbid `{one}`", ctx.span(item, item.what), help_
            )
    return words


def _label(value: Expr) -> str:
    """A thing learnt: a word (`results`), or a word of a value (`lengths(x)`)."""
    text = word(value)
    args = getattr(value, "args", ())
    return f"{text}({', '.join(map(_label, args))})" if args else text


def _check_distinct(decl: syn.Policy, ctx: Context) -> None:
    for item in decl.body:
        if isinstance(item, syn.Parties):
            seen: set[str] = set()
            for node in item.names.items:
                if isinstance(node, syn.Name):
                    if node.id in seen:
                        ctx.report(
                            "names.duplicate",
                            f"`{node.id}` is a party twice",
                            ctx.span(item, node),
                            "keep one of the two",
                        )
                    seen.add(node.id)


def _known_party(
    party: syn.Word, parties: tuple[str, ...], decl: syn.Policy, item: syn.Anchor, ctx: Context
) -> None:
    if party.id not in parties and decl.tightens is None:
        help_ = did_you_mean(party.id, parties) or "parties are " + ", ".join(parties)
        ctx.report("names.unknown", f"`{party.id}` is no party of this policy", ctx.span(item, party), help_)


def _adversary(
    item: syn.Adversary, parties: tuple[str, ...], decl: syn.Policy, ctx: Context
) -> AdversaryRule:
    if item.kind.id not in ADVERSARIES:
        help_ = did_you_mean(item.kind.id, ADVERSARIES) or "adversaries are " + ", ".join(ADVERSARIES)
        ctx.report(
            "records.wrong_value", f"`{item.kind.id}` is no adversary", ctx.span(item, item.kind), help_
        )
    among: list[str] = []
    for node in item.among.items:
        if isinstance(node, syn.Name):
            _known_party(syn.Word(node.start, node.end, node.id), parties, decl, item, ctx)
            among.append(node.id)
    count = to_expr(item.count, ctx, item)
    number = int(count.value) if isinstance(count, Num) and count.value.isdigit() else -1
    if not 0 <= number <= len(among):
        message = f"an adversary corrupts 0 to {len(among)} of these {len(among)} parties"
        ctx.report("records.wrong_value", message, ctx.span(item, item.count))
        number = len(among)
    return AdversaryRule(item.kind.id, number, tuple(among), ctx.origin(item))


def _claim(item: syn.Claim, ctx: Context) -> ClaimRule:
    lists: dict[str, tuple[str, ...]] = {}
    for name, values in item.lists:
        if name.id not in CLAIM_LISTS:
            help_ = did_you_mean(name.id, CLAIM_LISTS) or "a claim has outcomes and refinements"
            ctx.report("records.unknown_field", f"a claim has no `{name.id}`", ctx.span(item, name), help_)
        lists[name.id] = _words(values, ctx.without_names(), item)
    return ClaimRule(
        read_text(item.claim), lists.get("outcomes", ()), lists.get("refinements", ()), ctx.origin(item)
    )


def _tightened(decl: syn.Policy, ctx: Context) -> str:
    if decl.tightens is None:
        return ""
    name = decl.tightens.id
    binding = ctx.binding(name)
    if binding is not None and binding.kind == "policy":
        return binding.key
    known = [n for n, b in ctx.scope.items() if b.kind == "policy"]
    help_ = did_you_mean(name, known) or "declare it, or import it"
    ctx.report("names.unknown", f"no policy `{name}` is known here", ctx.span(decl, decl.tightens), help_)
    return ""
