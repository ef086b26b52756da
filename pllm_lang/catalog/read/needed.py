"""Which draws of a narration anything needs: what is sent, checked, asked of an input, or part of a result rests on it."""

from __future__ import annotations

from collections.abc import Iterator

from pllm_lang.catalog.expr import Apply, Attr, Expr, Item, Ref
from pllm_lang.catalog.records import ProtocolLine, ProtocolText
from pllm_lang.catalog.walk import names_in, walk


def needless_draws(text: ProtocolText) -> Iterator[ProtocolLine]:
    """The draws that no message, check or result is made of, not even by way of other values."""
    lines = (*text.offline, *text.online)
    needed = {spec.name for spec in text.outputs}
    made: dict[str, set[str]] = {}
    for line in lines:
        match line.kind:
            case "send":
                needed.update(*map(names_in, line.exprs))
            case "needs":
                needed.add(line.name)
            case "local":
                target, value = line.exprs
                used = names_in(value)
                root = _root(target)
                if root is None or _opens(value):
                    needed |= used
                else:
                    made.setdefault(root, set()).update(used, names_in(target))
            case "fresh":
                made.setdefault(line.name, set()).update(*map(names_in, line.exprs[1:]))
            case "bundle":
                pass
    reached, left = set[str](), [*needed]
    while left:
        name = left.pop()
        if name not in reached:
            reached.add(name)
            left += made.get(name, ())
    yield from (line for line in lines if line.kind == "fresh" and line.name not in reached)


def _opens(value: Expr) -> bool:
    """Whether a party looks into something with a key: that is what the key is for, whatever becomes of the result."""
    return any(isinstance(part, Apply) and part.fn == "decrypt" for part in walk(value))


def _root(target: Expr) -> str | None:
    """The name that is assigned to; None for a check, `client: 0 = E`."""
    while isinstance(target, Attr | Item):
        target = target.base
    return target.name if isinstance(target, Ref) else None
