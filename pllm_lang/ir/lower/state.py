"""States: read as they were when the stage began, written at most once in a stage.

In: reads and writes in the order of the text. Out: `StateWrite` nodes, or findings. Members of a family are
told apart by their affine indices (`ir/lower/affine.py`); what may be the same member is treated as the
same.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from pllm_lang.ir.lower.affine import Affine, is_injective, may_meet
from pllm_lang.ir.lower.context import Accesses, Context, StateName
from pllm_lang.ir.lower.report import report
from pllm_lang.text.finding import Label, Span


class Access(msgspec.Struct, frozen=True):
    """One read or write; `loop` numbers the outermost repeat around it, -1 outside."""

    index: Affine
    span: Span
    loop: int


def note_read(ctx: Context, named: StateName, index: Affine, span: Span) -> None:
    seen = ctx.accesses.setdefault(named.id, Accesses())
    access = Access(index, span, ctx.frame.loop)
    for written in _meeting(access, seen.fixed_writes, seen.writes):
        help = "use the value that was written, or read the state before the write"
        labels = (Label(written.span, "written here"),)
        report(ctx, "stages.read_after_write", "this state is read after it is written", span, help, labels)
        break
    _keep(access, seen.fixed_reads, seen.reads)


def note_write(ctx: Context, named: StateName, index: Affine, span: Span) -> None:
    seen = ctx.accesses.setdefault(named.id, Accesses())
    access = Access(index, span, ctx.frame.loop)
    for written in _meeting(access, seen.fixed_writes, seen.writes):
        labels = (Label(written.span, "first written here"),)
        message = "this state is written a second time in the stage"
        report(ctx, "stages.written_twice", message, span, "write it once, at the end", labels)
        break
    else:
        _check_turns(ctx, seen, access)
    _keep(access, seen.fixed_writes, seen.writes)


def _check_turns(ctx: Context, seen: Accesses, access: Access) -> None:
    """Inside a repeat: every turn writes a member of its own, and no turn reads what an earlier one wrote."""
    if not is_injective(access.index, ctx.frame.loops):
        message = "this state is written in every turn of the repeat"
        help = "carry the value round (`carrying [...]`) and write the state after the repeat"
        report(ctx, "stages.written_twice", message, access.span, help)
    for read in _meeting(access, seen.fixed_reads, seen.reads):
        if read.loop == access.loop >= 0 and _reads_later(read.index, access.index):
            message = "a later turn of the repeat reads what this turn writes"
            labels = (Label(read.span, "read here"),)
            report(ctx, "stages.read_after_write", message, access.span, "", labels)
            break


def _reads_later(read: Affine, write: Affine) -> bool:
    """Whether the read of a later turn may be of what the write of an earlier one wrote: `s[i]` and `s[i + 1]` are told by which
    of them goes ahead, other indices are taken to meet."""
    if read == write:
        return False
    if len(read.factors) != 1 or read.factors != write.factors:
        return True
    ((_, factor),) = read.factors
    return (write.constant - read.constant) * factor > 0


def _meeting(access: Access, fixed: dict[int, Access], varying: list[Access]) -> Iterator[Access]:
    """Earlier accesses that may be to the same member."""
    if not access.index.factors:
        if access.index.constant in fixed:
            yield fixed[access.index.constant]
    else:
        yield from (other for other in fixed.values() if may_meet(access.index, other.index))
    yield from (other for other in varying if may_meet(access.index, other.index))


def _keep(access: Access, fixed: dict[int, Access], varying: list[Access]) -> None:
    if access.index.factors:
        varying.append(access)
    else:
        fixed.setdefault(access.index.constant, access)
