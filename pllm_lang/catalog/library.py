"""The library: every record that a check can refer to, by key, by component id and by operator.

The shipped part comes compiled and is decoded record by record when asked for; a project adds its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from pllm_lang.catalog.digest import record_digest
from pllm_lang.catalog.expr import Expr
from pllm_lang.catalog.records import AnyRecord, Component, Format, Holding, Kernel, Operator, Policy, Record
from pllm_lang.resolve.modules import Exports
from pllm_lang.text.finding import Finding

STRUCTS: dict[str, type[AnyRecord]] = {
    "format": Format,
    "holding": Holding,
    "operator": Operator,
    "component": Component,
    "kernel": Kernel,
    "policy": Policy,
}


class Compiled(msgspec.Struct, frozen=True):
    """The shipped library, resolved. `kinds` maps keys to kinds of declaration, `raw` to encoded records.

    `key` names the texts and the compiler that made it; `digest` and `digests` are over resolved content.
    """

    key: str
    digest: str
    exports: dict[str, dict[str, str]]
    constants: dict[str, dict[str, Expr]]
    kinds: dict[str, str]
    ids: dict[str, str]
    methods: dict[str, tuple[str, ...]]
    digests: dict[str, str]
    raw: dict[str, msgspec.Raw]
    findings: tuple[Finding, ...] = ()


class Library:
    """Look-ups; nothing here changes after it is made but the store of decoded records."""

    def __init__(self, compiled: Compiled, exports: Mapping[str, Exports]) -> None:
        self._compiled = compiled
        self._own: dict[str, AnyRecord] = {}
        self._decoded: dict[str, AnyRecord] = {}
        self._kinds: dict[str, str] = compiled.kinds
        self._ids: dict[str, str] = compiled.ids
        self._methods: dict[str, tuple[str, ...]] = compiled.methods
        self.exports = exports
        self.digest = compiled.digest
        self.findings = compiled.findings

    def get(self, key: str) -> AnyRecord | None:
        """The record under `module.name`, None where there is none."""
        own = self._own.get(key)
        if own is not None:
            return own
        found = self._decoded.get(key)
        if found is None and key in self._compiled.raw:
            struct = STRUCTS.get(self._kinds[key], Record)
            found = msgspec.msgpack.decode(self._compiled.raw[key], type=struct)
            self._decoded[key] = found
        return found

    def operator(self, key: str) -> Operator | None:
        found = self.get(key)
        return found if isinstance(found, Operator) else None

    def component(self, key: str) -> Component | None:
        found = self.get(key)
        return found if isinstance(found, Component) else None

    def format(self, key: str) -> Format | None:
        found = self.get(key)
        return found if isinstance(found, Format) else None

    def policy(self, key: str) -> Policy | None:
        found = self.get(key)
        return found if isinstance(found, Policy) else None

    def by_id(self, component_id: str) -> Component | None:
        """The component with a public id such as `pllm/masked-linear`."""
        return self.component(self._ids.get(component_id, ""))

    def implementing(self, operator: str) -> tuple[Component, ...]:
        """All methods that implement the operator of this key, in order of key."""
        return tuple(c for c in map(self.component, self._methods.get(operator, ())) if c is not None)

    def kind(self, key: str) -> str:
        """Kind of declaration, "" where the key is unknown."""
        return self._kinds.get(key, "")

    def keys(self, kind: str = "") -> tuple[str, ...]:
        """Keys of all records of a kind (of every kind for ""), sorted."""
        return tuple(sorted(key for key, k in self._kinds.items() if kind in ("", k)))

    def digest_of(self, key: str) -> str:
        """Hex SHA-256 over a record's resolved content; free of file names, formatting and order."""
        known = self._compiled.digests.get(key) if key not in self._own else None
        return known or record_digest(key, self.get)

    def same_as(self, other: Library) -> bool:
        """Whether every look-up gives the same; an editor then keeps the one it has."""
        return self._compiled is other._compiled and self._own == other._own

    def extended(self, records: Mapping[str, AnyRecord]) -> Library:
        """This library and a project's records, which may not replace shipped ones."""
        more = Library(self._compiled, self.exports)
        more._decoded = self._decoded
        more._own = {**self._own, **records}
        kinds, ids, methods = index(records)
        more._kinds = {**self._kinds, **kinds}
        more._ids = {**ids, **self._ids}
        more._methods = dict(self._methods)
        for operator, keys in methods.items():
            more._methods[operator] = tuple(sorted({*more._methods.get(operator, ()), *keys}))
        return more


def index(
    records: Mapping[str, AnyRecord],
) -> tuple[dict[str, str], dict[str, str], dict[str, tuple[str, ...]]]:
    """Kinds by key, keys by component id, keys of methods by operator."""
    kinds = {key: kind_of_record(record) for key, record in records.items()}
    ids: dict[str, str] = {}
    methods: dict[str, list[str]] = {}
    for key, record in sorted(records.items()):
        if isinstance(record, Component):
            ids.setdefault(record.id, key)
            for operator in record.implements:
                methods.setdefault(operator, []).append(key)
    return kinds, ids, {operator: tuple(keys) for operator, keys in methods.items()}


def kind_of_record(record: AnyRecord) -> str:
    return record.kind if isinstance(record, Record) else type(record).__name__.lower()


def duplicate_ids(
    records: Iterable[AnyRecord], known: Library | None = None
) -> list[tuple[Component, Component]]:
    """Pairs of components with one id: the later and the one that has it already."""
    seen: dict[str, Component] = {}
    pairs: list[tuple[Component, Component]] = []
    for record in records:
        if isinstance(record, Component):
            first = seen.setdefault(record.id, record)
            earlier = first if first is not record else (known.by_id(record.id) if known else None)
            if earlier is not None:
                pairs.append((record, earlier))
    return pairs
