"""An operand that lies otherwise than a component takes it: nothing converts by itself."""

from __future__ import annotations

from pllm_lang.catalog.expr import Apply
from pllm_lang.catalog.library import Library
from pllm_lang.catalog.records import Component, OperandSpec, Policy
from pllm_lang.ir import protocol as p
from pllm_lang.verify.narrations.held import Held, told_holding

CONVERT = "std.operators.convert"


def missing_conversion(
    wanted: p.Holding, held: Held, component: Component, operand: str, policy: Policy, library: Library
) -> tuple[str, str] | None:
    """Message and help; None where the operand lies as it should."""
    if isinstance(wanted, p.Shared) and isinstance(held.holding, p.Shared):
        if same_holding(wanted, held.holding):
            return None
        if wanted.scheme == held.holding.scheme:
            text = f"`{component.name}` takes `{operand}` {told_holding(wanted)}, and `{held.name}` is {told_holding(held.holding)}"
            return text, "bind the roles to the parties that hold the pieces, in the order of the holding"
        return _other_scheme(wanted, held, component, operand, policy, library)
    text = f"`{component.name}` takes `{operand}` {told_holding(wanted)}, and `{held.name}` is {told_holding(held.holding)}"
    if isinstance(wanted, p.Shared):
        return text, f"share it first: `{held.name}s = share({held.name}) using ...`"
    return (
        text,
        f"reveal it first: `{held.name}c = reveal({held.name}) using ...`, to a party that may learn it",
    )


def same_holding(wanted: p.Shared, held: p.Shared) -> bool:
    """The same scheme, and every piece where the protocol expects it."""
    if wanted.scheme != held.scheme or len(wanted.pieces) != len(held.pieces):
        return False
    return all(
        set(a.holders) == set(b.holders) and a.coefficient == b.coefficient
        for a, b in zip(wanted.pieces, held.pieces, strict=True)
    )


def _other_scheme(
    wanted: p.Shared, held: Held, component: Component, operand: str, policy: Policy, library: Library
) -> tuple[str, str]:
    assert isinstance(held.holding, p.Shared)
    from_, to = held.holding.scheme, wanted.scheme
    kinds = {rule.kind for rule in policy.adversaries}
    fitting = [c for c in library.implementing(CONVERT) if _converts(c, from_, to)]
    good = [c.name for c in fitting if kinds <= set(c.adversaries)]
    text = f"`{component.name}` takes `{operand}` as `{to}`, and `{held.name}` is shared as `{from_}`"
    if good:
        return text, f"convert it first: `b = convert({held.name}) using {good[0]}`"
    against = " and ".join(sorted(kinds)) or "any"
    text += f"; no component converts `{from_}` to `{to}` against a {against} adversary"
    weaker = (
        f"`{fitting[0].name}` converts, but only against {', '.join(fitting[0].adversaries)} adversaries; "
        if fitting
        else ""
    )
    return text, f"{weaker}keep the value as `{from_}`, or add a component that converts it"


def _converts(component: Component, from_: str, to: str) -> bool:
    text = component.protocol
    return text is not None and _scheme(text.inputs[0]) == from_ and _scheme(text.outputs[0]) == to


def _scheme(spec: OperandSpec) -> str:
    kind, expr = spec.placement
    return expr.fn.rsplit(".", 1)[-1] if kind == "as" and isinstance(expr, Apply) else ""
