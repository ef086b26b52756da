"""Parties of plans under no policy: nothing declares them, so a misspelt one would be a party of its own.

In: a file. Out: warnings where a party is named once and almost like another. Under a policy each is one of the policy's,
which lowering asks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from pllm_lang.resolve.bodies import statements
from pllm_lang.resolve.places import node_span
from pllm_lang.resolve.suggest import did_you_mean, meant
from pllm_lang.resolve.uses import names_of
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Finding, Severity

MAX_PARTIES = 64
"""Of a file with more parties none is asked: no person wrote them."""

_MEMBER = re.compile(r"(\d+|_[A-Za-z])$")
"""What tells members of one family apart, which are no slips: `p0` and `p1`, `server_a` and `server_b`."""


def check_parties(file_name: str, file: syn.File) -> list[Finding]:
    """`names.misspelt` of every plan that is under no policy, and of the blocks of a file without a policy in use."""
    bodies = [decl for decl in file.decls if isinstance(decl, syn.Plan | syn.Block)]
    plans = [decl for decl in bodies if isinstance(decl, syn.Plan)]
    if not any(plan.under is None for plan in plans):
        return []
    free = all(plan.under is None for plan in plans)
    named = [(decl, anchor, node) for decl in bodies for anchor, node in _named(decl)]
    times = Counter(node.id for _, _, node in named)
    if len(times) > MAX_PARTIES:
        return []
    asked = [
        (anchor, node)
        for decl, anchor, node in named
        if times[node.id] == 1 and (free or (isinstance(decl, syn.Plan) and decl.under is None))
    ]
    told: set[str] = set()
    findings: list[Finding] = []
    for anchor, node in reversed(asked):
        known = [name for name in times if name not in told and not _one_family(name, node.id)]
        help = did_you_mean(node.id, known)
        if help and not _is_first(help, node.id, times):
            told.add(node.id)
            findings.append(_misspelt(file_name, anchor, node, help))
    return findings[::-1]


def _is_first(help: str, name: str, times: Counter[str]) -> bool:
    """Whether both names stand once, and this one first: the later one is told."""
    found = meant(help)
    order = list(times)
    return found is not None and times[found.name] == 1 and order.index(name) < order.index(found.name)


def _one_family(left: str, right: str) -> bool:
    return _MEMBER.sub("", left) == _MEMBER.sub("", right)


def _misspelt(file_name: str, anchor: syn.Anchor, node: syn.Word | syn.Name, help: str) -> Finding:
    message = f"the party `{node.id}` is named only here, and almost like another"
    span = node_span(file_name, anchor, node)
    return Finding("names.misspelt", message, span, Severity.WARNING, help=help, data={"name": node.id})


def _named(decl: syn.Plan | syn.Block) -> Iterator[tuple[syn.Anchor, syn.Word | syn.Name]]:
    """The parties that a body names, in the order written."""
    if isinstance(decl, syn.Block):
        for param in decl.params:
            for clause in param.clauses:
                yield from ((param, node) for node in _of(clause))
    for stmt in statements(decl.body):
        if isinstance(stmt, syn.Input | syn.Weight | syn.State | syn.Step | syn.Output):
            for clause in stmt.clauses:
                yield from ((stmt, node) for node in _of(clause))


def _of(clause: syn.Clause | syn.Using | syn.Assume) -> Iterator[syn.Word | syn.Name]:
    match clause:
        case syn.From() | syn.To() | syn.At():
            yield clause.party
        case syn.Secret():
            yield from names_of(clause.owners)
        case syn.As():
            yield from names_of(clause.holding)
        case syn.Using():
            yield from _roles(clause.component)
        case syn.Public() | syn.Where() | syn.Assume():
            return


def _roles(component: syn.Expr) -> Iterator[syn.Name]:
    """Names that are handed to a component: parties in its roles, and words that no party is like."""
    if isinstance(component, syn.Call):
        for arg in component.args:
            if isinstance(arg, syn.Entry) and isinstance(arg.value, syn.Name):
                yield arg.value
