"""The values of a module's constants, in any order of declaration; circles are findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pllm_lang.resolve.constants import Fault, evaluate
from pllm_lang.resolve.modules import Binding, ConstValue
from pllm_lang.resolve.places import node_span
from pllm_lang.resolve.suggest import did_you_mean
from pllm_lang.resolve.units import Problem
from pllm_lang.resolve.uses import names_of
from pllm_lang.syntax.nodes import Anchor, Const, File, Name
from pllm_lang.text.article import with_article
from pllm_lang.text.finding import Finding

# A constant that failed has its own finding; whoever stands on it says nothing more.
_SAID_ELSEWHERE = Problem("", "")


def evaluate_constants(
    file_name: str, file: File, names: Mapping[str, Binding], imported: Mapping[str, ConstValue]
) -> tuple[dict[str, ConstValue], list[Finding]]:
    """Values of declared and imported constants by name, and findings."""
    table = _Table(names, {d.name.id: d for d in file.decls if isinstance(d, Const)}, dict(imported))
    for name in table.decls:
        table.settle(name)
    findings = [fault_finding(file_name, table.decls[name], fault) for name, fault in table.faults.items()]
    return table.values, [f for f in findings if f.code]


def fault_finding(file: str, anchor: Anchor, fault: Fault) -> Finding:
    """The finding of a fault whose node lies in `anchor`."""
    problem = fault.problem
    return Finding(problem.code, problem.message, node_span(file, anchor, fault.node), help=problem.help)


class _Table:
    """Constants by name: their values, or why they have none."""

    def __init__(
        self, names: Mapping[str, Binding], decls: dict[str, Const], values: dict[str, ConstValue]
    ) -> None:
        self.names = names
        self.decls = decls
        self.values = values
        self.faults: dict[str, Fault] = {}

    def settle(self, name: str) -> None:
        """Evaluate a constant after those that it stands on, without recursion: chains may be long."""
        waiting: dict[str, Iterator[Name]] = {}
        if not self._settled(name):
            waiting[name] = names_of(self.decls[name].value)
        while waiting:
            current, needs = next(reversed(waiting.items()))
            need = next((n for n in needs if n.id in self.decls and not self._settled(n.id)), None)
            if need is None:
                del waiting[current]
                self._evaluate(current)
            elif need.id in waiting:
                self.faults[current] = Fault(need, _circle(list(waiting), need.id))
                del waiting[current]
            else:
                waiting[need.id] = names_of(self.decls[need.id].value)

    def _settled(self, name: str) -> bool:
        return name in self.values or name in self.faults

    def _evaluate(self, name: str) -> None:
        value = evaluate(self.decls[name].value, self._look_up)
        if isinstance(value, Fault):
            self.faults[name] = value
        else:
            self.values[name] = value

    def _look_up(self, node: Name) -> ConstValue | Fault:
        name = node.id
        if name in self.values:
            return self.values[name]
        return Fault(node, _SAID_ELSEWHERE if name in self.faults else self._no_constant(name))

    def _no_constant(self, name: str) -> Problem:
        if name in self.names:
            return Problem(
                "names.wrong_kind", f"`{name}` is {with_article(self.names[name].kind)}, not a constant"
            )
        help_ = did_you_mean(name, [*self.decls, *self.values])
        return Problem("names.unknown", f"no constant `{name}` is declared here", help_)


def _circle(waiting: list[str], name: str) -> Problem:
    circle = " -> ".join([*waiting[waiting.index(name) :], name])
    return Problem(
        "names.cycle", f"`{name}` is defined by itself: {circle}", "give one of them a value of its own"
    )
