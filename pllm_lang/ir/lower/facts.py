"""Facts files merged onto the values that they name.

In: the facts files of `facts "..."` statements, by the names of the plan. Out: bounds. What is true of a
checkpoint becomes a bound of the weight; what was seen on data (`calibrated`, and everything said of a
step's result) is an assumption, kept apart so that a report can list it. The members of a family are named
`w[0]` (or `w.0`), or `w` for all; a bound of a family is the weakest of its members', and none where a
member has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction

import msgspec

from pllm_lang.catalog.records import Format
from pllm_lang.exact.enclose import sqrt
from pllm_lang.ir.lower.condition import tightened
from pllm_lang.ir.lower.context import Context
from pllm_lang.ir.lower.report import report, span_of
from pllm_lang.ir.plan import Bound, TensorType
from pllm_lang.resolve.modules import FactsFile, Measured
from pllm_lang.resolve.texts import read_text
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Severity

_BASE = re.compile(r"[.\[]")
_SLOTS = {
    "min": ("min", ">="),
    "max": ("max", "<="),
    "row_norm1": ("row_norm1", "<="),
    "row_norm2_sq": ("row_norm2", "<="),
    "col_norm1": ("col_norm1", "<="),
    "col_norm2_sq": ("col_norm2", "<="),
}


class Stated(msgspec.Struct, frozen=True):
    """`true` of the checkpoint, `seen` on data, and the digest of the checkpoint."""

    true: tuple[Bound, ...] = ()
    seen: tuple[Bound, ...] = ()
    checkpoint: str = ""


NOTHING = Stated()


def use_facts(ctx: Context, stmt: syn.Facts) -> None:
    """Enters a facts file that name resolution has read. Without it fewer facts are known."""
    file = ctx.frame.module.facts.get(read_text(stmt.path))
    if file is not None:
        ctx.facts.append(file)


def check_facts(ctx: Context, stmt: syn.Facts) -> None:
    """A warning where a facts file speaks of nothing in the plan: a name is probably spelt otherwise."""
    file = ctx.frame.module.facts.get(read_text(stmt.path))
    if file is None:
        return
    names = {name for name, _ in ctx.values.values()}
    if any(_BASE.split(name)[0] in names for name in file.facts):
        _report_others(ctx, stmt, file)
        return
    message = "this facts file names no value of the plan"
    help = "it has facts of " + ", ".join(f"`{name}`" for name in sorted(file.facts)[:4])
    report(ctx, "facts.unused", message, span_of(ctx, stmt, stmt.path), help, severity=Severity.WARNING)


def _report_others(ctx: Context, stmt: syn.Facts, file: FactsFile) -> None:
    """A warning where values have facts of another checkpoint from a file before this one, so that these are not used."""
    counts = {name: 0 for name, _ in ctx.values.values()}
    counts |= {ctx.values[weight.value][0]: weight.count for weight in ctx.weights}
    before = ctx.facts[: ctx.facts.index(file)]
    unheard = unused_of(file, before, counts)
    if unheard:
        message, help = other_checkpoint(unheard)
        report(
            ctx,
            OTHER_CHECKPOINT,
            message,
            span_of(ctx, stmt, stmt.path),
            help,
            severity=Severity.WARNING,
        )


def unused_of(file: FactsFile, before: Iterable[FactsFile], counts: Mapping[str, int]) -> list[str]:
    """The names that a file speaks of after one of another checkpoint has; `counts` says how many each is a family of."""
    earlier = list(before)
    return [
        name
        for name, count in counts.items()
        if _names(file, name, count)
        and next((f.checkpoint for f in earlier if _names(f, name, count)), file.checkpoint)
        != file.checkpoint
    ]


OTHER_CHECKPOINT = "facts.other_checkpoint"


def other_checkpoint(names: list[str]) -> tuple[str, str]:
    """What is said, and advised, of facts that are left unused."""
    told = ", ".join(f"`{name}`" for name in names[:MAX_TOLD]) + (
        f" and {len(names) - MAX_TOLD} more" if len(names) > MAX_TOLD else ""
    )
    message = f"what this file says of {told} is not used: facts of another checkpoint come first"
    return message, "keep the facts of the checkpoint that runs"


MAX_TOLD = 4
"""Names that one message lists."""


def facts_of(ctx: Context, name: str, count: int) -> Stated:
    """What the facts files say of a value, or of every member of a family of `count`."""
    return facts_in(ctx.facts, name, count) if ctx.facts else NOTHING


def facts_in(files: Iterable[FactsFile], name: str, count: int) -> Stated:
    """What these facts files say of it, those of one checkpoint: the first that names it. Norms of another checkpoint's
    weights are wrong of these."""
    true: list[Bound] = []
    seen: list[Bound] = []
    checkpoint = ""
    for file in files:
        names = _names(file, name, count)
        if not names or checkpoint not in ("", file.checkpoint):
            continue
        bounds = _weakest([file.facts[each] for each in names])
        calibrated = any(each in file.calibrated for each in names)
        (seen if calibrated else true).extend(bounds)
        checkpoint = file.checkpoint
    return Stated(tightened(true), tightened(seen), checkpoint)


def weight_facts(ctx: Context, decl: syn.Weight, kind: TensorType, count: int) -> Stated:
    """What the facts files say of a weight, if they measured the numbers that its format stores.

    Integers beside a scale and the real numbers that they stand for have other norms: facts of one are wrong of the
    other, and of integers of other bits.
    """
    name = decl.name.id
    if not ctx.facts or kind.format < 0:
        return facts_of(ctx, name, count)
    format = ctx.formats[kind.format]
    stores = stored_bits(format)
    for file in ctx.facts:
        measured = {file.quantized.get(each, 0) for each in _names(file, name, count)}
        if measured - {stores}:
            _report_numbers(ctx, decl, max(measured - {stores}), format)
            return NOTHING
    return facts_of(ctx, name, count)


def measured_bits(files: Iterable[FactsFile], name: str, count: int) -> set[int]:
    """Bits of the integers that the facts of a value are of, 0 for numbers that stand for themselves."""
    return {file.quantized.get(each, 0) for file in files for each in _names(file, name, count)}


def stored_bits(format: Format) -> int:
    """Bits of the integers that the format stores beside a scale for each row, 0 where values stand for themselves; -1 where
    the scales lie otherwise, as nothing measures them."""
    if format.scale not in ("", "row"):
        return -1
    return (int(format.high).bit_length() + 1) if format.scale and format.high else 0


def _report_numbers(ctx: Context, decl: syn.Weight, measured: int, format: Format) -> None:
    def numbers(bits: int, axis: str) -> str:
        each = f"integers of {bits} bits" if bits > 0 else "integers"
        return f"{each} beside a scale for each {axis}" if bits else "numbers that stand for themselves"

    stores = stored_bits(format)
    message = (
        f"the facts of `{decl.name.id}` are of {numbers(measured, 'row')}, but the plan stores "
        f"{numbers(stores, format.scale)}"
    )
    help = (
        "state what is known of it with `where`"
        if stores < 0
        else f"measure them with `pllm measure --quantize {stores}`"
        if stores
        else "measure without `--quantize`"
    )
    report(ctx, "facts.other_numbers", message, span_of(ctx, decl, decl.name), help)


def speaks_of(file: FactsFile, name: str, count: int) -> bool:
    """Whether the file has facts of a value, or of all members of a family of `count`."""
    return bool(_names(file, name, count))


def _names(file: FactsFile, name: str, count: int) -> list[str]:
    """The entries that together speak of the value: its own, or those of all members."""
    if name in file.facts:
        return [name]
    members = [_member(file, name, index) for index in range(min(count, len(file.facts) + 1))]
    return members if members and len(members) == count and "" not in members else []


def _member(file: FactsFile, name: str, index: int) -> str:
    """The entry of `w[3]`, also written `w.3`; "" where there is none."""
    return next((key for key in (f"{name}[{index}]", f"{name}.{index}") if key in file.facts), "")


def _weakest(entries: list[Measured]) -> list[Bound]:
    bounds: list[Bound] = []
    for slot, (name, op) in _SLOTS.items():
        values: list[int | Fraction] = [
            v for v in (getattr(entry, slot) for entry in entries) if v is not None
        ]
        if len(values) < len(entries):
            continue
        value = min(values) if op == ">=" else max(values)
        if slot.endswith("_sq"):
            value = sqrt(value).high
        bounds.append(Bound(name, "<=" if op == "<=" else ">=", str(value)))
    return bounds
