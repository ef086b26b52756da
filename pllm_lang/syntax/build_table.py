"""From the grammar text to the parse table. The only importer of lark; runs when the package is built.

In: the text of `grammar/pllm.lark`. Out: a `Table`. lark reads the grammar and computes the LALR(1) states,
strictly: a conflict is an error. Ours is which children a rule's action gets, and where anchors begin.
"""

from __future__ import annotations

from typing import Any

from lark import Lark
from lark.grammar import Rule as LarkRule
from lark.lexer import PatternStr
from lark.parsers.lalr_analysis import LALR_Analyzer, Shift

from pllm_lang.syntax.anchors import ANCHORS, LINES
from pllm_lang.syntax.table import BEGIN, END_KIND, Rule, Table


def build_table(grammar: str, key: str) -> Table:
    """Raises lark's GrammarError where the grammar has a mistake or a conflict: a developer's error."""
    lark = Lark(grammar, parser="lalr", lexer="basic", start="file", maybe_placeholders=True)
    lalr = _lalr(lark)
    rules = sorted(lark.rules, key=lambda rule: (rule.origin.name, rule.order, repr(rule)))
    kinds = {name: kind for kind, name in enumerate(_terminals(lark))}
    nonterminals = {name: number for number, name in enumerate(sorted({str(r.origin.name) for r in rules}))}
    states = _in_order(lalr.states, lalr.start_states["file"])
    numbers = {closure: number for number, closure in enumerate(states)}
    actions, gotos = _rows(states, rules, kinds, nonterminals)
    accepting = numbers[lalr.end_states["file"]]
    actions[accepting][END_KIND] = accepting
    literals, patterns = _lexemes(lark)
    texts = {name: text for text, name in literals.items()}
    return Table(
        key=key,
        start=numbers[lalr.start_states["file"]],
        terminals=tuple(texts.get(name, name) for name in kinds),
        nonterminals=tuple(nonterminals),
        literals={text: kinds[name] for text, name in literals.items()},
        patterns=tuple(patterns),
        rules=tuple(_rule(rule, nonterminals) for rule in rules),
        actions=tuple(actions),
        gotos=tuple(gotos),
        resume=tuple(numbers[closure] for closure in states if _can_resume(closure)),
    )


def _lalr(lark: Any) -> Any:
    """lark's table with whole item sets as states: they tell where anchors begin."""
    analyzer = LALR_Analyzer(lark.parser.parser_conf, debug=True, strict=True)
    analyzer.compute_lalr()
    return analyzer.parse_table


def _in_order(states: dict[Any, Any], start: Any) -> dict[Any, Any]:
    """The states in the order in which they are reached, symbols by name: equal grammars give equal bytes."""
    reached = {start: dict(sorted(states[start].items()))}
    waiting = [start]
    for closure in waiting:
        for what, where in reached[closure].values():
            if what is Shift and where not in reached:
                reached[where] = dict(sorted(states[where].items()))
                waiting.append(where)
    return reached


def _rows(
    states: dict[Any, Any], rules: list[LarkRule], kinds: dict[str, int], nonterminals: dict[str, int]
) -> tuple[list[dict[int, int]], list[dict[int, int]]]:
    """For each state what a terminal does, and where a nonterminal leads."""
    numbers = {closure: number for number, closure in enumerate(states)}
    rule_numbers = {rule: number for number, rule in enumerate(rules)}
    firsts = _first_sets(rules)
    actions: list[dict[int, int]] = []
    gotos: list[dict[int, int]] = []
    for closure, moves in states.items():
        begins = _anchor_firsts(closure, firsts)
        actions.append({})
        gotos.append({})
        for name, (what, where) in moves.items():
            if what is not Shift:
                actions[-1][kinds[name]] = ~rule_numbers[where]
            elif name in kinds:
                actions[-1][kinds[name]] = numbers[where] + (BEGIN if name in begins else 0)
            else:
                gotos[-1][nonterminals[name]] = numbers[where]
    return actions, gotos


def _terminals(lark: Lark) -> list[str]:
    ignored = set(lark.ignore_tokens)
    return ["$END", *sorted(str(t.name) for t in lark.terminals if t.name not in ignored)]


def _lexemes(lark: Lark) -> tuple[dict[str, str], list[tuple[str, str]]]:
    literals: dict[str, str] = {}
    patterns: list[tuple[int, str, str]] = []
    for terminal in lark.terminals:
        if isinstance(terminal.pattern, PatternStr):
            literals[terminal.pattern.value] = terminal.name
        else:
            patterns.append((-terminal.priority, str(terminal.name), terminal.pattern.to_regexp()))
    ignored = set(lark.ignore_tokens)
    literals = dict(sorted(literals.items()))
    return literals, [(name, regexp) for _, name, regexp in sorted(patterns) if name not in ignored]


def _rule(rule: LarkRule, nonterminals: dict[str, int]) -> Rule:
    kept = [i for i, symbol in enumerate(rule.expansion) if _is_kept(rule, symbol)]
    action = _action(rule, [rule.expansion[i] for i in kept])
    return Rule(
        lhs=nonterminals[rule.origin.name],
        size=len(rule.expansion),
        action=action,
        take=tuple(_with_placeholders(rule, kept)),
        unit=action == "child" and len(rule.expansion) == 1,
        anchor=rule.origin.name in ANCHORS,
    )


def _is_kept(rule: LarkRule, symbol: Any) -> bool:
    return not symbol.is_term or rule.options.keep_all_tokens or not symbol.filter_out


def _with_placeholders(rule: LarkRule, kept: list[int]) -> list[int]:
    """Positions of the children, and -1 where an absent `[x]` hands over None.

    lark's `empty_indices` has one entry for each symbol, False, and one for each absent `[x]`, True.
    """
    if not rule.options.empty_indices:
        return kept
    take: list[int] = []
    position = 0
    for absent in rule.options.empty_indices:
        if absent:
            take.append(-1)
            continue
        if position in kept:
            take.append(position)
        position += 1
    return take


def _action(rule: LarkRule, kept: list[Any]) -> str:
    name = str(rule.alias or rule.origin.name)
    if not name.startswith("_"):
        return "child" if rule.options.expand1 and not rule.alias and len(kept) == 1 else name
    is_list = [not symbol.is_term and symbol.name.startswith("_") for symbol in kept]
    if is_list == [True, False]:
        return "list_append"
    if is_list == [True]:
        return "child"
    return "list_one" if is_list == [False] else "list_concat"


def _first_sets(rules: list[LarkRule]) -> dict[str, set[str]]:
    """The terminals that can begin each nonterminal."""
    firsts: dict[str, set[str]] = {rule.origin.name: set() for rule in rules}
    empty: set[str] = set()
    changed = True
    while changed:
        before = (len(empty), sum(map(len, firsts.values())))
        for rule in rules:
            for symbol in rule.expansion:
                firsts[rule.origin.name] |= {symbol.name} if symbol.is_term else firsts[symbol.name]
                if symbol.is_term or symbol.name not in empty:
                    break
            else:
                empty.add(rule.origin.name)
        changed = before != (len(empty), sum(map(len, firsts.values())))
    return firsts


def _anchor_firsts(closure: Any, firsts: dict[str, set[str]]) -> set[str]:
    """The terminals that begin an anchor when they are shifted in this state."""
    begins: set[str] = set()
    for pointer in closure:
        if pointer.index == 0 and pointer.rule.origin.name in ANCHORS:
            begins |= firsts[pointer.rule.origin.name]
    return begins


def _can_resume(closure: Any) -> bool:
    return any(pointer.index == 0 and pointer.rule.origin.name in LINES for pointer in closure)
