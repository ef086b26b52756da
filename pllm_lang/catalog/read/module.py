"""All records of one module."""

from __future__ import annotations

from pllm_lang.catalog.read.component import FindOperator, read_component
from pllm_lang.catalog.read.context import Context, context_of
from pllm_lang.catalog.read.format import read_format
from pllm_lang.catalog.read.memo import Memo, Remembered, recall
from pllm_lang.catalog.read.operator import read_operator
from pllm_lang.catalog.read.policy import read_policy
from pllm_lang.catalog.read.record import read_holding, read_kernel, read_model, read_record
from pllm_lang.catalog.records import AnyRecord, Operator
from pllm_lang.resolve.modules import Module
from pllm_lang.syntax import nodes as syn
from pllm_lang.text.finding import Finding


def read_module(
    module: Module, find_operator: FindOperator, memo: Memo | None = None
) -> tuple[dict[str, AnyRecord], tuple[Finding, ...]]:
    """Records by key, and findings. `find_operator` knows the operators of other modules."""
    findings: list[Finding] = []
    records: dict[str, AnyRecord] = {}

    def find(key: str) -> Operator | None:
        found = records.get(key)
        return found if isinstance(found, Operator) else find_operator(key)

    for decl in sorted(module.file.decls, key=lambda d: not isinstance(d, syn.Operator)):
        if isinstance(decl, syn.Import):
            continue
        read = _remembered(decl, context_of(module), find, {} if memo is None else memo)
        findings += read.findings
        key = f"{module.name}.{decl.name.id}"
        if read.record is not None and key not in records:
            records[key] = read.record
    return records, tuple(findings)


def _remembered(decl: syn.Decl, ctx: Context, find: FindOperator, memo: Memo) -> Remembered:
    known = recall(memo, decl, ctx, find)
    if known is not None or isinstance(decl, syn.Import):
        return known or Remembered(decl, {}, {}, {}, None, ())
    asked: dict[str, Operator | None] = {}

    def find_and_note(key: str) -> Operator | None:
        asked[key] = find(key)
        return asked[key]

    record = read_declaration(decl, ctx, find_and_note)
    read = Remembered(decl, dict(ctx.scope), dict(ctx.constants), asked, record, tuple(ctx.findings))
    memo[ctx.module, decl.name.id] = read
    return read


def read_declaration(decl: syn.Decl, ctx: Context, find: FindOperator) -> AnyRecord | None:
    """The record of a declaration; None for a constant, a plan, a block, and for what cannot be read."""
    match decl:
        case syn.Format():
            return read_format(decl, ctx)
        case syn.Operator():
            return read_operator(decl, ctx)
        case syn.Policy():
            return read_policy(decl, ctx)
        case syn.Model():
            return read_model(decl, ctx)
        case syn.Record(kind="component"):
            return read_component(decl, ctx, find)
        case syn.Record(kind="holding"):
            return read_holding(decl, ctx)
        case syn.Record(kind="kernel"):
            return read_kernel(decl, ctx)
        case syn.Record():
            return read_record(decl, ctx)
        case _:
            return None
