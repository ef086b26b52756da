"""The parties' variables during a symbolic run: who holds what, since which round, and what a party
computes from it.

A variable that a party does not have is one finding, at the statement that needs it; whatever depends on it
is passed over in silence.
"""

from __future__ import annotations

from pllm_lang.ir import protocol as ir
from pllm_lang.verify.protocol.evaluate import Misfit, evaluate
from pllm_lang.verify.protocol.forms import calls_of, names_of
from pllm_lang.verify.protocol.report import Finding
from pllm_lang.verify.protocol.scopes import LEVELS, Scope
from pllm_lang.verify.protocol.tensors import Value
from pllm_lang.verify.protocol.trace import Key, Trace


class _Missing(Exception):
    """A variable that the party does not have; `told` once it was reported."""

    def __init__(self, text: str, told: bool) -> None:
        super().__init__(text)
        self.told = told


class Store:
    """`blind` are variables that are missing for a reason already reported."""

    def __init__(self, trace: Trace, copies: int) -> None:
        self.trace, self.copies = trace, copies
        self.copy = 1
        self.iteration: tuple[int, ...] = ()
        self.vars: dict[str, dict[str, Value]] = {}
        self.depths: dict[tuple[str, str], tuple[str, int]] = {}
        self.keys: dict[str, Key] = {}
        self.blind: set[tuple[str, str]] = set()

    def hold(self, party: str, name: str, value: Value, at: tuple[str, int] = ("", 0)) -> None:
        self.vars[party][name] = value
        self.depths[party, name] = at
        self.blind.discard((party, name))

    def tag(self, scope: Scope) -> str:
        """Distinguishes what is drawn or given anew in every execution and iteration."""
        if scope[0] < LEVELS["execution"]:
            return ""
        copy = str(self.copy) if self.copies > 1 else ""
        return copy + "".join(f"@{i}" for i in self.iteration)

    def value(self, party: str, expr: ir.Expr, origin: int) -> Value | None:
        """The term, or None with a finding."""
        try:
            self.keys_held(party, expr)
            trace, lookup = self.trace, self.lookup
            return evaluate(expr, lambda n: lookup(party, n), trace.atoms, trace.sizes, self.key_label)
        except _Missing as missing:
            if not missing.told and self.copy == 1:
                self.trace.findings.append(Finding("protocol.knowledge", str(missing), (origin,)))
        except Misfit as misfit:
            if self.copy == 1:
                self.trace.findings.append(Finding("protocol.misfit", str(misfit), (origin,)))
        return None

    def lookup(self, party: str, name: str) -> Value:
        if party not in self.vars:
            raise _Missing(f"{party} is not a party of this protocol", False)
        if name in self.vars[party]:
            return self.vars[party][name]
        if name in self.keys:
            raise _Missing(f"the key {name} is used as a number", False)
        holders = [p for p, store in self.vars.items() if name in store]
        where = f"; {' and '.join(holders)} would" if holders else ""
        raise _Missing(f"{party} does not hold {name}{where}", (party, name) in self.blind)

    def keys_held(self, party: str, expr: ir.Expr) -> None:
        for call in calls_of(expr):
            for key in call.keys:
                if key not in self.keys or party not in self.keys[key].holders:
                    raise _Missing(f"{party} does not hold the key {key} that {call.fn} needs", False)
                self.keys[key].called = True

    def key_label(self, name: str) -> str:
        """One label for one key value: a key drawn anew is another."""
        return f"{name}{self.tag(self.keys[name].scope)}" if name in self.keys else name

    def depth(self, party: str, expr: ir.Expr, phase: ir.Phase) -> tuple[str, int]:
        """The latest round of this phase that a value waits for."""
        rounds = [self.depths.get((party, name), ("", 0)) for name in names_of(expr)]
        return phase, max((r for at, r in rounds if at == phase), default=0)
