"""Parties of plans under no policy: nothing declares them, so a misspelt one would be a party of its own.

In: a file. Out: warnings where a party is named once and almost like another. Under a policy each is one of the policy's,
which lowering asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

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


Named: TypeAlias = tuple[syn.Anchor, syn.Word | syn.Name]


def check_parties(file_name: str, file: syn.File) -> list[Finding]:
    """`names.misspelt` of every plan that is under no policy, and of the blocks of a file without a policy in use."""
    bodies = [decl for decl in file.decls if isinstance(decl, syn.Plan | syn.Block)]
    plans = [decl for decl in bodies if isinstance(decl, syn.Plan)]
    if not any(plan.under is None for plan in plans):
        return []
    free = all(plan.under is None for plan in plans)
    places: dict[str, list[Named]] = {}
    asked: list[Named] = []
    for decl in bodies:
        before = {name: len(found) for name, found in places.items()}
        _collect(decl, places)
        if free or (isinstance(decl, syn.Plan) and decl.under is None):
            asked += [found[0] for name, found in places.items() if name not in before and len(found) == 1]
    if len(places) > MAX_PARTIES:
        return []
    return _misspelt_among(file_name, [one for one in asked if len(places[one[1].id]) == 1], places)


def _misspelt_among(
    file_name: str, once: list[Named], places: Mapping[str, Sequence[Named]]
) -> list[Finding]:
    """Of two names that are alike and stand once each, the later one is the slip."""
    told: set[str] = set()
    findings: list[Finding] = []
    for anchor, node in reversed(once):
        known = [name for name in places if name not in told and not _one_family(name, node.id)]
        help = did_you_mean(node.id, known)
        if help and not _is_first(help, node.id, places):
            told.add(node.id)
            message = f"the party `{node.id}` is named only here, and almost like another"
            span = node_span(file_name, anchor, node)
            findings.append(
                Finding("names.misspelt", message, span, Severity.WARNING, help=help, data={"name": node.id})
            )
    return findings[::-1]


def _is_first(help: str, name: str, places: Mapping[str, Sequence[Named]]) -> bool:
    found, order = meant(help), list(places)
    return found is not None and len(places[found.name]) == 1 and order.index(name) < order.index(found.name)


def _one_family(left: str, right: str) -> bool:
    return _MEMBER.sub("", left) == _MEMBER.sub("", right)


def _collect(decl: syn.Plan | syn.Block, into: dict[str, list[Named]]) -> None:
    """Where a body names parties, by name; of one named often only that it is. Bodies may have thousands of lines."""
    anchors: Iterable[syn.Anchor] = statements(decl.body)
    for anchor in (*decl.params, *anchors) if isinstance(decl, syn.Block) else anchors:
        for clause in getattr(anchor, "clauses", ()):
            if isinstance(clause, (syn.At, syn.From, syn.To)):
                found = into.setdefault(clause.party.id, [])
                if len(found) < 2:
                    found.append((anchor, clause.party))
            elif isinstance(clause, (syn.Secret, syn.As, syn.Using)):
                for node in _within(clause):
                    into.setdefault(node.id, []).append((anchor, node))


def _within(clause: syn.Secret | syn.As | syn.Using) -> Iterator[syn.Name]:
    """Names in a list or a holding, and those handed to a component: parties in its roles, and words that no party is like."""
    match clause:
        case syn.Secret():
            yield from names_of(clause.owners)
        case syn.As():
            yield from names_of(clause.holding)
        case syn.Using(component=syn.Call(args=args)):
            for arg in args:
                if isinstance(arg, syn.Entry) and isinstance(arg.value, syn.Name):
                    yield arg.value
        case _:
            return
