"""What was read before, for an editor that reads a project again at every key press.

A declaration is read anew only when it, the names in scope or the operators that it asked for have changed.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from pllm_lang.catalog.read.component import FindOperator
from pllm_lang.catalog.read.context import Context
from pllm_lang.catalog.records import AnyRecord, Operator
from pllm_lang.resolve.modules import Binding, ConstValue
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Finding


class Remembered(msgspec.Struct, frozen=True):
    """One declaration as read: what it was read from, and what came of it."""

    decl: syn.Decl
    scope: dict[str, Binding]
    constants: dict[str, ConstValue]
    asked: dict[str, Operator | None]
    record: AnyRecord | None
    findings: tuple[Finding, ...]


Memo: TypeAlias = dict[tuple[str, str], Remembered]


def recall(memo: Memo, decl: syn.Decl, ctx: Context, find: FindOperator) -> Remembered | None:
    """What is remembered of a declaration, if everything that it was read from is as it was."""
    if isinstance(decl, syn.Import):
        return None
    found = memo.get((ctx.module, decl.name.id))
    if found is None or found.decl != decl or found.scope != ctx.scope or found.constants != ctx.constants:
        return None
    return found if all(find(key) == operator for key, operator in found.asked.items()) else None
