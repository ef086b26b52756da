"""The values of a module's constants, in any order of declaration; circles are findings."""

from __future__ import annotations

from collections.abc import Mapping

from pllm_lang.resolve.constants import Fault, evaluate
from pllm_lang.resolve.limits import MAX_CONSTANT_DEPTH
from pllm_lang.resolve.modules import Binding, ConstValue
from pllm_lang.resolve.places import node_span
from pllm_lang.resolve.suggest import did_you_mean
from pllm_lang.resolve.units import Problem
from pllm_lang.syntax.nodes import Anchor, Const, File, Name
from pllm_lang.text.finding import Finding

# A constant that failed has its own finding; whoever stands on it says nothing more.
_SAID_ELSEWHERE = Problem("", "")


def evaluate_constants(
    file_name: str, file: File, names: Mapping[str, Binding], imported: Mapping[str, ConstValue]
) -> tuple[dict[str, ConstValue], list[Finding]]:
    """Values of declared and imported constants by name, and findings."""
    table = _Table(names, {d.name.id: d for d in file.decls if isinstance(d, Const)}, dict(imported))
    for name, decl in table.decls.items():
        table.look_up(Name(decl.name.start, decl.name.end, name))
    findings = [fault_finding(file_name, table.decls[name], fault) for name, fault in table.faults.items()]
    return table.values, [f for f in findings if f.code]


def fault_finding(file: str, anchor: Anchor, fault: Fault) -> Finding:
    """The finding of a fault whose node lies in `anchor`."""
    problem = fault.problem
    return Finding(problem.code, problem.message, node_span(file, anchor, fault.node), help=problem.help)


class _Table:
    """Constants being evaluated: `open_names` are those that wait for another one."""

    def __init__(
        self, names: Mapping[str, Binding], decls: dict[str, Const], values: dict[str, ConstValue]
    ) -> None:
        self.names = names
        self.decls = decls
        self.values = values
        self.faults: dict[str, Fault] = {}
        self.open_names: list[str] = []

    def look_up(self, node: Name) -> ConstValue | Fault:
        name = node.id
        if name in self.values:
            return self.values[name]
        if name in self.faults:
            return Fault(node, _SAID_ELSEWHERE)
        if name in self.open_names:
            return Fault(node, self._circle(name))
        if name not in self.decls:
            return Fault(node, self._no_constant(name))
        if len(self.open_names) >= MAX_CONSTANT_DEPTH:
            message = f"more than {MAX_CONSTANT_DEPTH} constants stand on each other"
            return Fault(node, Problem("names.too_deep", message, "write the value out"))
        return self._evaluate(node)

    def _evaluate(self, node: Name) -> ConstValue | Fault:
        self.open_names.append(node.id)
        value = evaluate(self.decls[node.id].value, self.look_up)
        self.open_names.pop()
        if isinstance(value, Fault):
            self.faults[node.id] = value
            return Fault(node, _SAID_ELSEWHERE)
        self.values[node.id] = value
        return value

    def _circle(self, name: str) -> Problem:
        circle = " -> ".join([*self.open_names[self.open_names.index(name) :], name])
        return Problem(
            "names.cycle", f"`{name}` is defined by itself: {circle}", "give one of them a value of its own"
        )

    def _no_constant(self, name: str) -> Problem:
        if name in self.names:
            return Problem("names.wrong_kind", f"`{name}` is a {self.names[name].kind}, not a constant")
        help_ = did_you_mean(name, [*self.decls, *self.values])
        return Problem("names.unknown", f"no constant `{name}` is declared here", help_)
