"""What the names of an expression are, where it is used: tensors, exact names or words."""

from __future__ import annotations

from pllm_lang.catalog.environment import Env
from pllm_lang.catalog.expr import Apply, Attr, Between, Expr, Item, ListOf, Ref, Text
from pllm_lang.catalog.slots import FORMAT_READS, SCALAR_SLOTS


def is_tensor(expr: Expr, env: Env) -> bool:
    """Whether an operand or result occurs outside a slot, so that the term speaks of entries."""
    if isinstance(expr, Ref):
        return expr.name in env.facts
    if isinstance(expr, Attr):
        return True
    if isinstance(expr, Apply):
        if len(expr.args) == 1 and expr.fn in ("min", "max", *SCALAR_SLOTS, *FORMAT_READS):
            return False
        return any(is_tensor(arg, env) for arg in expr.args)
    return False


def is_exact(expr: Expr, env: Env) -> bool:
    """Whether only exact names occur, so that a false condition is refuted without a witness."""
    if isinstance(expr, Ref):
        return expr.name not in env.facts
    if isinstance(expr, Apply):
        if expr.fn in FORMAT_READS:
            return True
        return all(is_exact(arg, env) for arg in expr.args)
    if isinstance(expr, (ListOf, Item)):
        return all(is_exact(item, env) for item in expr.items)
    if isinstance(expr, Between):
        return is_exact(expr.low, env) and is_exact(expr.high, env)
    return not isinstance(expr, Attr)


def word(expr: Expr, env: Env) -> str | None:
    """The word that a bare name or a word parameter stands for."""
    if isinstance(expr, Text):
        return expr.value
    if isinstance(expr, Ref):
        if expr.name in env.words:
            return env.words[expr.name]
        known = (env.exact, env.facts, env.formats, env.context, env.lists, env.unbound)
        return None if any(expr.name in names for names in known) else expr.name
    return None
