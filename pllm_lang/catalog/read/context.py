"""What reading one declaration needs: its file, the names in scope, and where findings go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pllm_lang.catalog.expr import Origin
from pllm_lang.resolve.modules import Binding, ConstValue, Module
from pllm_lang.resolve.places import anchor_span, node_span
from pllm_lang.syntax.nodes import Anchor, Node
from pllm_lang.text.finding import Finding, Label, Severity, Span


class Context:
    """The module being read. `local` names (operands, parameters, variables) hide those of the module.

    In a clause (`calls_records` false) a callee is a primitive, whatever declarations have its name.
    """

    def __init__(
        self, module: str, file: str, scope: Mapping[str, Binding], constants: Mapping[str, ConstValue]
    ) -> None:
        self.module = module
        self.file = file
        self.scope = scope
        self.constants = constants
        self.local: frozenset[str] = frozenset()
        self.calls_records = True
        self.findings: list[Finding] = []

    def binding(self, name: str) -> Binding | None:
        return None if name in self.local else self.scope.get(name)

    def without_names(self) -> Context:
        """The same place with nothing in scope: for words, which no declaration can hide."""
        plain = Context(self.module, self.file, {}, {})
        plain.findings = self.findings
        return plain

    def in_clause(self) -> Context:
        """The same place inside a clause or a protocol line, where records are not called."""
        inner = Context(self.module, self.file, self.scope, self.constants)
        inner.local = self.local
        inner.findings = self.findings
        inner.calls_records = False
        return inner

    def span(self, anchor: Anchor, node: Node | None = None) -> Span:
        return anchor_span(self.file, anchor) if node is None else node_span(self.file, anchor, node)

    def origin(self, anchor: Anchor, node: Node | None = None) -> Origin:
        span = self.span(anchor, node)
        return Origin(span.file, span.start, span.end)

    def report(
        self,
        code: str,
        message: str,
        span: Span,
        help_: str = "",
        labels: Iterable[Label] = (),
        severity: Severity = Severity.ERROR,
    ) -> None:
        self.findings.append(Finding(code, message, span, severity, help=help_, labels=tuple(labels)))


def context_of(module: Module) -> Context:
    return Context(module.name, module.source.name, module.scope, module.constants)
